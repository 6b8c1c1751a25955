"""Turns of a live session, one prompt after the other, with their events for peers."""

import contextlib
import contextvars
import inspect
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from hermes_desktop.agent.turns.turn_results import (
    Outcome,
    normalize_empty_agent_response,
    outcome_of,
)
from hermes_desktop.agent.types import RETRACTED, ContextNews, TextRetracted, ToolCallAnnounced
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.ids import new_turn_id
from hermes_desktop.core.session_context import set_session_vars
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionMark
from hermes_desktop.tui_gateway import agents, ending, session_row
from hermes_desktop.tui_gateway.conversation_lock import held_for_turn, held_now
from hermes_desktop.tui_gateway.protocol import Code, RpcError
from hermes_desktop.tui_gateway.serving_state import Server, Session
from hermes_desktop.tui_gateway.session_record import (
    info_of,
    model_of,
    note_context,
    source_of,
    usage_of,
)

log = logging.getLogger(__name__)

Result = Mapping[str, Any]
_STATUS: Mapping[Outcome, str] = {"done": "complete", "stopped": "interrupted", "failed": "error"}
MOST_RESULT = 20_000
"""Maximum number of characters of a tool's result for peers; the model may get more."""
_NOT_BEGUN: Result = {"final_response": "", "interrupted": True}


def run_prompts(server: Server, sid: str, session: Session, text: str) -> None:
    """Answer a prompt, and then those queued behind it. On the turn's own thread."""
    following: str | None = text
    while following is not None:
        _in_own_context(partial(run_turn, server, sid, session, following))
        following = _next_prompt(session)
        if not session.get("_closing"):
            tell_info(server, sid, session)


def claim(session: Session) -> bool:
    """Claim the session; return False when a turn or another operation has it."""
    with session["history_lock"]:
        if session["running"] or session.get("_closing"):
            return False
        session["running"] = True
        session["_turn_cancel_requested"] = False
        over = session.get("_turn_over")
        if over is not None:
            over.clear()
    return True


def release(server: Server, sid: str, session: Session) -> None:
    """Release a claim; a prompt that was queued in the meantime is answered now."""
    following = _next_prompt(session)
    if following is not None:
        server.start_thread(lambda: run_prompts(server, sid, session, following))


@contextlib.contextmanager
def alone(server: Server, sid: str, session: Session, doing: str) -> Iterator[None]:
    """Keep turns out of the session for the block.

    Args:
        server: The server of the session.
        sid: Its live id.
        session: The session.
        doing: A description of the operation for the error message.

    Raises:
        RpcError: A turn runs in it.
    """
    if not claim(session):
        raise RpcError(Code.BUSY, f"session busy: interrupt the current turn before {doing}")
    try:
        yield
    finally:
        release(server, sid, session)


@contextlib.contextmanager
def alone_everywhere(server: Server, sid: str, session: Session, doing: str) -> Iterator[None]:
    """Keep turns out of the session for the block, including those of our other programs.

    Args:
        server: As for :func:`alone`.
        sid: Likewise.
        session: Likewise.
        doing: Likewise.

    Raises:
        RpcError: A turn runs in it.
        StateError: The shared file cannot be read.
    """
    with alone(server, sid, session, doing), held_now(server, session, doing):
        yield


def run_turn(server: Server, sid: str, session: Session, text: str) -> None:
    """Answer one prompt. Never raises; every start is followed by one ``message.complete``."""
    session["inflight_turn"] = {"user": text, "assistant": ""}
    server.emit("message.start", sid)
    key, turn_id = session["session_key"], new_turn_id()
    status = "error"
    try:
        given_up = ending.Interrupted(session).is_set
        with held_for_turn(server, sid, session, given_up) as held:
            result = _RunningTurn(server, sid, session).converse(text) if held else dict(_NOT_BEGUN)
        _queue_unheard(session, result)
        status = _conclude(server, sid, session, result)
    except (HermesError, RpcError) as error:
        log.warning("A turn of %s failed: %s", key, error)
        _tell_failure(server, sid, session, str(error))
    except Exception as error:
        log.exception("A turn of %s crashed", key)
        words = f"The turn crashed: {type(error).__name__}; the log says more."
        _tell_failure(server, sid, session, words)
    finally:
        session["inflight_turn"] = None
        if not _tells_plugins(session):
            ending.tell_plugins(
                "on_session_end",
                session_id=session["session_key"],
                task_id=sid,
                turn_id=turn_id,
                completed=status == "complete",
                interrupted=status == "interrupted",
                model=model_of(session),
                platform=source_of(session),
            )


def _tells_plugins(session: Session) -> bool:
    """Return whether its agent notifies plugins of turns itself."""
    return bool(getattr(session["agent"], "tells_plugins", False))


