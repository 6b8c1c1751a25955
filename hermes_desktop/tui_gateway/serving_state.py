"""What the server keeps, and what its parts need of it."""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway.program import RpcProgram
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError
from hermes_desktop.tui_gateway.protocol.params import Params
from hermes_desktop.tui_gateway.transport.base import Transport

if TYPE_CHECKING:
    from hermes_desktop.tui_gateway.asking import Asking

Session = dict[str, Any]
"""A live session; see :mod:`hermes_desktop.tui_gateway.session_record` for its keys."""

current_peer: ContextVar[Transport | None] = ContextVar("rpc_current_peer", default=None)
"""Whose request is being answered."""

after_answer: ContextVar[list[Callable[[], object]] | None] = ContextVar(
    "rpc_after_answer", default=None
)
"""What is done when the answer to the present request was written; None: at once."""


def when_answered(call: Callable[[], object]) -> None:
    """Do something once the answer to the present request was written."""
    waiting = after_answer.get()
    if waiting is None:
        call()
    else:
        waiting.append(call)


@dataclass(eq=False)
class ServerState:
    """Everything of the server that outlives a request. One in a process, by contract.

    Attributes:
        program: What the program handed in; None until it did.
        sessions: The live sessions by their live ids.
        lock: Held while sessions come and go; never while one of them is worked on.
        opening: Held while a stored session is made live, so that it is so only once.
        default_peer: Hears what no session's own peers can.
        asking: Asks the peers of sessions what waits for a person; None: nobody can be asked.
    """

    program: RpcProgram | None = None
    sessions: dict[str, Session] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    opening: threading.Lock = field(default_factory=threading.Lock)
    default_peer: Transport | None = None
    asking: "Asking | None" = None


class Server(Protocol):
    """The server as its parts see it. Every name is looked up when it is used."""

    @property
    def state(self) -> ServerState:
        """What it keeps."""
        ...

    @property
    def program(self) -> RpcProgram:
        """What the program handed in.

        Raises:
            RpcError: Nothing was.
        """
        ...

    def db(self) -> SessionDB | None:
        """The conversations, None without a program."""
        ...

    def emit(self, kind: str, sid: str, payload: Any = None) -> None:
        """Tell the peers of a session."""
        ...

    def stream_renderer(self, cols: int) -> Any:
        """Renders a reply while it comes; None: nothing is rendered."""
        ...

    def render(self, text: str, cols: int) -> str | None:
        """A whole reply for a terminal; None: nothing is rendered."""
        ...

    def sync_key(self, sid: str, session: Session, **how: bool) -> None:
        """Follow the agent to the session it has moved to."""
        ...

    def finalize(self, session: Session, end_reason: str) -> None:
        """End a live session."""
        ...

    def boundary(self, name: str, session_id: str, platform: str) -> None:
        """Tell plugins of the end of one conversation or the beginning of the next."""
        ...

    def start_thread(self, target: Callable[[], None]) -> None:
        """Run something beside the caller."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        peer: Who asked; None when the caller is this process.
    """

    server: Server
    params: Params
    peer: Transport | None = None

    def session(self) -> tuple[str, Session]:
        """The live session that is meant, with its live id.

        Raises:
            RpcError: There is none.
        """
        sid = self.params.optional_text("session_id")
        session = self.server.state.sessions.get(sid)
        if session is None:
            raise RpcError(Code.NOT_LIVE, "session not found")
        return sid, session

    def db(self) -> SessionDB:
        """The conversations.

        Raises:
            RpcError: There are none here.
        """
        db = self.server.db()
        if db is None:
            raise RpcError(Code.GENERIC, "there is no session database here")
        return db


Method = Callable[[Call], dict[str, Any]]
