"""``terminal``: one command in a shell, in the foreground until it ends, or in the background."""

import shutil
import signal
from pathlib import Path
from typing import Any

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.sandbox.hints import ungrantable_need
from hermes_desktop.agent.sandbox.sandbox import Plan
from hermes_desktop.agent.tools.asking.ask_access import what_it_lacked
from hermes_desktop.agent.tools.base import (
    STOPPED,
    Answer,
    Arguments,
    Tool,
    ToolContext,
    ToolError,
)
from hermes_desktop.agent.tools.files.file_access import resolve
from hermes_desktop.agent.tools.processes.processes import start_in_background
from hermes_desktop.core.processes.child_process import run_bounded
from hermes_desktop.core.text.escape_sequences import plain_output

LONGEST_S = 600
MOST_OUTPUT = 50_000
_HEAD = 10_000
_DECLINED = "stays inside"
_LEFT = (
    "It failed in the sandbox, and the user chose to run it once outside. This is its output "
    "there. Other commands still run inside."
)
_STAYS = (
    "Only the user can have it run outside, and has not chosen that. Do not try it in another "
    "way; tell the user what to run."
)


def _run(arguments: Arguments, context: ToolContext) -> Answer:
    command, setup = arguments["command"], context.setup
    if not command.strip():
        raise ToolError("The command is empty.")
    folder = _folder(arguments, context)
    plan = setup.sandbox.plan(context.session_id, folder, context.cancel)
    told = _placed(command, folder, context)
    gate, session_id, cancel = context.gate, context.session_id, context.cancel
    if gate.command(told, session_id, cancel, plan.hold, may_leave=True):
        plan = plan.outside()
    context.before_command()
    shell = shutil.which("bash", path=setup.environ.get("PATH")) or "/bin/sh"
    if arguments.get("background"):
        notify = bool(arguments.get("notify_on_complete"))
        return start_in_background(command, shell, plan, context, notify=notify)
    timeout = float(arguments.get("timeout", min(setup.terminal_timeout_s, LONGEST_S)))
    answer = _wait(command, shell, plan, timeout, context)
    lacks = ungrantable_need(answer["output"]) if _failed_inside(answer, plan) else ""
    if not lacks:
        return answer
    # A user who has declined is not asked again in the same turn.
    declined = context.notes.get(_DECLINED) is cancel
    if not declined and gate.outside(told, lacks, session_id, cancel):
        again = _wait(command, shell, plan.outside(), timeout, context)
        return {**again, "note": _LEFT}
    context.notes[_DECLINED] = cancel
    return {**answer, "note": f"It seems to need {lacks}, which the sandbox never has. {_STAYS}"}


def _failed_inside(answer: Answer, plan: Plan) -> bool:
    """Return whether a command failed in the sandbox, and not for want of a grant."""
    is_over = bool(answer["exit_code"]) and answer["error"] is None
    return is_over and plan.hold.level is not Level.NONE and "not_granted" not in answer


def _wait(command: str, shell: str, plan: Plan, timeout: float, context: ToolContext) -> Answer:
    """Run a command until it ends; return the answer for the model."""
    setup = context.setup
    environ = setup.environ if setup.processes is None else setup.processes.covered(setup.environ)
    with plan.open([shell, "-c", command], environ) as launched:
        ended = run_bounded(
            launched.argv,
            environ=launched.environ,
            cwd=launched.cwd,
            timeout_s=timeout,
            most_bytes=4 * MOST_OUTPUT,
            end_bytes=2 * MOST_OUTPUT,
            given_up=context.cancel.is_set,
            descriptors=launched.descriptors,
        )
        denied = launched.denied()
    # Half a secret, cut off here, would not be recognized as one.
    output = setup.clean(plain_output((ended.out + ended.err).decode("utf-8", "replace")))
    answer: dict[str, Any] = {
        "output": _shortened(output),
        "exit_code": ended.code,
        "error": None,
    }
    answer |= what_it_lacked(command, ended.code, output, plan, context, denied)
    if context.cancel.is_set():
        answer["error"] = STOPPED
    elif ended.timed_out:
        answer["error"] = f"It was ended after {timeout:g} s, with everything it had started."
    elif ended.cut and ended.code == -signal.SIGKILL:
        answer["error"] = "It was ended because its output was far too long. Send it to a file."
    return answer


def _folder(arguments: Arguments, context: ToolContext) -> Path:
    text = arguments.get("workdir")
    if not text:
        folder = context.setup.cwd
        if not folder.is_dir():
            raise ToolError(f"The working folder {folder} is gone. Name another one as workdir.")
        return folder
    path, _ = resolve(text, context)
    if not path.is_dir():
        raise ToolError("workdir is not a folder.")
    return path


def _placed(command: str, folder: Path, context: ToolContext) -> str:
    """Return the command to be assessed: in another folder, relative paths mean other files."""
    if folder == context.setup.cwd:
        return command
    quoted = "'" + str(folder).replace("'", "'\\''") + "'"
    return f"cd {quoted}\n{command}"


def _shortened(text: str) -> str:
    if len(text) <= MOST_OUTPUT:
        return text
    left_out = len(text) - MOST_OUTPUT
    tail = text[-(MOST_OUTPUT - _HEAD) :]
    return f"{text[:_HEAD]}\n… {left_out} characters are left out …\n{tail}"


TERMINAL = Tool(
    "terminal",
    "terminal",
    "Run a command in a shell and wait for it. Everything it starts ends with it. Each call is a "
    "new shell: folder and variables do not persist. Risky commands wait for the user's approval. "
    "What runs for long (servers, builds) needs background=true, which returns immediately with a "
    "session_id for process.",
    {
        "command": {"type": "string", "description": "For bash, or sh where there is none."},
        "timeout": {
            "type": "integer",
            "minimum": 1,
            "maximum": LONGEST_S,
            "description": "Seconds; 180 if left out.",
        },
        "background": {
            "type": "boolean",
            "description": "Keep it running in the background until the program quits.",
        },
        "notify_on_complete": {
            "type": "boolean",
            "description": "For a background process: you are notified when it ends.",
        },
        "workdir": {"type": "string", "description": "Where it runs, if not the working folder."},
    },
    _run,
    required=("command",),
    subject="command",
)
