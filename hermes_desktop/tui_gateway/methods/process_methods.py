"""Methods for background processes and for usage figures of the last days."""

import logging
from datetime import datetime
from typing import Any

from hermes_desktop.agent.tools.processes.process_messages import ended_words
from hermes_desktop.agent.tools.processes.process_table import ProcessInfo, ProcessTable
from hermes_desktop.core.errors import HermesError
from hermes_desktop.state.maintenance.insights import Used, insights
from hermes_desktop.tui_gateway import agents, live_sessions
from hermes_desktop.tui_gateway.protocol import Code, RpcError, in_protocol
from hermes_desktop.tui_gateway.serving_state import Call, Server
from hermes_desktop.tui_gateway.turns import claim, release, run_prompts

log = logging.getLogger(__name__)

_PREVIEW, _TAIL = 200, 2000
_MOST_DAYS = 3650


def process_list(call: Call) -> dict[str, Any]:
    """Handle ``process.list``: the processes of a session, or of all."""
    table = _table(call)
    if table is None:
        return {"processes": []}
    key = call.session()[1]["session_key"] if call.params.has("session_id") else None
    now = call.server.program.clock.time()
    return {"processes": [_told(each, table, now) for each in table.listed(key)]}


def process_stop(call: Call) -> dict[str, Any]:
    """Handle ``process.stop``: end all processes of a session, or all."""
    table = _table(call)
    key = call.session()[1]["session_key"] if call.params.has("session_id") else None
    return {"killed": 0 if table is None else table.kill_all(key)}


def process_kill(call: Call) -> dict[str, Any]:
    """Handle ``process.kill``: end the process named by ``process_id``."""
    table, name = _table(call), call.params.text("process_id")
    info = table.find(name) if table is not None else None
    if info is None or table is None:
        raise RpcError(Code.BAD_VALUE, f"no process with the id {name[:40]}")
    killed = table.kill(name)
    return {"killed": killed, "process_id": name}


def figures(call: Call) -> dict[str, Any]:
    """Handle ``insights.get``."""
    asked = call.params.optional_number("days")
    days = 30 if asked is None else asked
    if not 1 <= days <= _MOST_DAYS:
        raise RpcError(Code.BAD_VALUE, f"days must be between 1 and {_MOST_DAYS}")
    db = call.server.db()
    if db is None:
        raise RpcError(Code.HOST, "there is no history here")
    try:
        found = insights(db, days, now=call.server.program.clock.time())
    except HermesError as error:
        raise in_protocol(error, Code.GENERIC) from error
    total = found.total
    return {
        "days": days,
        "sessions": total.sessions,
        "messages": total.messages,
        "user_messages": found.user_messages,
        "tool_calls": total.tool_calls,
        "input_tokens": total.input_tokens,
        "output_tokens": total.output_tokens,
        "total_tokens": total.tokens,
        "side_tokens": found.side_tokens,
        "cost_usd": _cost(total),
        "unpriced_sessions": total.unpriced,
        "models": [_used(each) for each in found.models],
        "platforms": [_used(each) for each in found.platforms],
        "tools": [{"name": name, "calls": calls} for name, calls in found.tools],
        "by_day": [_used(each) for each in found.days],
    }


def follow(server: Server) -> None:
    """Notify live sessions when their background processes end."""
    table = server.program.facts.processes
    if table is not None:
        table.on_end(lambda info: _tell_end(server, info, table))


def _tell_end(server: Server, info: ProcessInfo, table: ProcessTable) -> None:
    """Report the end of a process to its session, as a prompt. On the process's own thread."""
    if not info.notify or info.state == "killed" or server.state.program is None:
        return
    found = live_sessions.with_key(server.state, info.session_key)
    if found is None:
        return
    sid, session = found
    words = ended_words(info, table.output(info.id, None, _TAIL).text)
    if not claim(session):
        with session["history_lock"]:
            if session["running"] and not session.get("_closing"):
                session.setdefault("queued_prompt", []).append(words)
        return
    try:
        agents.ensure_agent(server, session)
    except RpcError:
        log.warning("The end of %s cannot be reported", info.id, exc_info=True)
        release(server, sid, session)
        return
    server.start_thread(lambda: run_prompts(server, sid, session, words))


def _used(used: Used) -> dict[str, Any]:
    return {
        "name": used.name,
        "sessions": used.sessions,
        "messages": used.messages,
        "tokens": used.tokens,
        "cost_usd": _cost(used),
        "unpriced_sessions": used.unpriced,
    }


def _cost(used: Used) -> float | None:
    """Return the cost; an unknown one is null, never 0."""
    return None if used.unpriced and not used.cost_usd else used.cost_usd


def _table(call: Call) -> ProcessTable | None:
    return call.server.program.facts.processes


def _told(info: ProcessInfo, table: ProcessTable, now: float) -> dict[str, Any]:
    ended = info.ended_at if info.ended_at is not None else now
    told: dict[str, Any] = {
        "session_id": info.id,
        "command": info.command,
        "cwd": info.cwd,
        "pid": info.pid,
        "started_at": datetime.fromtimestamp(info.started_at).isoformat(timespec="seconds"),  # noqa: DTZ006 - local
        "uptime_seconds": max(0, int(ended - info.started_at)),
        "status": {"running": "running", "lost": "lost"}.get(info.state, "exited"),
        "output_preview": table.output(info.id, None, _PREVIEW).text,
        "output_tail": table.output(info.id, None, _TAIL).text,
        "notify_on_complete": info.notify,
    }
    return told if info.state == "running" else {**told, "exit_code": info.code}
