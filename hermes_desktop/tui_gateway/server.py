"""The public names of the protocol's server, on which other code relies.

All work is done by functions in the sibling modules. They get :data:`SERVER`, which looks up the
names of this module at each use, so that each can be replaced.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from hermes_desktop.core.errors import HermesError
from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway import ending, protocol
from hermes_desktop.tui_gateway.asking import Asking
from hermes_desktop.tui_gateway.methods import methods, process_methods
from hermes_desktop.tui_gateway.program import RpcProgram
from hermes_desktop.tui_gateway.protocol import Code, Frame, Params, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, ServerState, Session, current_peer

__all__ = ["SERVER", "configure", "handle_request", "make_stream_renderer", "render_message"]

log = logging.getLogger(__name__)

_state: Final = ServerState()
_sessions: dict[str, Session] = _state.sessions


def configure(program: RpcProgram | None) -> None:
    """Set the dependencies of the server; None removes them.

    Args:
        program: The store, the agents, the settings, the trash.
    """
    _state.program = program
    if _state.asking is not None:
        _state.asking.close()
        _state.asking = None
    if program is not None and program.requests is not None:
        _state.asking = Asking(SERVER, program.requests)
        _state.asking.open()
    if program is not None:
        process_methods.follow(SERVER)


def handle_request(request: Any) -> Frame:
    """Answer one request. Blocking; replies of the model are sent as events.

    Args:
        request: A decoded request.

    Returns:
        The response, a result or an error. Nothing is raised.
    """
    request_id = protocol.id_of(request)
    try:
        name, params = protocol.checked(request)
        call = Call(SERVER, Params(params), current_peer.get())
        return protocol.response(request_id, methods.find(name)(call))
    except RpcError as error:
        return protocol.failure(request_id, error)
    except HermesError as error:
        return protocol.failure(request_id, in_protocol(error, Code.GENERIC))
    except Exception as error:
        log.exception("A request crashed")
        words = f"handler error: {type(error).__name__}; the log says more"
        return protocol.failure(request_id, RpcError(Code.CRASH, words))


# In this version no peer can request rendering: peers receive the text of the model, and have to
# escape control characters in it.


def make_stream_renderer(cols: int) -> Any:  # noqa: ARG001 - the width of the terminal
    """Return a renderer with ``feed(text)`` for terminals; None: nothing is rendered."""
    return None


def render_message(text: str, cols: int) -> str | None:  # noqa: ARG001 - as above
    """Return a reply rendered for a terminal; None: nothing is rendered."""
    return None


def _get_db() -> SessionDB | None:
    """Return the session database, None without a program."""
    return _state.program.db() if _state.program is not None else None


def _emit(kind: str, sid: str, payload: Any = None) -> None:
    """Send an event to the peers of a session, else to the current, else to the default peer."""
    frame = protocol.event(kind, sid, payload)
    session = _sessions.get(sid, {})
    for peer in (session.get("transport"), current_peer.get(), _state.default_peer):
        if peer is not None and peer.write(frame):
            return


def _notify_session_boundary(name: str, session_id: str, platform: str) -> None:
    """Notify plugins and open requests that a session ended, or that the next one is ready."""
    ends = name == "on_session_finalize"
    if ends and _state.asking is not None:
        _state.asking.requests.end_session(session_id)
    reason = "close" if ends else ""
    ending.tell_plugins(name, reason=reason, session_id=session_id, platform=platform)


def _sync_session_key_after_compress(
    sid: str,
    session: Session,
    *,
    clear_pending_title: bool = True,
    restart_slash_worker: bool = True,
) -> None:
    """Follow the agent to the session that a compaction moved it to."""
    ending.follow_agent(
        SERVER,
        session,
        clear_pending_title=clear_pending_title,
        restart_slash_worker=restart_slash_worker,
    )
    log.debug("%s is the session %s", sid, session["session_key"])


def _finalize_session(session: Session, end_reason: str = "tui_close") -> None:
    """End a live session, once."""
    ending.finalize(SERVER, session, end_reason)


class _ModuleServer:
    """A :class:`~hermes_desktop.tui_gateway.serving_state.Server` made of this module's names."""

    @property
    def state(self) -> ServerState:
        """The state of the server."""
        return _state

    @property
    def program(self) -> RpcProgram:
        """The dependencies from the host program."""
        if _state.program is None:
            raise RpcError(Code.GENERIC, "the server was not set up")
        return _state.program

    def db(self) -> SessionDB | None:
        """Return the session database."""
        return _get_db()

    def emit(self, kind: str, sid: str, payload: Any = None) -> None:
        """Send an event to the peers of a session."""
        _emit(kind, sid, payload)

    def stream_renderer(self, cols: int) -> Any:
        """Return a renderer for a streamed reply."""
        return make_stream_renderer(cols)

    def render(self, text: str, cols: int) -> str | None:
        """Render a whole reply."""
        return render_message(text, cols)

    def sync_key(self, sid: str, session: Session, **how: bool) -> None:
        """Follow the agent to another session."""
        _sync_session_key_after_compress(sid, session, **how)

    def finalize(self, session: Session, end_reason: str) -> None:
        """End a live session."""
        _finalize_session(session, end_reason)

    def boundary(self, name: str, session_id: str, platform: str) -> None:
        """Notify plugins."""
        _notify_session_boundary(name, session_id, platform)

    def start_thread(self, target: Callable[[], None]) -> None:
        """Run a function on a new thread."""
        threading.Thread(target=target, daemon=True).start()


SERVER: Final = _ModuleServer()
