"""A live session as a mapping: its creation, and its representation for peers.

Keys that are always present: ``agent``, ``session_key``, ``history``, ``history_lock``,
``history_version``, ``running``, ``attached_images``, ``image_counter``, ``cols``,
``slash_worker``, ``show_reasoning``, ``tool_progress_mode``, ``pending_title``. Every other key may
be missing and is read with ``get``.
"""

import json
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_desktop.agent.thinking import CHOSEN_KEYS, EFFORT, TIER, chosen_of, config_of, stored
from hermes_desktop.agent.types import ContextNews
from hermes_desktop.commands.present_session import chain_rows, number
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.usage import cost_of
from hermes_desktop.state import SessionDB
from hermes_desktop.tui_gateway.serving_state import Server, Session
from hermes_desktop.tui_gateway.transport import Subscribers

log = logging.getLogger(__name__)


def chosen_thinking(session: Session) -> dict[str, str]:
    """Return the settings chosen for a session."""
    override = session.get("model_override") or {}
    return {name: value for name, value in override.items() if name in CHOSEN_KEYS}


def restore_thinking(db: SessionDB | None, session: Session) -> None:
    """Load the settings of a stored session, once. Never raises for the file."""
    if session.get("thinking_read") or db is None:
        return
    session["thinking_read"] = True
    try:
        row = db.get_session(session["session_key"])
    except HermesError as error:
        log.warning("How a session thinks is not known: %s", error)
        return
    if row is not None and not chosen_thinking(session):
        found = chosen_of(config_of(row))
        session["model_override"] = {**(session.get("model_override") or {}), **found}


def thinking_config(session: Session) -> dict[str, Any]:
    """Return the column of a new row in which the settings are stored."""
    kept = chosen_thinking(session)
    return {"model_config": stored({}, kept)} if kept else {}


def keep_thinking(db: SessionDB, session_id: str, override: Mapping[str, str]) -> None:
    """Store the settings in the row, if there is one.

    Raises:
        HermesError: It cannot be written.
    """
    row = db.get_session(session_id)
    if row is not None:
        db.update_session_meta(session_id, json.dumps(stored(config_of(row), override)))


DEFAULT_COLS = 80
SOURCE = "tui"
_PREVIEW = 120


def new_session(session_key: str, *, cols: int = DEFAULT_COLS, now: float = 0.0) -> Session:
    """Return a live session without messages.

    Args:
        session_key: Its session id; no row has to exist.
        cols: Width of the peer's terminal.
        now: Seconds since the epoch.
    """
    return {
        "agent": None,
        "session_key": session_key,
        "history": [],
        "history_lock": threading.Lock(),
        "history_version": 0,
        "running": False,
        "attached_images": [],
        "image_counter": 0,
        "cols": cols,
        "slash_worker": None,
        "show_reasoning": False,
        "tool_progress_mode": "all",
        "pending_title": None,
        "source": SOURCE,
        "transport": Subscribers(),
        "created_at": now,
        "last_active": now,
        "queued_prompt": [],
        "_turn_over": threading.Event(),
    }


def text_of(content: Any) -> str:
    """Return the readable part of a message's content."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def messages_for_peers(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a history in the form for peers: roles and texts."""
    told: list[dict[str, Any]] = []
    for message in history:
        role = message.get("role")
        text = text_of(message.get("content"))
        if role == "tool":
            told.append({"role": "tool", "name": message.get("tool_name") or "", "text": text})
        elif role in {"user", "assistant"} and text:
            told.append({"role": role, "text": text})
    return told


def shown_history(session: Session) -> list[dict[str, Any]]:
    """Return the visible history: messages before a compaction, then those the model knows."""
    with session["history_lock"]:
        return [*session.get("shown_before", ()), *session["history"]]


def source_of(session: Session) -> str:
    """Return the origin of the session."""
    return str(session.get("source") or SOURCE)


def folder_of(session: Session) -> str:
    """Return the working directory of the session."""
    return str(session.get("cwd") or os.getcwd())  # noqa: PTH109 - text for the peer


def status_of(session: Session) -> str:
    """Return the session's status."""
    return "working" if session["running"] else "idle"


def title_of(db: SessionDB | None, session: Session) -> str:
    """Return the title, including a pending one; "" without."""
    pending = session.get("pending_title")
    if pending:
        return str(pending)
    return (db.get_session_title(session["session_key"]) if db is not None else None) or ""


