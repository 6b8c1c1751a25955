"""Methods that submit prompts, and steer or interrupt turns."""

from typing import Any

from hermes_desktop.core.errors import HermesError
from hermes_desktop.tui_gateway import agents, ending, live_sessions
from hermes_desktop.tui_gateway.conversation_lock import held_now
from hermes_desktop.tui_gateway.methods.conversation_methods import cut_at_ordinal
from hermes_desktop.tui_gateway.protocol import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, Server, Session
from hermes_desktop.tui_gateway.turns import claim, release, run_prompts

MOST_QUEUED = 32


def submit(call: Call) -> dict[str, Any]:
    """Handle ``prompt.submit``: start a turn, or apply the busy mode if one runs."""
    server = call.server
    sid, session = call.session()
    text = call.params.text("text")
    ordinal = call.params.optional_number("truncate_before_user_ordinal")
    live_sessions.join(server, session, call.peer)
    if not claim(session):
        if ordinal is not None:
            raise RpcError(Code.BUSY, "session busy: interrupt the current turn before editing")
        waiting = _while_busy(server, session, text)
        if waiting is not None:
            return waiting
        # The turn has just ended.
        return submit(call)
    try:
        _check_prompt(server, session, ordinal)
    except BaseException:
        release(server, sid, session)
        raise
    server.start_thread(lambda: run_prompts(server, sid, session, text))
    return {"status": "streaming"}


def _check_prompt(server: Server, session: Session, ordinal: int | None) -> None:
    """Make all checks that may refuse the prompt before anything starts."""
    _note_use(server, session)
    agents.ensure_agent(server, session)
    _take_place(server, session)
    db = server.db()
    if ordinal is not None and db is not None:
        try:
            with held_now(server, session, "editing"):
                cut_at_ordinal(db, session, ordinal)
        except HermesError as error:
            raise in_protocol(error, Code.GENERIC) from error


def _note_use(server: Server, session: Session) -> None:
    program = server.state.program
    if program is not None:
        session["last_active"] = program.clock.time()


def _take_place(server: Server, session: Session) -> None:
    """Claim one of the leases that all programs share, where their number is limited."""
    program = server.state.program
    if program is None or session.get("active_session_lease") is not None:
        return
    try:
        limit = program.settings.most_sessions()
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error
    if limit is None:
        return
    lease = program.places.take(session["session_key"], limit)
    if lease is None:
        raise RpcError(Code.TOO_MANY, f"session limit: {limit} sessions are open already")
    session["active_session_lease"] = lease


def _while_busy(server: Server, session: Session, text: str) -> dict[str, Any] | None:
    """Interrupt, steer or queue; return None when nothing runs any more."""
    mode = _busy_mode(server, session)
    if mode == "interrupt" and _is_protected(server, session):
        mode = "queue"
    if mode == "steer" and _steer(session, text):
        return {"status": "steered"}
    with session["history_lock"]:
        if session.get("_closing"):
            raise RpcError(Code.NOT_LIVE, "session not found: it is being closed")
        if not session["running"]:
            return None
        waiting: list[str] = session.setdefault("queued_prompt", [])
        if mode == "interrupt" and waiting:
            waiting[-1] = f"{waiting[-1]}\n\n{text}"
        elif len(waiting) >= MOST_QUEUED:
            raise RpcError(Code.BUSY, f"session busy: {MOST_QUEUED} messages wait already")
        else:
            waiting.append(text)
        if mode == "interrupt":
            session["_turn_cancel_requested"] = True
            # Under the lock: the next turn must not be interrupted.
            ending.interrupt_agent(session)
        count = len(waiting)
    return {"status": "queued", "waiting": count}


def _busy_mode(server: Server, session: Session) -> str:
    chosen = session.get("busy_mode")
    if chosen or server.state.program is None:
        return str(chosen or "interrupt")
    try:
        return server.program.settings.busy_mode()
    except HermesError:
        return "queue"  # nothing is lost that way


def _is_protected(server: Server, session: Session) -> bool:
    """Return whether subagents work, a compaction runs, or nothing is stored yet."""
    if session.get("waits_for_program"):
        return True  # its prompt is not stored yet
    if getattr(session.get("agent"), "_active_children", None):
        return True
    db = server.db()
    try:
        return db is not None and bool(db.get_compression_lock_holder(session["session_key"]))
    except HermesError:
        return True


def _steer(session: Session, text: str) -> bool:
    """Pass a message to the running turn; return False when the agent does not accept it."""
    steer = getattr(session.get("agent"), "steer", None)
    return bool(steer(text)) if steer is not None else False


def steer(call: Call) -> dict[str, Any]:
    """Handle ``session.steer``: pass a message to the running turn, or queue it."""
    _, session = call.session()
    text = call.params.text("text")
    if session["running"]:
        if _steer(session, text):
            return {"status": "steered", "text": text}
        with session["history_lock"]:
            if session["running"] and not session.get("_closing"):
                session.setdefault("queued_prompt", []).append(text)
                return {"status": "queued", "text": text}
    raise RpcError(Code.BUSY, "no turn is running: use prompt.submit")


def interrupt(call: Call) -> dict[str, Any]:
    """Handle ``session.interrupt``: end the running turn; return the prompts behind it."""
    _, session = call.session()
    dropped = ending.interrupt(session)
    return {"status": "interrupted", "dropped": dropped}
