"""The end of live sessions: closing, interruption, following an agent to another session.

Plugins are notified of sessions that start and end, within a time-out.
"""

import logging
import threading
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.plugins.hooks import boundary_reason_set
from hermes_desktop.tui_gateway import background_methods, session_row
from hermes_desktop.tui_gateway.agents import close_agent
from hermes_desktop.tui_gateway.protocol import event
from hermes_desktop.tui_gateway.serving_state import Server, Session
from hermes_desktop.tui_gateway.session_record import model_of, source_of

log = logging.getLogger(__name__)


def tell_plugins(name: str, *, reason: str = "", **kwargs: Any) -> None:
    """Call a hook. Never raises; a callback that takes too long is abandoned.

    Args:
        name: The hook.
        reason: What :func:`plugins.boundary_reason` returns during the hook.
        kwargs: The hook's arguments.
    """
    over = threading.Event()

    def call() -> None:
        try:
            with boundary_reason_set(reason):
                plugins.invoke_hook(name, **kwargs)
        except Exception:  # third-party code
            log.warning("%s failed", name, exc_info=True)
        finally:
            over.set()

    threading.Thread(target=call, daemon=True).start()
    if not over.wait(plugins.SLOW_CALLBACK_S):
        slow = ", ".join(plugins.REGISTRY.hanging()) or "a plugin"
        log.error("%s is not awaited any longer: %s", name, slow)


CLOSING_S = 5.0
"""How long a running turn may take to end when its session is closed."""


def finalize(server: Server, session: Session, end_reason: str) -> None:
    """End a live session, once. Never raises.

    Args:
        server: The server of the session.
        session: No turn runs in it any more, or its turn does not end.
        end_reason: The end reason for its row.
    """
    if session.get("_finalized"):
        return
    session["_finalized"] = True
    with session["history_lock"]:
        history = list(session["history"])
    agent = session.get("agent")
    background_methods.stop_all(session)
    _give_place_back(server, session)
    _let_agent_finish(agent, history)
    session_id = str(getattr(agent, "session_id", None) or session["session_key"])
    source = source_of(session)
    tell_plugins(
        "on_session_end",
        reason="close",
        session_id=session_id,
        task_id="",
        turn_id="",
        completed=False,
        interrupted=True,
        model=model_of(session),
        platform=source,
    )
    server.boundary("on_session_finalize", session_id, source)
    db = server.db()
    program = server.state.program
    foreign = program is not None and program.is_platform(source)
    if db is not None and not foreign:
        session_row.end(db, session, session_id, end_reason)
    if agent is not None:
        close_agent(agent)


def _let_agent_finish(agent: Any, history: list[dict[str, Any]]) -> None:
    """Ask an agent with unsaved data to store it."""
    persist = getattr(agent, "_persist_session", None)
    commit = getattr(agent, "commit_memory_session", None)
    try:
        if persist is not None:
            persist(getattr(agent, "_session_messages", None) or history)
        if commit is not None and history:
            commit(history)
    except Exception:  # the session ends nevertheless
        log.warning("An agent could not store what it keeps", exc_info=True)


def _give_place_back(server: Server, session: Session) -> None:
    lease = session.pop("active_session_lease", None)
    if lease and server.state.program is not None:
        server.program.places.give_back(lease)


def follow_agent(
    server: Server, session: Session, *, clear_pending_title: bool, restart_slash_worker: bool
) -> None:
    """Follow the agent to another session after a compaction.

    Args:
        server: The server of the session.
        session: The live session.
        clear_pending_title: Forget a title that was chosen for the old one.
        restart_slash_worker: Drop a worker that knows the old one.
    """
    new_id = getattr(session.get("agent"), "session_id", None) or ""
    if not new_id or new_id == session["session_key"]:
        return
    follow_to(server, session, new_id)
    if clear_pending_title:
        session["pending_title"] = None
    if restart_slash_worker:
        session["slash_worker"] = None


def follow_to(server: Server, session: Session, new_id: str) -> None:
    """Move to another session, with all state that is stored under the old key.

    This includes its session lease, its approval mode and allowances, and its background processes.
    """
    old_id, program = session["session_key"], server.state.program
    lease = session.get("active_session_lease")
    session["session_key"] = new_id
    session["former_keys"] = [*session.get("former_keys", ()), old_id]
    session["bind_needed"] = True
    if program is None:
        return
    if lease:
        program.places.move(lease, new_id)
    for each in (program.requests, program.facts.processes):
        if each is not None:
            each.move(old_id, new_id)


def close_live(server: Server, sid: str, end_reason: str = "tui_close") -> bool:
    """Close a live session: its turn is interrupted, its reply so far is stored. Blocks.

    All subscribed peers are notified.

    Returns:
        False when there is no such live session.
    """
    state = server.state
    with state.lock:
        session = state.sessions.get(sid)
        if session is None or session.get("_closing"):
            return False
        session["_closing"] = True
    interrupt(session)
    background_methods.cut_off(server, sid, session)
    over = session.get("_turn_over")
    if over is not None and session["running"] and not over.wait(CLOSING_S):
        log.error("A turn of %s did not end and is left behind", session["session_key"])
    server.finalize(session, end_reason)
    with state.lock:
        state.sessions.pop(sid, None)
    if session.get("transport") is not None:
        told = {"closed": True, "stored_session_id": session["session_key"], "running": False}
        session["transport"].write(event("session.info", sid, told))
    return True


class Interrupted:
    """Cancellation signal for long work: set when the session is interrupted or closed."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def is_set(self) -> bool:
        """Return whether to cancel."""
        return bool(self._session.get("_turn_cancel_requested") or self._session.get("_closing"))


def interrupt(session: Session) -> list[str]:
    """Interrupt the running turn, and drop what waits behind it; return the dropped prompts."""
    with session["history_lock"]:
        session["interrupts"] = session.get("interrupts", 0) + 1
        dropped = list(session.get("queued_prompt") or [])
        session["queued_prompt"] = []
        running = session["running"]
        if running:
            session["_turn_cancel_requested"] = True
            interrupt_agent(session)
    return dropped


def interrupt_agent(session: Session) -> None:
    """Interrupt the agent, if it supports that. Never blocks."""
    agent = session.get("agent")
    if agent is not None and hasattr(agent, "interrupt"):
        agent.interrupt()
