"""Prompts at a terminal while a reply is written: approvals and questions, one after the other."""

import asyncio
import contextlib
import os
import sys
from collections import deque
from typing import Protocol

from hermes_desktop.cli import output
from hermes_desktop.core.events import ToolFinished
from hermes_desktop.core.user_requests import (
    OUTSIDE_MEANS,
    ApprovalChoice,
    RequestPending,
    RequestResolved,
    UserAnswer,
    UserRequest,
)
from hermes_desktop.services.agents.user_requests import UserRequests
from hermes_desktop.services.assembly.desktop_services import DesktopServices

_ANSWERS: dict[str, ApprovalChoice] = {
    **dict.fromkeys(("o", "once", "y", "yes"), "once"),
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("a", "always"), "always"),
    "outside": "outside",  # typed in full, so that no slip leaves the sandbox
}
BY = "terminal"
_MOST_LINE = 16_384


class TerminalPrompt(Protocol):
    """One prompt."""

    @property
    def request_id(self) -> str:
        """The identifier of the request."""
        ...

    def show(self) -> None:
        """Write the prompt to the terminal."""
        ...

    def take(self, line: str) -> None:
        """Process a typed line as the answer."""
        ...

    def end_of_input(self) -> None:
        """Process the end of input."""
        ...

    def settled(self, answer: UserAnswer) -> None:
        """Report how the request was settled, if that is not obvious."""
        ...


def is_interactive() -> bool:
    """Return whether questions can be seen and answered at a terminal."""
    return os.name == "posix" and output.is_input_terminal() and output.is_error_terminal()


def _discard_typeahead() -> None:
    """Discard input typed before the question was shown, because it is not an answer to it."""
    if sys.platform == "win32":
        return
    import termios

    with contextlib.suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


class PromptQueue:
    """The queue that shows prompts and reads the answers, on the loop."""

    def __init__(self) -> None:
        self._waiting: deque[TerminalPrompt] = deque()
        self._shown: TerminalPrompt | None = None
        self._reading = False

    def add(self, prompt: TerminalPrompt) -> None:
        """Queue a prompt behind the earlier ones."""
        self._waiting.append(prompt)
        self._show_next()

    def settled(self, request_id: str, answer: UserAnswer) -> None:
        """Remove a prompt that needs no answer any more, whatever its outcome."""
        self._waiting = deque(each for each in self._waiting if each.request_id != request_id)
        if self._shown is not None and self._shown.request_id == request_id:
            self._shown.settled(answer)
            self._shown = None
            self._stop_reading()
            self._show_next()

    def close(self) -> None:
        """Discard all prompts and stop reading."""
        self._waiting.clear()
        self._shown = None
        self._stop_reading()

    def _show_next(self) -> None:
        if self._shown is not None or not self._waiting:
            return
        self._shown = self._waiting.popleft()
        _discard_typeahead()
        self._shown.show()
        if not self._reading:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)
            self._reading = True

    def _read(self) -> None:
        try:
            line = os.read(sys.stdin.fileno(), _MOST_LINE)
        except OSError:
            line = b""
        prompt = self._shown
        self._stop_reading()
        if prompt is None:
            return
        if line:
            prompt.take(line.decode("utf-8", "replace").strip())
        else:
            prompt.end_of_input()

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            with contextlib.suppress(OSError, ValueError):
                asyncio.get_running_loop().remove_reader(sys.stdin.fileno())


class _Approval:
    """One approval request, as a terminal prompt."""

    def __init__(self, request: UserRequest, requests: UserRequests) -> None:
        self._request = request
        self._requests = requests

    @property
    def request_id(self) -> str:
        return self._request.id

    def show(self) -> None:
        request = self._request
        is_action = request.subject == "action"
        asked = f"Allow this?  ({request.tool}, in {request.where})"
        output.say(f"\n{request.headline or asked}")
        output.say("    " + request.text.replace("\n", "\n    "))
        output.say((" " if is_action else "\n").join(request.why))
        if "outside" in request.choices:
            output.say(OUTSIDE_MEANS)
        once = "once" if is_action else "once, for the next command"
        always = "always" if is_action else f"always for this {request.subject}"
        offered = {
            "once": f"o = {once}",
            "session": "s = this session",
            "always": f"a = {always}",
            "outside": "outside = run it outside the sandbox, once",
        }
        words = [text for choice, text in offered.items() if choice in request.choices]
        output.ask(f"[{', '.join(['D = deny', *words])}] ")

    def take(self, line: str) -> None:
        choice = _ANSWERS.get(line.lower(), "deny")
        if choice not in self._request.choices:
            choice = "deny"
        self._requests.answer(self.request_id, choice, BY)

    def end_of_input(self) -> None:
        self._requests.answer(self.request_id, "deny", BY)
        self._requests.close()

    def settled(self, answer: UserAnswer) -> None:
        if answer.reason == "timeout":
            output.say("\nNo answer in time: denied.")
        elif answer.reason == "answered" and answer.by != BY:
            output.say(f"\nAnswered elsewhere ({answer.by or 'unknown'}): {answer.text}.")
        elif answer.reason == "answered" and answer.text == "deny":
            output.say("Denied.")


class _Question:
    """One question, as a terminal prompt."""

    def __init__(self, asked: UserRequest, requests: UserRequests) -> None:
        self._asked = asked
        self._requests = requests

    @property
    def request_id(self) -> str:
        return self._asked.id

    def show(self) -> None:
        output.say("\nThe assistant asks:")
        output.say("    " + self._asked.text.replace("\n", "\n    "))
        for number, choice in enumerate(self._asked.choices, 1):
            output.say(f"  {number}. {choice}")
        if self._asked.choices:
            output.ask("[a number, your own answer, or Enter to skip] ")
        else:
            output.ask("[your answer, or Enter to skip] ")

    def take(self, line: str) -> None:
        self._requests.answer(self.request_id, line, BY)

    def end_of_input(self) -> None:
        self._requests.close()  # the assistant learns that the user cannot be reached

    def settled(self, answer: UserAnswer) -> None:
        if answer.reason == "timeout":
            output.say("\nNo answer in time; the assistant continues without one.")
        elif answer.reason == "answered" and answer.by != BY:
            output.say(f"\nAnswered elsewhere ({answer.by or 'unknown'}).")
        elif answer.reason == "answered" and not answer.text:
            output.say("Skipped.")


class TerminalPrompts:
    """All prompts at a terminal during a turn, on the loop.

    Without a terminal nothing is shown: actions that need approval are not done, and the assistant
    is informed immediately that the user cannot be asked.
    """

    def __init__(self, services: DesktopServices) -> None:
        self._bus = services.bus
        self._requests = services.requests
        self._queue = PromptQueue()

    def open(self) -> None:
        """Start showing prompts, if there is a terminal to show them on."""
        if output.is_error_terminal():
            self._bus.subscribe(ToolFinished, _tell_tool)
        if is_interactive():
            self._bus.subscribe(RequestPending, self._ask)
            self._bus.subscribe(RequestResolved, self._settle)
            self._requests.open()

    def close(self) -> None:
        """Stop showing prompts."""
        self._requests.close()
        self._queue.close()

    def _ask(self, event: RequestPending) -> None:
        kind = _Approval if event.request.kind == "approval" else _Question
        self._queue.add(kind(event.request, self._requests))

    def _settle(self, event: RequestResolved) -> None:
        self._queue.settled(event.request.id, event.answer)


def _tell_tool(event: ToolFinished) -> None:
    mark = "✓" if event.ok else "✗"
    output.say(f"▸ {event.name}  {event.subject}  {event.seconds:.1f} s  {mark}")
