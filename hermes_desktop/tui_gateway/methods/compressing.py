"""The method ``session.compress``: compact a live session now."""

import logging
from typing import Any

from hermes_desktop.agent.types import ContextNews
from hermes_desktop.core.errors import HermesError
from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway import ending, guard
from hermes_desktop.tui_gateway.protocol.errors import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, Server, Session
from hermes_desktop.tui_gateway.session_record import (
    info_of,
    messages_for_peers,
    note_context,
    shown_history,
    usage_of,
)
from hermes_desktop.tui_gateway.turns import alone_everywhere, tell_info

log = logging.getLogger(__name__)

LEAST_MESSAGES = 4
MOST_FOCUS = 500


def compress(call: Call) -> dict[str, Any]:
    """Handle ``session.compress {focus_topic?}``; reports only what was actually written."""
    sid, session = call.session()
    server, db = call.server, call.db()
    focus = call.params.optional_text("focus_topic").strip()[:MOST_FOCUS]
    try:
        with alone_everywhere(server, sid, session, "compressing"):
            before = len(session["history"])
            done = _shorten(server, db, session, focus)
            if done is not None and done.changed:
                _follow(server, sid, session, done.session_id)
                guard.read_anew(db, session)
                _note_size(session, done.after)
    except HermesError as error:
        raise in_protocol(error, Code.COMPRESS) from error
    tell_info(server, sid, session)
    told = messages_for_peers(shown_history(session))
    after = len(session["history"])
    return {
        "status": "compressed",
        "removed": max(0, before - after),
        "before_messages": before,
        "after_messages": after,
        "before_tokens": done.before if done is not None else 0,
        "after_tokens": done.after if done is not None else 0,
        "summary": _summary(done),
        "usage": usage_of(db, session),
        "info": info_of(server, session),
        "messages": told,
        "session_key": session["session_key"],
    }


def _shorten(server: Server, db: SessionDB, session: Session, focus: str) -> Any:
    """Compact the session; return None when it is too short.

    Raises:
        HermesError: It failed.
        RpcError: It was interrupted, or no model can write a summary.
    """
    # Loaded on first use: most sessions are never compacted by hand.
    from hermes_desktop.agent.compression.context_compression import Wish  # noqa: PLC0415

    key = session["session_key"]
    if len(db.get_messages(key)) < LEAST_MESSAGES:
        return None
    care = server.program.facts.care(session.get("model_override") or {})
    if care is None:
        raise RpcError(Code.COMPRESS, "no model is set that could write a summary")
    try:
        done = care.shorten(key, Wish("by_hand", focus=focus), ending.Interrupted(session))
    finally:
        care.close()
    if done.error is not None:
        raise done.error
    if done.kind == "cancelled":
        raise RpcError(Code.COMPRESS, "interrupted: the session is as it was")
    return done


def _follow(server: Server, sid: str, session: Session, new_id: str) -> None:
    agent = session.get("agent")
    if agent is not None:
        agent.session_id = new_id
        server.sync_key(sid, session)
    elif new_id != session["session_key"]:
        ending.follow_to(server, session, new_id)


def _note_size(session: Session, tokens: int) -> None:
    known = session.get("context")
    length = known.context_length if isinstance(known, ContextNews) else None
    note_context(session, ContextNews(tokens, length, about=True))


def _summary(done: Any) -> dict[str, Any]:
    if done is None or not done.changed:
        return {"noop": True, "fallback_used": False, "headline": "Nothing would become shorter."}
    return {
        "noop": False,
        "fallback_used": done.without_model,
        "headline": f"A summary stands for {done.messages} messages now.",
    }
