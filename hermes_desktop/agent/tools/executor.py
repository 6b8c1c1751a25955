"""Execution of tool calls: each on a daemon thread, results in the order of calls."""

import json
import logging
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.agent.tools.arguments import read_arguments
from hermes_desktop.agent.tools.asking.approvals import ApprovalGate
from hermes_desktop.agent.tools.asking.request_queue import WaitMeter, measured_by
from hermes_desktop.agent.tools.base import (
    STOPPED,
    Answer,
    Arguments,
    Tool,
    ToolContext,
    ToolError,
    ToolSetup,
)
from hermes_desktop.agent.turns.tool_rounds import ToolResult, ToolTurn
from hermes_desktop.agent.types import ToolCall, ToolProgress
from hermes_desktop.core.concurrency.time_bound import PendingCall, call_within
from hermes_desktop.state.records.content_codec import clean_text

log = logging.getLogger(__name__)

AT_ONCE = 8
MOST_CHARACTERS = 120_000
"""How much of one result the model receives."""
_SUBJECT = 120
_AFTER = ("post_tool_call", "transform_tool_result")
_MOST_SESSIONS = 64
NOT_BEGUN = "The user stopped the turn before this began."


@dataclass(slots=True)
class _RunningCall:
    """A running call.

    Attributes:
        waits: How long it waited for the user, which is not part of its duration.
    """

    call: ToolCall
    tool: Tool | None = None
    arguments: Arguments = field(default_factory=dict)
    error: str = ""
    subject: str = ""
    began: float = 0.0
    waits: WaitMeter = field(default_factory=WaitMeter)
    pending: "PendingCall[Answer] | None" = None


