"""Registry of live sessions: adding, joining, leaving, and closing of unused ones."""

import secrets
from collections.abc import Iterator

from hermes_desktop.tui_gateway import ending
from hermes_desktop.tui_gateway.protocol import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Server, ServerState, Session
from hermes_desktop.tui_gateway.transport import Subscribers, Transport

MOST_LIVE = 64
IDLE_S = 6 * 3600.0
ORPHAN_S = 60.0
"""How long a session without peers waits for one to return."""


def new_live_id(state: ServerState) -> str:
    """Return a live id that no live session has."""
    while (sid := secrets.token_hex(4)) in state.sessions:
        pass
    return sid


def add(server: Server, session: Session, peer: Transport | None) -> str:
    """Add a live session; return its live id. At the limit, the longest unused one is closed.

    Raises:
        RpcError: Turns run in all of them.
    """
    state = server.state
    if len(state.sessions) >= MOST_LIVE:
        oldest = next(_unused(state), None)
        if oldest is None:
            raise RpcError(Code.TOO_MANY, f"session limit: {MOST_LIVE} sessions are at work")
        ending.close_live(server, oldest)
    with state.lock:
        sid = new_live_id(state)
        state.sessions[sid] = session
    join(server, session, peer)
    return sid


def join(server: Server, session: Session, peer: Transport | None) -> None:
    """Subscribe a peer to a session. The session counts as used just now."""
    if server.state.program is not None:
        session["used_at"] = server.state.program.clock.monotonic()
    audience = session.get("transport")
    if peer is not None and isinstance(audience, Subscribers):
        audience.add(peer)
        session["orphaned_at"] = None


def with_key(state: ServerState, session_key: str) -> tuple[str, Session] | None:
    """Return the live session with a stored id, current or former, and its live id."""
    with state.lock:
        live = [each for each in state.sessions.items() if not each[1].get("_closing")]
    for sid, session in live:
        if session["session_key"] == session_key:
            return sid, session
    return next((e for e in live if session_key in e[1].get("former_keys", ())), None)


def left_by(server: Server, peer: Transport, now: float) -> None:
    """Unsubscribe a peer that is gone; sessions without peers wait or are closed.

    Args:
        server: The server of the sessions.
        peer: The peer that is gone.
        now: Monotonic seconds.
    """
    asking = server.state.asking
    if asking is not None:
        asking.input_closed(peer)
    with server.state.lock:
        heard = [
            (sid, session)
            for sid, session in server.state.sessions.items()
            if isinstance(session.get("transport"), Subscribers) and session["transport"].has(peer)
        ]
    for sid, session in heard:
        session["transport"].remove(peer)
        if session["transport"].alive:
            continue
        session["orphaned_at"] = now
        if session.get("close_on_disconnect"):
            ending.close_live(server, sid)
    if asking is not None:
        asking.forget(peer)


def tidy(server: Server, now: float) -> None:
    """Close sessions that were unused for long, and those whose peers did not return.

    A session in which a turn runs stays.

    Args:
        server: The server of the sessions.
        now: Monotonic seconds.
    """
    with server.state.lock:
        found = list(server.state.sessions.items())
    for sid, session in found:
        orphaned = session.get("orphaned_at")
        lost = orphaned is not None and now - orphaned > ORPHAN_S
        unused = now - session.get("used_at", now) > IDLE_S
        if (lost or unused) and not session["running"]:
            ending.close_live(server, sid)


def close_all(server: Server) -> None:
    """Close every session; all turns are interrupted first."""
    with server.state.lock:
        found = list(server.state.sessions.items())
    for _, session in found:
        ending.interrupt(session)
    for sid, _ in found:
        ending.close_live(server, sid)


def running(state: ServerState) -> list[Session]:
    """Return the sessions in which a turn runs."""
    with state.lock:
        return [session for session in state.sessions.values() if session["running"]]


def _unused(state: ServerState) -> Iterator[str]:
    """Return the live ids of sessions without a turn, the longest unused first."""
    with state.lock:
        idle = [
            (session.get("used_at", 0.0), sid)
            for sid, session in state.sessions.items()
            if not session["running"]
        ]
    return (sid for _, sid in sorted(idle))
