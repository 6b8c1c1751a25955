"""Methods that create, list, resume, close and delete sessions."""

import re
from pathlib import Path
from typing import Any

from hermes_desktop.agent.thinking import EFFORT, EFFORTS, TIER, knows_tiers
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.tui_gateway import agents, ending, live_sessions, session_record, session_row
from hermes_desktop.tui_gateway.protocol import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, Session, when_answered
from hermes_desktop.tui_gateway.session_record import (
    DEFAULT_COLS,
    SOURCE,
    info_of,
    line_of,
    messages_for_peers,
    new_session,
    snapshot_of,
)

MOST_LISTED = 1000
_MOST_COLS = 2000
_SOURCE = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_ROLES = frozenset({"user", "assistant", "system", "tool"})


def create(call: Call) -> dict[str, Any]:
    """Handle ``session.create``: a new session; its row is created with the first prompt."""
    server, params = call.server, call.params
    clock = server.program.clock
    session = new_session(new_session_id(clock.now()), cols=_cols(call), now=clock.time())
    session["source"] = _source(call)
    session["pending_title"] = _wanted_title(call)
    session["close_on_disconnect"] = params.flag("close_on_disconnect")
    _take_folder(call, session)
    _take_profile(call)
    _take_model(call, session)
    _take_thinking(call, session)
    _take_seed(call, session)
    _take_parent(call, session)
    session_row.note_mark(session, None)
    agents.choose(server, session)
    told, info = messages_for_peers(session["history"]), info_of(server, session)
    return {
        "session_id": _make_live(call, session),
        "stored_session_id": session["session_key"],
        "message_count": len(told),
        "messages": told,
        "info": {**info, "warning": session.get("model_trouble", "")},
    }


def list_(call: Call) -> dict[str, Any]:
    """Handle ``session.list``: the latest activity first."""
    limit = call.params.number("limit", default=200, low=1, high=MOST_LISTED)
    return {"sessions": [_line(each) for each in _newest(call, limit)]}


def most_recent(call: Call) -> dict[str, Any]:
    """Handle ``session.most_recent``."""
    found = _newest(call, 1)
    if not found:
        return {"session_id": None}
    line = _line(found[0])
    kept = ("title", "started_at", "source")
    return {"session_id": line["id"], **{name: line[name] for name in kept}}


def resume(call: Call) -> dict[str, Any]:
    """Handle ``session.resume``: by id or title; a live session is joined."""
    server, params = call.server, call.params
    wanted = params.optional_text("session_id") or params.optional_text("title")
    if not wanted.strip():
        raise RpcError(Code.ID_REQUIRED, "session_id or title required")
    db = call.db()
    live = server.state.sessions.get(wanted)
    try:
        key = (
            live["session_key"]
            if live is not None
            else db.get_compression_tip(server.program.find(db, wanted))
        )
    except HermesError as error:
        raise in_protocol(error, Code.NOT_STORED) from error
    with server.state.opening:
        found = live_sessions.with_key(server.state, key)
        sid, session = found if found is not None else _open(call, key)
    live_sessions.join(server, session, call.peer)
    session["cols"] = _cols(call, session["cols"])
    if params.flag("eager_build"):
        agents.ensure_agent(server, session)
    _tell_what_waits(call, sid, session)
    return {"resumed": key, **snapshot_of(server, sid, session)}


def active_list(call: Call) -> dict[str, Any]:
    """Handle ``session.active_list``."""
    state = call.server.state
    with state.lock:
        found = list(state.sessions.items())
    try:
        lines = [
            {**line_of(call.server.db(), sid, session), "current": _hears(call, session)}
            for sid, session in found
        ]
    except HermesError as error:
        raise in_protocol(error, Code.DELETE) from error
    return {"sessions": lines}


def activate(call: Call) -> dict[str, Any]:
    """Handle ``session.activate``: subscribe to a live session."""
    sid, session = call.session()
    live_sessions.join(call.server, session, call.peer)
    _tell_what_waits(call, sid, session)
    return snapshot_of(call.server, sid, session)


def _tell_what_waits(call: Call, sid: str, session: Session) -> None:
    """Send pending requests to a joining peer, after the response that introduces the session."""
    asking = call.server.state.asking
    if asking is not None:
        when_answered(lambda: asking.tell_again(sid, session, call.peer))


def close(call: Call) -> dict[str, Any]:
    """Handle ``session.close``."""
    sid = call.params.text("session_id", missing=Code.ID_REQUIRED)
    return {"closed": ending.close_live(call.server, sid)}


def delete(call: Call) -> dict[str, Any]:
    """Handle ``session.delete``: move a stored session to the trash."""
    wanted = call.params.text("session_id", missing=Code.ID_REQUIRED)
    trash, state = call.server.program.trash, call.server.state
    try:
        db = call.db()
        if db.get_session(wanted) is None:
            if live_sessions.with_key(state, wanted) is not None or wanted in state.sessions:
                raise _still_open()
            raise RpcError(Code.NOT_STORED, "session not found")
        plan = trash.plan(wanted)
        if any(live_sessions.with_key(state, each) for each in (*plan.segments, *plan.subagents)):
            raise _still_open()
        trash.delete(plan)
    except HermesError as error:
        raise in_protocol(error, Code.DELETE) from error
    return {"deleted": wanted}