class ToolBox:
    """The tools of one agent; see :class:`~hermes_desktop.agent.turns.tool_rounds.Tools`.

    Args:
        tools: The tools that may be called.
        setup: Their environment.
        gate: Decides on possibly harmful actions.
        prompt: Their part of the system prompt of a new session.
    """

    def __init__(
        self, tools: Sequence[Tool], setup: ToolSetup, gate: ApprovalGate, prompt: str = ""
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._definitions = tuple(tool.definition() for tool in tools)
        self._setup = setup
        self._gate = gate
        self._prompt = prompt
        self._notes: dict[str, dict[str, Any]] = {}

    @property
    def folder(self) -> Path:
        """The default working folder of the tools."""
        return self._setup.cwd

    @property
    def told_folder(self) -> str:
        """The folder named to the model; "" if no tool works in it, or none was chosen."""
        folder = self._setup.folder
        works = any(each.toolset in {"file", "terminal"} for each in self._tools.values())
        return str(self._setup.cwd) if works and not (folder and folder.unconfirmed) else ""

    def definitions(self) -> tuple[Mapping[str, Any], ...]:
        """Return the tools in the format of the API."""
        return self._definitions

    def prompt_part(self) -> str:
        """Return their part of the system prompt of a new session."""
        return self._prompt

    def close(self) -> None:
        """Do nothing: nothing outlives a turn."""

    def run(self, calls: Sequence[ToolCall], turn: ToolTurn) -> list[ToolResult]:
        """Run the calls: adjacent read-only calls concurrently, all others one by one."""
        results: list[ToolResult] = []
        for parallel, group in groupby(calls, key=self._is_parallel):
            batch = list(group)
            width = AT_ONCE if parallel else 1
            for at in range(0, len(batch), width):
                begun = [self._begin(call, turn) for call in batch[at : at + width]]
                results += [self._result(each, turn) for each in begun]
        return results

    def _is_parallel(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.parallel

    def _begin(self, call: ToolCall, turn: ToolTurn) -> _RunningCall:
        begun = _RunningCall(call, self._tools.get(call.name), began=time.monotonic())
        begun.error = self._prepare(begun, turn)
        _tell(turn, ToolProgress(call.id, call.name, begun.subject, step=turn.step))
        tool, arguments = begun.tool, begun.arguments
        if not begun.error and tool is not None:
            undo = turn.undo
            context = ToolContext(
                self._setup, self._gate, turn.session_id, turn.cancel, self._notes_of(turn), undo
            )

            def do() -> Answer:
                why = _blocked(tool, begun, turn)
                if why:
                    return {"error": why}
                self._setup.require_folder(tool)
                with measured_by(begun.waits), undo.working() if undo else nullcontext():
                    return tool.run(arguments, context)

            begun.pending = PendingCall(do, f"tool {tool.name}")
        return begun

    def _prepare(self, begun: _RunningCall, turn: ToolTurn) -> str:
        """Return why a call is not run, "" when it is."""
        tool = begun.tool
        if turn.cancel.is_set():
            return NOT_BEGUN
        if turn.cut_off:
            return "The answer was cut off before it was complete; none of it was done. Be shorter."
        if tool is None:
            known = ", ".join(self._tools)
            return f"There is no tool {begun.call.name[:60]!r}. There are: {known}."
        try:
            begun.arguments = read_arguments(tool, begun.call.arguments)
        except ToolError as error:
            return str(error)
        except Exception:  # our own bug; the call is answered anyway
            log.exception("The arguments of %s could not be read", tool.name)
            return "The arguments could not be read."
        subject = str(begun.arguments.get(tool.subject, ""))
        begun.subject = self._setup.clean(" ".join(subject.split()))[:_SUBJECT]
        return ""

    def _result(self, begun: _RunningCall, turn: ToolTurn) -> ToolResult:
        answer: Answer = {"error": begun.error}
        if begun.pending is not None:
            answer = self._await(begun, begun.pending, turn)
        name = begun.call.name
        seconds = max(time.monotonic() - begun.began - begun.waits.seconds, 0.0)
        ok = not answer.get("error")
        well = ok and not answer.get("exit_code")  # a command that failed did run
        text = self._text(answer)
        news = ToolProgress(begun.call.id, name, begun.subject, well, seconds, turn.step)
        _tell(turn, replace(news, arguments=self._shown(begun.arguments), result=text))
        known = begun.tool.name if begun.tool is not None else "(unknown)"
        log.info("Tool %s: %s in %.1f s", known, "done" if ok else "not done", seconds)
        told = _changed(begun, text, turn, seconds, ok=ok)
        return ToolResult(begun.call.id, name, told, made_sense=not begun.error)

    def _await(self, begun: _RunningCall, pending: "PendingCall[Answer]", turn: ToolTurn) -> Answer:
        try:
            return pending.result(math.inf, turn.cancel.is_set)
        except TimeoutError as error:
            if turn.cancel.is_set():
                return {"error": STOPPED}
            return {"error": f"It took too long ({error})."}
        except ToolError as error:
            return {"error": str(error)}
        except OSError as error:
            return {"error": error.strerror or str(error) or type(error).__name__}
        except Exception as error:
            log.exception("The tool %s failed", begun.call.name)
            return {"error": f"The tool failed ({type(error).__name__})."}

    def _text(self, answer: Answer) -> str:
        cleaned = _cleaned(answer, self._setup.clean)
        text = clean_text(json.dumps(cleaned, ensure_ascii=False))
        if len(text) <= MOST_CHARACTERS:
            return text
        cut = json.dumps({"cut": True, "output": text[:MOST_CHARACTERS]}, ensure_ascii=False)
        return clean_text(cut)

    def _shown(self, arguments: Arguments) -> Mapping[str, Any]:
        """Return the arguments for display."""
        cleaned: Mapping[str, Any] = _cleaned(arguments, self._setup.clean)
        return cleaned

    def _notes_of(self, turn: ToolTurn) -> dict[str, Any]:
        if turn.session_id not in self._notes and len(self._notes) >= _MOST_SESSIONS:
            self._notes.pop(next(iter(self._notes)))
        return self._notes.setdefault(turn.session_id, {})


def _cleaned(value: Any, clean: Any) -> Any:
    """Return the value with secrets removed from every text, before JSON escapes hide them."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {str(name): _cleaned(each, clean) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(each, clean) for each in value]
    return value


def _tell(turn: ToolTurn, news: ToolProgress) -> None:
    if turn.listener is None:
        return
    try:
        turn.listener(news)
    except Exception:
        log.exception("A listener to tools failed")


# Plugin hooks


def _facts(tool_name: str, begun: _RunningCall, turn: ToolTurn) -> dict[str, Any]:
    return {
        "tool_name": tool_name,
        "args": dict(begun.arguments),
        "task_id": turn.task_id,
        "session_id": turn.session_id,
        "tool_call_id": begun.call.id,
        "turn_id": turn.task_id,
    }


def _blocked(tool: Tool, begun: _RunningCall, turn: ToolTurn) -> str:
    """Return why a plugin blocks the call, "" when none does. A failing plugin does not decide."""
    if not plugins.has_callbacks("pre_tool_call"):
        return ""
    try:
        answers = plugins.invoke_hook("pre_tool_call", **_facts(tool.name, begun, turn))
    except Exception:  # the registry guards each callback; this is our own bug
        log.exception("Plugins could not be asked about a tool")
        return "The plugins that decide on this could not be asked."
    for answer in answers:
        if isinstance(answer, Mapping) and answer.get("action") == "block":
            return str(answer.get("message") or "A plugin refused this.")
    return ""


def _changed(begun: _RunningCall, text: str, turn: ToolTurn, seconds: float, *, ok: bool) -> str:
    """Notify plugins of a result, which they may replace."""
    facts = _facts(begun.call.name, begun, turn) | {
        "result": text,
        "duration_ms": int(seconds * 1000),
        "status": "ok" if ok else "error",
    }
    listened = [name for name in _AFTER if plugins.has_callbacks(name)]
    if not listened:
        return text

    def tell() -> str:
        answers = [plugins.invoke_hook(name, **facts) for name in listened][-1]
        if listened[-1] != "transform_tool_result":
            return text
        return next((clean_text(each) for each in answers if isinstance(each, str) and each), text)

    try:
        return call_within(math.inf, tell, name="tool-hooks", given_up=turn.cancel.is_set)
    except TimeoutError:
        log.info("The turn was stopped; plugins are not waited for")
    except Exception:
        log.exception("Plugins could not be notified of a tool")
    return text
