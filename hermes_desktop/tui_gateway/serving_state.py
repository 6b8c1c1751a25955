"""State of the server, and its interface for the modules of this package."""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway.program import RpcProgram
from hermes_desktop.tui_gateway.protocol import Code, Params, RpcError
from hermes_desktop.tui_gateway.transport import Transport

if TYPE_CHECKING:
    from hermes_desktop.tui_gateway.asking import Asking

Session = dict[str, Any]
"""A live session; see :mod:`hermes_desktop.tui_gateway.session_record` for its keys."""

current_peer: ContextVar[Transport | None] = ContextVar("rpc_current_peer", default=None)
"""The peer whose request is being answered."""

after_answer: ContextVar[list[Callable[[], object]] | None] = ContextVar(
    "rpc_after_answer", default=None
)
"""Calls to run after the current response was written; None: run them immediately."""


def when_answered(call: Callable[[], object]) -> None:
    """Run a call once the response to the current request was written."""
    waiting = after_answer.get()
    if waiting is None:
        call()
    else:
        waiting.append(call)


@dataclass(eq=False)
class ServerState:
    """State of the server that outlives a request. One per process, by contract.

    Attributes:
        program: The dependencies from the host program; None until they are set.
        sessions: The live sessions by their live ids.
        lock: Held while sessions are added or removed; never while one of them is worked on.
        opening: Held while a stored session is made live, so that this happens only once.
        default_peer: Receives events that no peer of a session can receive.
        asking: Presents pending requests to the peers of sessions; None: that is not possible.
    """

    program: RpcProgram | None = None
    sessions: dict[str, Session] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    opening: threading.Lock = field(default_factory=threading.Lock)
    default_peer: Transport | None = None
    asking: "Asking | None" = None


class Server(Protocol):
    """The server as used by its modules. Every name is looked up at each use."""

    @property
    def state(self) -> ServerState:
        """The state of the server."""
        ...

    @property
    def program(self) -> RpcProgram:
        """The dependencies from the host program.

        Raises:
            RpcError: They are not set.
        """
        ...

    def db(self) -> SessionDB | None:
        """Return the session database, None without a program."""
        ...

    def emit(self, kind: str, sid: str, payload: Any = None) -> None:
        """Send an event to the peers of a session."""
        ...

    def stream_renderer(self, cols: int) -> Any:
        """Return a renderer for a streamed reply; None: nothing is rendered."""
        ...

    def render(self, text: str, cols: int) -> str | None:
        """Render a whole reply for a terminal; None: nothing is rendered."""
        ...

    def sync_key(self, sid: str, session: Session, **how: bool) -> None:
        """Follow the agent to the session it has moved to."""
        ...

    def finalize(self, session: Session, end_reason: str) -> None:
        """End a live session."""
        ...

    def boundary(self, name: str, session_id: str, platform: str) -> None:
        """Notify plugins of the end of one session or the beginning of the next."""
        ...

    def start_thread(self, target: Callable[[], None]) -> None:
        """Run a function on a new thread."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        peer: The requesting peer; None when the caller is this process.
    """

    server: Server
    params: Params
    peer: Transport | None = None

    def session(self) -> tuple[str, Session]:
        """Return the requested live session, with its live id.

        Raises:
            RpcError: There is none.
        """
        sid = self.params.optional_text("session_id")
        session = self.server.state.sessions.get(sid)
        if session is None:
            raise RpcError(Code.NOT_LIVE, "session not found")
        return sid, session

    def db(self) -> SessionDB:
        """Return the session database.

        Raises:
            RpcError: There is none here.
        """
        db = self.server.db()
        if db is None:
            raise RpcError(Code.GENERIC, "there is no session database here")
        return db


Method = Callable[[Call], dict[str, Any]]
