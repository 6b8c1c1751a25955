"""Asks a person at a terminal before something that may do harm is done."""

import asyncio
import contextlib
import os
import sys
from collections import deque

from hermes_desktop.cli import output
from hermes_desktop.core.events import (
    ApprovalChoice,
    ApprovalRequested,
    ApprovalResolved,
    ToolFinished,
)
from hermes_desktop.services.desktop_services import DesktopServices

_ANSWERS: dict[str, ApprovalChoice] = {
    **dict.fromkeys(("o", "once", "y", "yes"), "once"),
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("a", "always"), "always"),
}
_MOST_LINE = 4096


class ApprovalPrompt:
    """Shows one question after the other and reads the answers, on the loop.

    Where nobody can answer – no terminal – nothing is asked, and what would need an answer is
    not done.
    """

    def __init__(self, services: DesktopServices) -> None:
        self._services = services
        self._waiting: deque[ApprovalRequested] = deque()
        self._shown: ApprovalRequested | None = None
        self._reading = False

    def open(self) -> None:
        """Begin, if there is a person to ask."""
        bus = self._services.bus
        if output.is_error_terminal():
            bus.subscribe(ToolFinished, _tell_tool)
        if os.name == "posix" and output.is_input_terminal() and output.is_error_terminal():
            bus.subscribe(ApprovalRequested, self._ask)
            bus.subscribe(ApprovalResolved, self._settle)
            self._services.approvals.open()

    def close(self) -> None:
        """Ask no more."""
        self._services.approvals.close()
        self._stop_reading()

    def _ask(self, request: ApprovalRequested) -> None:
        self._waiting.append(request)
        self._show_next()

    def _show_next(self) -> None:
        if self._shown is not None or not self._waiting:
            return
        request = self._shown = self._waiting.popleft()
        why = " ".join(request.why)
        output.say(f"\nMay this be done?  ({request.tool}, in {request.where})")
        output.say("    " + request.what.replace("\n", "\n    "))
        output.say(why)
        always = ", a = always" if "always" in request.choices else ""
        output.ask(f"[D = deny, o = once, s = this session{always}] ")
        if not self._reading:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)
            self._reading = True

    def _read(self) -> None:
        try:
            line = os.read(sys.stdin.fileno(), _MOST_LINE)
        except OSError:
            line = b""
        request = self._shown
        if request is None:
            return
        word = line.decode("utf-8", "replace").strip().lower()
        choice = _ANSWERS.get(word, "deny")
        if choice not in request.choices:
            choice = "deny"
        if not line:  # end of input: nobody is there any more
            self._services.approvals.close()
        self._services.approvals.answer(request.request_id, choice)
        self._stop_reading()

    def _settle(self, event: ApprovalResolved) -> None:
        self._waiting = deque(each for each in self._waiting if each.request_id != event.request_id)
        if self._shown is None or self._shown.request_id != event.request_id:
            return
        self._shown = None
        if event.reason == "timeout":
            output.say("\nNobody answered in time; it is not done.")
        elif event.reason == "answered" and event.choice == "deny":
            output.say("Denied.")
        self._stop_reading()
        self._show_next()

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            with contextlib.suppress(OSError, ValueError):
                asyncio.get_running_loop().remove_reader(sys.stdin.fileno())


def _tell_tool(event: ToolFinished) -> None:
    mark = "✓" if event.ok else "✗"
    output.say(f"▸ {event.name}  {event.subject}  {event.seconds:.1f} s  {mark}")