def _in_own_context(call: Callable[[], None]) -> None:
    contextvars.copy_context().run(call)


class _RunningTurn:
    """A running turn."""

    def __init__(self, server: Server, sid: str, session: Session) -> None:
        self._server = server
        self._sid = sid
        self._session = session
        self._db = server.db()
        self._renderer = server.stream_renderer(session["cols"])

    def converse(self, text: str) -> Result:
        """Run the agent, and store its resulting history.

        Raises:
            HermesError: It could not be stored.
        """
        session = self._session
        key = session["session_key"]
        before = self._prepare(text)
        with session["history_lock"]:
            history, version = list(session["history"]), session["history_version"]
        set_session_vars(
            HERMES_SESSION_PLATFORM=source_of(session),
            HERMES_SESSION_KEY=key,
            HERMES_SESSION_ID=key,
            HERMES_UI_SESSION_ID=self._sid,
        )
        agent = session["agent"]
        result = agent.run_conversation(
            text,
            conversation_history=history,
            stream_callback=self._tell_text,
            **_accepted(agent.run_conversation, self._extras()),
        )
        if not isinstance(result, Mapping):
            result = {"final_response": str(result or "")}
        if self._take_over(result, version):
            session_row.note_turn(session, before, key, {**result, "session_id": agent.session_id})
        else:
            session_row.forget_mark(session)
        self._server.sync_key(
            self._sid, session, clear_pending_title=False, restart_slash_worker=True
        )
        return {"history_len": len(history), **result}

    def _prepare(self, text: str) -> SessionMark | None:
        """Update row and memory as needed; return the mark under which the turn starts."""
        session, db = self._session, self._db
        # Checked again, because a queued prompt may follow the choice of another model.
        agents.ensure_agent(self._server, session)
        if db is None:
            return None
        if session_row.has_changed(db, session):
            session_row.read_anew(db, session)
        row = session_row.begin(db, session)
        if row is None and "seen_mark" in session:
            self._tell_new_session()
        agent = session["agent"]
        if session.pop("bind_needed", False) and hasattr(agent, "bind"):
            agent.bind(session["session_key"], session["history"], has_row=row is not None)
        session["looked_only"] = False
        log.debug("A turn of %s begins, %d characters", session["session_key"], len(text))
        mark = session.get("seen_mark")
        return mark if isinstance(mark, SessionMark) else None

    def _tell_new_session(self) -> None:
        session = self._session
        self._server.boundary("on_session_reset", session["session_key"], source_of(session))
        if _tells_plugins(session):
            return
        ending.tell_plugins(
            "on_session_start",
            session_id=session["session_key"],
            model=model_of(session),
            platform=source_of(session),
        )

    def _extras(self) -> dict[str, Any]:
        """Return the optional arguments for agents that accept them."""
        return {
            "task_id": self._sid,
            "reasoning_callback": self._tell_thought,
            "persisted_callback": self._row_stored,
            "tool_callback": self._tell_tool,
        }

    def _row_stored(self, _row_id: int) -> None:
        # An agent forgets a stop request that came before its turn began.
        if self._session.get("_turn_cancel_requested"):
            self._session["agent"].interrupt()

    def _tell_text(self, text: str | None) -> None:
        if not text:
            return
        inflight = self._session.get("inflight_turn")
        if inflight is not None:
            inflight["assistant"] += text
        payload = {"text": text}
        if self._renderer is not None:
            payload["rendered"] = self._renderer.feed(text)
        self._server.emit("message.delta", self._sid, payload)

    def _retract(self, text: str) -> None:
        """Report that sent text is not part of the reply; the protocol has no retraction event."""
        inflight = self._session.get("inflight_turn")
        if inflight is not None:
            inflight["assistant"] = inflight["assistant"].removesuffix(text)
        payload = {"kind": "status", "text": RETRACTED}
        self._server.emit("status.update", self._sid, payload)

    def _tell_thought(self, text: str | None) -> None:
        if text:
            self._server.emit("reasoning.delta", self._sid, {"text": text})

    def _tell_tool(self, news: Any) -> None:
        """Report an event of a tool, or a note; on any thread of the turn."""
        if isinstance(news, ToolCallAnnounced):
            self._server.emit("tool.generating", self._sid, {"name": news.name})
            return
        if isinstance(news, TextRetracted):
            self._retract(news.text)
            return
        if isinstance(news, ContextNews):
            note_context(self._session, news)
            return
        if hasattr(news, "lasting"):
            kind = "warning" if news.lasting else "status"
            self._server.emit("status.update", self._sid, {"kind": kind, "text": news.text})
            return
        if not hasattr(news, "call_id"):
            return
        told = {"tool_id": news.call_id, "name": news.name}
        if news.ok is None:
            self._server.emit("tool.start", self._sid, {**told, "context": news.subject})
            return
        self._server.emit("tool.complete", self._sid, {**told, **_tool_result(news)})

    def _take_over(self, result: Result, version: int) -> bool:
        """Store the agent's history, unless the session's has changed in the meantime."""
        messages = result.get("messages")
        if not isinstance(messages, list):
            return False
        session = self._session
        with session["history_lock"]:
            if session["history_version"] == version:
                session["history"] = list(messages)
                session["history_version"] += 1
                return True
        log.warning("The history of %s changed during a turn", session["session_key"])
        return False