def _still_open() -> RpcError:
    return RpcError(Code.STILL_OPEN, "cannot delete an active session: close it first")


def _newest(call: Call, limit: int) -> list[SessionSummary]:
    try:
        return call.db().list_summaries(limit=limit, order="activity")
    except HermesError as error:
        raise in_protocol(error, Code.LIST) from error


def _line(summary: SessionSummary) -> dict[str, Any]:
    return {
        "id": summary.id,
        "title": summary.title or "",
        "preview": summary.preview,
        "started_at": summary.started_at,
        "last_active": summary.last_active,
        "message_count": summary.message_count,
        "source": summary.source,
    }


def _open(call: Call, key: str) -> tuple[str, Session]:
    """Make a stored session live. Changes nothing in it."""
    server, db = call.server, call.db()
    try:
        row = db.get_session(key) or {}
        session = new_session(key, cols=_cols(call), now=server.program.clock.time())
        session["source"] = row.get("source") or SOURCE
        session["cwd"] = row.get("cwd")
        session["model_name"] = row.get("model") or ""
        session["looked_only"] = True
        session_row.read_anew(db, session)
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error
    sid = _make_live(call, session)
    session_record.restore_thinking(server.db(), session)
    agents.choose(server, session)
    return sid, session


def _make_live(call: Call, session: Session) -> str:
    return live_sessions.add(call.server, session, call.peer)


def _cols(call: Call, default: int = DEFAULT_COLS) -> int:
    return call.params.number("cols", default=default, low=1, high=_MOST_COLS)


def _source(call: Call) -> str:
    source = call.params.optional_text("source") or SOURCE
    if not _SOURCE.fullmatch(source) or call.server.program.is_platform(source):
        raise RpcError(Code.BAD_VALUE, f"no session can begin with the source {source!r}")
    return source


def _wanted_title(call: Call) -> str | None:
    title = call.params.optional_text("title")
    try:
        return SessionDB.sanitize_title(title)
    except HermesError as error:
        raise in_protocol(error, Code.TITLE_REJECTED) from error


def folder(text: str) -> str:
    """Return an existing folder as an absolute path.

    Raises:
        RpcError: There is none.
    """
    try:
        path = Path(text).expanduser().absolute()
        if path.is_dir():
            return str(path)
    except (OSError, RuntimeError, ValueError):
        # An invalid name, or an unknown user.
        pass
    raise RpcError(Code.NO_SUCH_FOLDER, f"working directory does not exist: {text[:200]}")


def _take_folder(call: Call, session: Session) -> None:
    wanted = call.params.optional_text("cwd")
    if wanted:
        session["cwd"] = folder(wanted)
        session["explicit_cwd"] = True


def _take_profile(call: Call) -> None:
    profile = call.params.optional_text("profile")
    own = call.server.program.facts.profile
    if profile and profile != own:
        raise RpcError(
            Code.BAD_VALUE,
            f"this process serves the profile {own}: start another with --profile {profile}",
        )


def _take_model(call: Call, session: Session) -> None:
    named = {name: call.params.optional_text(name) for name in ("model", "provider")}
    session["model_override"] = {name: value for name, value in named.items() if value}


def _take_thinking(call: Call, session: Session) -> None:
    """Apply the reasoning settings; invalid or unsupported ones are reported as ignored."""
    effort = call.params.raw("reasoning_effort")
    session["ignored"] = []
    if effort in EFFORTS:
        session["model_override"][EFFORT] = str(effort)
    elif effort:
        session["ignored"].append("reasoning_effort")
    if call.params.raw("fast"):
        try:
            choice = call.server.program.agents.choose_model(session["model_override"])
        except HermesError:
            choice = None
        if choice is not None and knows_tiers(choice):
            session["model_override"][TIER] = "fast"
        else:
            session["ignored"].append("fast")


def _take_seed(call: Call, session: Session) -> None:
    """Take messages supplied by the peer, which are stored with the first prompt."""
    given = call.params.raw("messages")
    if given is None:
        return
    if not isinstance(given, list) or not all(_is_message(each) for each in given):
        raise RpcError(Code.BAD_VALUE, "messages must be a list of {role, content}")
    session["seed"] = given
    session["history"] = [dict(each) for each in given]


def _is_message(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("role") in _ROLES
        and isinstance(value.get("content"), str | list | None)
    )


def _take_parent(call: Call, session: Session) -> None:
    parent = call.params.optional_text("parent_session_id")
    if not parent:
        return
    if call.db().get_session(parent) is None:
        raise RpcError(Code.NOT_STORED, "parent session not found")
    session["parent_session_id"] = parent


def _hears(call: Call, session: Session) -> bool:
    audience = session.get("transport")
    return call.peer is not None and audience is not None and audience.has(call.peer)
