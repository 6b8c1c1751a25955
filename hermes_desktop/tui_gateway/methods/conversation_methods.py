"""Methods for the conversation of one live session."""

import json
import logging
from typing import Any

from hermes_desktop.agent.types import ContextNews
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.tui_gateway import agents, ending, live_sessions, session_row
from hermes_desktop.tui_gateway.methods.opening_methods import folder
from hermes_desktop.tui_gateway.protocol import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, Server, Session
from hermes_desktop.tui_gateway.session_record import (
    SOURCE,
    folder_of,
    info_of,
    messages_for_peers,
    model_of,
    new_session,
    note_context,
    shown_history,
    text_of,
    title_of,
    usage_of,
)
from hermes_desktop.tui_gateway.turns import alone, alone_everywhere, claim, release, tell_info

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
                session_row.read_anew(db, session)
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
    from hermes_desktop.agent.compression.context_compression import CompactionRequest  # noqa: PLC0415

    key = session["session_key"]
    if len(db.get_messages(key)) < LEAST_MESSAGES:
        return None
    care = server.program.facts.care(session.get("model_override") or {})
    if care is None:
        raise RpcError(Code.COMPRESS, "no model is set that could write a summary")
    try:
        done = care.shorten(
            key, CompactionRequest("by_hand", focus=focus), ending.Interrupted(session)
        )
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
        return {
            "noop": True,
            "fallback_used": False,
            "headline": "Compressing would not make the session shorter.",
        }
    return {
        "noop": False,
        "fallback_used": done.without_model,
        "headline": f"A summary now replaces {done.messages} messages.",
    }


_CHANGED = "another program changed this session: read session.history again"


def history(call: Call) -> dict[str, Any]:
    """Handle ``session.history``: the current state, including writes of other programs."""
    sid, session = call.session()
    db = call.server.db()
    try:
        if db is not None and claim(session):
            try:
                if session_row.has_changed(db, session):
                    session_row.read_anew(db, session)
            finally:
                release(call.server, sid, session)
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error
    told = messages_for_peers(shown_history(session))
    inflight = session.get("inflight_turn")
    if inflight is not None:
        told.append({"role": "user", "text": inflight["user"]})
    return {"count": len(told), "messages": told}


def title(call: Call) -> dict[str, Any]:
    """Handle ``session.title``: return or set the title; without a row it stays pending."""
    sid, session = call.session()
    db = call.db()
    key = session["session_key"]
    try:
        if not call.params.has("title"):
            return {"title": title_of(db, session), "session_key": key}
        wanted = db.sanitize_title(call.params.optional_text("title"))
        if wanted is None:
            raise RpcError(Code.TITLE_REQUIRED, "title required")
        pending = not db.set_session_title(key, wanted)
        if pending:
            _refuse_taken(db, wanted)
        session["pending_title"] = wanted if pending else None
    except ValueError as error:
        raise RpcError(Code.TITLE_REJECTED, str(error)) from error
    except HermesError as error:
        raise in_protocol(error, Code.TITLE) from error
    call.server.emit("session.title", sid, {"title": wanted, "pending": pending})
    return {"pending": pending, "title": wanted}


def _refuse_taken(db: SessionDB, wanted: str) -> None:
    holder = db.get_session_by_title(wanted)
    if holder is not None:
        raise RpcError(
            Code.TITLE_REJECTED, f"Title '{wanted}' is already in use by session {holder['id']}"
        )


def undo(call: Call) -> dict[str, Any]:
    """Handle ``session.undo``: remove the last prompt and everything after it."""
    sid, session = call.session()
    db = call.db()
    with alone_everywhere(call.server, sid, session, "undo"):
        removed, _ = take_back(db, session, 1)
    tell_info(call.server, sid, session)
    return {"removed": removed}


def take_back(db: SessionDB, session: Session, prompts: int) -> tuple[int, str]:
    """Remove the last prompts; return the number of messages and the first prompt's text.

    Raises:
        RpcError: Another program changed the session; nothing was undone.
    """
    refuse_if_changed(db, session)
    asked = _prompts(db, session)
    if not asked:
        return 0, ""
    return cut_before(db, session, asked[max(0, len(asked) - prompts)])


def refuse_if_changed(db: SessionDB, session: Session) -> None:
    """Refuse to remove messages that the peer has not seen.

    Raises:
        RpcError: Another program changed the session since it was read; it was read again.
    """
    if session_row.has_changed(db, session):
        known = session_row.is_known(session)
        session_row.read_anew(db, session)
        if known:
            raise RpcError(Code.STALE, _CHANGED)


def cut_before(db: SessionDB, session: Session, target: dict[str, Any]) -> tuple[int, str]:
    """Remove a prompt and everything after it."""
    try:
        done = db.rewind_to_message(session["session_key"], target["id"])
    except ValueError as error:
        raise RpcError(Code.STALE, _CHANGED) from error
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error
    session_row.read_anew(db, session)
    return int(done["rewound_count"]), text_of(target.get("content"))