def _accepted(function: Callable[..., Any], extras: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the arguments that a function accepts by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return {name: value for name, value in extras.items() if takes_all or name in parameters}


def _conclude(server: Server, sid: str, session: Session, result: Result) -> str:
    """Report the end of a turn; return "complete", "interrupted" or "error"."""
    status = _STATUS[outcome_of(result)]
    text = str(result.get("final_response") or "")
    history_len = int(result.get("history_len", 0))
    said = normalize_empty_agent_response(result, text, history_len=history_len)
    payload: dict[str, Any] = {
        "text": said,
        "usage": _usage(server.db(), session),
        "status": status,
    }
    if result.get("last_reasoning"):
        payload["reasoning"] = result["last_reasoning"]
    if status == "error" and text:
        payload["warning"] = str(result.get("error") or "")
    if status == "error" and result.get("error_hint"):
        payload["hint"] = result["error_hint"]
    rendered = server.render(said, session["cols"])
    if rendered is not None:
        payload["rendered"] = rendered
    session["inflight_turn"] = None
    server.emit("message.complete", sid, payload)
    if status == "complete":
        apply_pending_title(server.db(), session)
    return status


def _queue_unheard(session: Session, result: Result) -> None:
    """Queue a steering message that the turn did not receive, unless it was interrupted."""
    unheard = result.get("pending_steer")
    with session["history_lock"]:
        if unheard and not session.get("_turn_cancel_requested"):
            session.setdefault("queued_prompt", []).insert(0, str(unheard))


def _usage(db: SessionDB | None, session: Session) -> dict[str, Any]:
    try:
        return usage_of(db, session)
    except HermesError:
        return {}  # the reply is stored; a missing figure must not make it look lost


def _tell_failure(server: Server, sid: str, session: Session, words: str) -> None:
    session_row.forget_mark(session)
    session["inflight_turn"] = None
    server.emit("error", sid, {"message": words})
    server.emit("message.complete", sid, {"text": "", "usage": {}, "status": "error"})


def _next_prompt(session: Session) -> str | None:
    """Return the next queued prompt; with none, the session is free again."""
    with session["history_lock"]:
        session["_turn_cancel_requested"] = False
        waiting: list[str] = session.get("queued_prompt") or []
        if waiting and not session.get("_closing"):
            return waiting.pop(0)
        session["running"] = False
        over = session.get("_turn_over")
        if over is not None:
            over.set()
    return None


def tell_info(server: Server, sid: str, session: Session) -> None:
    """Send the session's info to its peers. Never raises."""
    if server.state.program is None:
        return
    try:
        server.emit("session.info", sid, info_of(server, session))
    except HermesError:
        log.warning("The information about a session could not be read", exc_info=True)


def apply_pending_title(db: SessionDB | None, session: Session) -> None:
    """Apply the title that was chosen before the session had a row. Never raises.

    An invalid title (now taken, too long) is dropped, so that another one can be set; after
    any other failure it stays pending until the next turn.
    """
    title, key = session.get("pending_title"), session["session_key"]
    if not title or db is None:
        return
    try:
        if db.set_session_title(key, title):
            session["pending_title"] = None
    except ValueError as error:
        session["pending_title"] = None
        log.info("The title chosen for %s was dropped: %s", key, error)
    except Exception:
        log.warning("The title of %s waits for the next turn", key, exc_info=True)


def _tool_result(news: Any) -> dict[str, Any]:
    """Return the event payload for a finished tool."""
    arguments, result = dict(getattr(news, "arguments", {})), str(getattr(news, "result", ""))
    told = {
        "ok": news.ok,
        "summary": news.subject,
        "duration_s": round(news.seconds, 3),
        "args": arguments,
        "result": result[:MOST_RESULT] if len(result) > MOST_RESULT else _decoded(result),
    }
    if len(result) > MOST_RESULT:
        told["result_cut"] = True
    if news.name == "todo" and isinstance(told["result"], dict):
        told["todos"] = told["result"].get("todos") or []
    return told


def _decoded(result: str) -> Any:
    """Decode a tool's result if it is JSON, as other programs of this protocol do."""
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return result