def usage_of(db: SessionDB | None, session: Session) -> dict[str, Any]:
    """Return the stored usage of the conversation in all its segments.

    ``cost_usd`` is None where no price is known, and incomplete with ``cost_partial``.
    """
    rows = chain_rows(db, session["session_key"]) if db is not None else []
    cost = cost_of(db.usage_of([str(row["id"]) for row in rows]) if db is not None else ())
    counts = {name: sum(number(row, column) for row in rows) for name, column in _USAGE.items()}
    told = counts["input"] + counts["cache_read"]
    return {
        "model": model_of(session),
        **counts,
        "prompt": told,
        "completion": counts["output"],
        "total": told + counts["output"],
        "cost_usd": cost.usd,
        "cost_estimated": cost.estimated,
        "cost_partial": cost.partial,
        **_context(session),
    }


def note_context(session: Session, news: ContextNews) -> None:
    """Store the context size of the session; an approximate one comes from a compaction."""
    session["context"] = news
    session["compressions"] = session.get("compressions", 0) + news.about


def _context(session: Session) -> dict[str, Any]:
    """Return the context size, as front ends of ``hermes`` expect it, without unknown values."""
    news = session.get("context")
    told: dict[str, Any] = {"compressions": session.get("compressions", 0)}
    if isinstance(news, ContextNews):
        told["context_used"] = news.used_tokens
        if news.context_length:
            told["context_max"] = news.context_length
            share = 100 * news.used_tokens / news.context_length
            told["context_percent"] = min(100, round(share))
    return told


_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "reasoning": "reasoning_tokens",
    "calls": "api_call_count",
}


def model_of(session: Session) -> str:
    """Return the name of the model that answers, "" when it was not determined yet."""
    agent = session.get("agent")
    chosen = session.get("model_override") or {}
    name = getattr(agent, "model", None) or chosen.get("model") or session.get("model_name")
    return name if isinstance(name, str) else ""


def info_of(server: Server, session: Session) -> dict[str, Any]:
    """Return the information that peers show next to the conversation. May read state.db."""
    program = server.program
    db = server.db()
    return {
        "model": model_of(session),
        "provider": session.get("provider_name", ""),
        **_manner(server, session),
        "tools": {},
        "skills": {},
        "cwd": folder_of(session),
        "branch": "",
        "project": None,
        "running": session["running"],
        "title": title_of(db, session),
        "stored_session_id": session["session_key"],
        "source": source_of(session),
        "lazy": session.get("agent") is None,
        "profile_name": program.facts.profile,
        "version": program.facts.version,
        "usage": usage_of(db, session),
        "ignored": list(session.get("ignored", ())),
    }


def _manner(server: Server, session: Session) -> dict[str, Any]:
    """Return the chosen reasoning and speed, and whether approvals are switched off."""
    kept, queue = chosen_thinking(session), server.program.requests
    return {
        "reasoning_effort": kept.get(EFFORT, ""),
        "fast": kept.get(TIER) == "fast",
        "yolo": queue is not None and queue.is_free(session["session_key"]),
    }


def snapshot_of(server: Server, sid: str, session: Session) -> dict[str, Any]:
    """Return all that a peer needs when it joins a live session."""
    told = messages_for_peers(shown_history(session))
    return {
        "session_id": sid,
        "session_key": session["session_key"],
        "info": info_of(server, session),
        "message_count": len(told),
        "messages": told,
        "inflight": session.get("inflight_turn"),
        "running": session["running"],
        "status": status_of(session),
        "started_at": session.get("created_at", 0.0),
        "pending": pending_of(server, session),
    }


def pending_of(server: Server, session: Session) -> dict[str, list[dict[str, Any]]]:
    """Return the pending requests of the session."""
    asking = server.state.asking
    return {"approvals": [], "questions": []} if asking is None else asking.pending(session)


def line_of(db: SessionDB | None, sid: str, session: Session) -> dict[str, Any]:
    """Return one line of the list of live sessions."""
    told = messages_for_peers(shown_history(session))
    inflight = session.get("inflight_turn") or {}
    last = inflight.get("assistant") or (told[-1]["text"] if told else "")
    return {
        "id": sid,
        "session_key": session["session_key"],
        "title": title_of(db, session),
        "preview": " ".join(last.split())[:_PREVIEW],
        "model": model_of(session),
        "message_count": len(told),
        "started_at": session.get("created_at", 0.0),
        "last_active": session.get("last_active", 0.0),
        "status": status_of(session),
    }
