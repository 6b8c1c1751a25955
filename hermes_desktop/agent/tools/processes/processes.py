"""``process``: inspect, wait for, write to and end background processes."""

import shlex
import sys
from typing import Any

from hermes_desktop.agent.sandbox.sandbox import Plan
from hermes_desktop.agent.tools.asking.ask_access import what_it_lacked
from hermes_desktop.agent.tools.base import STOPPED, Answer, Arguments, Tool, ToolContext, ToolError
from hermes_desktop.agent.tools.processes.process_table import ProcessInfo, ProcessTable, Wanted
from hermes_desktop.core.errors import BusyError
from hermes_desktop.core.session_context import get_session_env

MOST_OUTPUT = 20_000
_PREVIEW = 500
_LONGEST_WAIT_S = 600
_USUAL_WAIT_S = 60
_ACTIONS = ("list", "poll", "wait", "kill", "write", "submit", "close")


def start_in_background(
    command: str, shell: str, plan: Plan, context: ToolContext, *, notify: bool
) -> Answer:
    """Start a command that the gate has approved; return the answer for the model.

    Raises:
        ToolError: It cannot be started.
    """
    table, setup = _table(context), context.setup
    wanted = Wanted(
        session_key=chat_of(context),
        session_id=context.session_id,
        argv=(shell, "-c", command),
        command=setup.clean(" ".join(command.split())),
        environ=setup.environ,
        cwd=plan.cwd,
        notify=notify,
        plan=plan,
    )
    try:
        started = table.start(wanted)
    except BusyError as error:
        raise ToolError(f"{error.title} {error.detail} {error.hint}") from error
    return {
        "output": "Background process started",
        "session_id": started.id,
        "pid": started.pid,
        "exit_code": 0,
        "error": None,
        "notify_on_complete": notify,
    }


def chat_of(context: ToolContext) -> str:
    """Return the chat that a tool works for."""
    return get_session_env("HERMES_SESSION_KEY") or context.session_id


def _table(context: ToolContext) -> ProcessTable:
    table = context.setup.processes
    if table is None or sys.platform == "win32":  # pipes cannot be polled there
        raise ToolError("Nothing can run in the background here. Run it and wait for it.")
    return table


def _process(arguments: Arguments, context: ToolContext) -> Answer:
    table, action = _table(context), arguments["action"]
    if action == "list":
        found = table.listed(chat_of(context))
        return {"processes": [_line(each, table) for each in found]}
    known = _find(arguments, context, table)
    if action == "poll":
        return _state(known, table, arguments.get("cursor"), context)
    if action == "wait":
        return _wait(known, table, arguments, context)
    if action == "kill":
        ran = table.kill(known.id)
        fresh = table.find(known.id) or known
        return {"status": fresh.state, "killed": ran, "exit_code": fresh.code}
    return _write(known, table, arguments, context)


def _find(arguments: Arguments, context: ToolContext, table: ProcessTable) -> ProcessInfo:
    wanted = arguments.get("session_id", "")
    ours = table.listed(chat_of(context))
    for each in ours:
        if each.id == wanted:
            return each
    running = ", ".join(each.id for each in ours if each.state == "running") or "none"
    raise ToolError(f"There is no process {wanted[:40]!r} here. Running: {running}.")


def _line(info: ProcessInfo, table: ProcessTable) -> dict[str, Any]:
    line = {
        "session_id": info.id,
        "command": info.command,
        "cwd": info.cwd,
        "pid": info.pid,
        "status": info.state,
        "output_preview": table.output(info.id, None, _PREVIEW).text,
    }
    return line if info.state == "running" else {**line, "exit_code": info.code}


def _state(
    info: ProcessInfo, table: ProcessTable, cursor: int | None, context: ToolContext
) -> dict[str, Any]:
    piece = table.output(info.id, cursor, MOST_OUTPUT)
    answer = {
        "session_id": info.id,
        "status": info.state,
        "exit_code": info.code,
        "output": piece.text,
        "cursor": piece.cursor,
    }
    if piece.missed:
        answer["missed_bytes"] = piece.missed
    if info.state == "ended":
        plan = table.plan(info.id)
        answer |= what_it_lacked(info.command, info.code, piece.text, plan, context)
    return answer


def _wait(
    info: ProcessInfo, table: ProcessTable, arguments: Arguments, context: ToolContext
) -> Answer:
    seconds = float(arguments.get("timeout", _USUAL_WAIT_S))
    over = table.wait(info.id, seconds, context.cancel.is_set)
    answer = _state(table.find(info.id) or info, table, arguments.get("cursor"), context)
    if context.cancel.is_set():
        return {**answer, "error": STOPPED}
    return answer if over else {**answer, "note": f"It still runs after {seconds:g} s."}


def _write(
    info: ProcessInfo, table: ProcessTable, arguments: Arguments, context: ToolContext
) -> Answer:
    action, data = arguments["action"], arguments.get("data", "")
    if action == "submit":
        data += "\n"
    if action != "close" and not data:
        raise ToolError("data is empty.")
    if data:
        # A shell that waits for input runs whatever it receives.
        told = f"printf %s {shlex.quote(data)} | (\n{info.command}\n)"
        context.gate.command(told, context.session_id, context.cancel, table.hold(info.id))
    if not table.write(info.id, data, close=action == "close"):
        raise ToolError("It does not run any more, or does not read.")
    return {"status": "ok", "written": len(data)}


PROCESS = Tool(
    "process",
    "terminal",
    "Inspect and end what terminal started with background=true: list; poll (state and output; "
    "pass the last cursor to get only new output); wait (for its end); kill (with everything it "
    "started); write, submit (with Enter) and close for its standard input.",
    {
        "action": {"type": "string", "enum": list(_ACTIONS), "description": "What."},
        "session_id": {"type": "string", "description": "As returned by terminal; not for list."},
        "cursor": {"type": "integer", "minimum": 0, "description": "For poll and wait."},
        "timeout": {
            "type": "integer",
            "minimum": 1,
            "maximum": _LONGEST_WAIT_S,
            "description": f"Seconds for wait; {_USUAL_WAIT_S} if left out.",
        },
        "data": {"type": "string", "description": "For write and submit."},
    },
    _process,
    required=("action",),
    subject="action",
    in_folder=False,
)