def cut_at_ordinal(db: SessionDB, session: Session, ordinal: int) -> None:
    """Remove a prompt, by its number among the prompts that peers see, and everything after it.

    Raises:
        RpcError: There is no such prompt any more, or it was summarized.
    """
    refuse_if_changed(db, session)
    if session.get("seed"):
        _cut_seed(session, ordinal)
        return
    earlier = sum(each.get("role") == "user" for each in session.get("shown_before", ()))
    asked = _prompts(db, session)
    if not 0 <= ordinal - earlier < len(asked):
        raise RpcError(Code.STALE, "target user message is no longer in session history")
    cut_before(db, session, asked[ordinal - earlier])


def _cut_seed(session: Session, ordinal: int) -> None:
    places = [at for at, each in enumerate(session["seed"]) if each.get("role") == "user"]
    if not 0 <= ordinal < len(places):
        raise RpcError(Code.STALE, "target user message is no longer in session history")
    with session["history_lock"]:
        session["seed"] = session["seed"][: places[ordinal]]
        session["history"] = [dict(each) for each in session["seed"]]
        session["history_version"] += 1


def _prompts(db: SessionDB, session: Session) -> list[dict[str, Any]]:
    try:
        rows = db.get_messages(session["session_key"])
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error
    return [row for row in rows if row["role"] == "user"]


def save(call: Call) -> dict[str, Any]:
    """Handle ``session.save``: write the conversation to a file."""
    _, session = call.session()
    program = call.server.program
    key, now = session["session_key"], program.clock.now()
    try:
        row = call.db().get_session(key) or {}
        saved = {
            "model": model_of(session),
            "session_id": key,
            "session_start": now.isoformat(),
            "title": title_of(call.db(), session),
            "system_prompt": row.get("system_prompt") or "",
            "messages": shown_history(session),
        }
        make_private_folder(program.saved_dir)
        stem = f"hermes_conversation_{now:%Y%m%d_%H%M%S}"
        path = program.saved_dir / f"{stem}.json"
        number = 1
        while path.exists():
            number += 1
            path = program.saved_dir / f"{stem}_{number}.json"
        text = json.dumps(saved, ensure_ascii=False, indent=2, default=str)
        write_text_atomic(path, text.encode("utf-8", "replace").decode("utf-8"))
    except HermesError as error:
        raise in_protocol(error, Code.SAVE) from error
    except OSError as error:
        where = error.filename or program.saved_dir
        raise RpcError(Code.SAVE, f"cannot save: {where}: {error.strerror or error}") from error
    return {"file": str(path)}


def branch(call: Call) -> dict[str, Any]:
    """Handle ``session.branch``: copy the session and make the copy live."""
    server, db = call.server, call.db()
    sid, session = call.session()
    wanted = call.params.optional_text("name") or None
    key = session["session_key"]
    copy_key = new_session_id(server.program.clock.now())
    with alone_everywhere(server, sid, session, "branch"):
        try:
            if db.get_session(key) is None or not _prompts(db, session):
                raise RpcError(Code.NOTHING_TO_BRANCH, "nothing to branch: send a message first")
            db.create_branch(Branch(key, copy_key, source=SOURCE, title=wanted))
        except ValueError as error:
            raise RpcError(Code.TITLE_REJECTED, str(error)) from error
        except HermesError as error:
            raise in_protocol(error, Code.BRANCH) from error
    copy = new_session(copy_key, cols=session["cols"], now=server.program.clock.time())
    copy |= {name: session.get(name) for name in ("cwd", "explicit_cwd", "model_override")}
    copy["parent_session_id"] = key
    session_row.read_anew(db, copy)
    copy_sid = live_sessions.add(server, copy, call.peer)
    agents.choose(server, copy)
    return {
        "session_id": copy_sid,
        "stored_session_id": copy_key,
        "title": db.get_session_title(copy_key) or "",
        "parent": key,
        "message_count": len(messages_for_peers(copy["history"])),
    }


def usage(call: Call) -> dict[str, Any]:
    """Handle ``session.usage``: the stored usage of the conversation."""
    _, session = call.session()
    return usage_of(call.db(), session)


def set_folder(call: Call) -> dict[str, Any]:
    """Handle ``session.cwd.set``."""
    sid, session = call.session()
    wanted = folder(call.params.text("cwd", missing=Code.FOLDER_REQUIRED))
    with alone(call.server, sid, session, "changing the folder"):
        session["cwd"], session["explicit_cwd"] = wanted, True
        agents.drop_agent(session)  # the next agent is created for the new folder
    told = info_of(call.server, session)
    call.server.emit("session.info", sid, told)
    return {**told, "cwd": folder_of(session)}
