"""Terminal prompt for the approval of possibly harmful actions."""

from hermes_desktop.cli import output
from hermes_desktop.cli.chat.terminal_desk import PromptQueue
from hermes_desktop.core.events import ApprovalChoice, ApprovalRequested, ApprovalResolved
from hermes_desktop.services.agents.approvals_queue import Approvals
from hermes_desktop.services.assembly.desktop_services import DesktopServices

_ANSWERS: dict[str, ApprovalChoice] = {
    **dict.fromkeys(("o", "once", "y", "yes"), "once"),
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("a", "always"), "always"),
}
BY = "terminal"


class _Approval:
    """One approval request, as a terminal prompt."""

    def __init__(self, request: ApprovalRequested, approvals: Approvals) -> None:
        self._request = request
        self._approvals = approvals

    @property
    def request_id(self) -> str:
        return self._request.request_id

    def show(self) -> None:
        request = self._request
        output.say(f"\nMay this be done?  ({request.tool}, in {request.where})")
        output.say("    " + request.what.replace("\n", "\n    "))
        output.say(" ".join(request.why))
        always = ", a = always" if "always" in request.choices else ""
        output.ask(f"[D = deny, o = once, s = this session{always}] ")

    def take(self, line: str) -> None:
        choice = _ANSWERS.get(line.lower(), "deny")
        if choice not in self._request.choices:
            choice = "deny"
        self._approvals.answer(self.request_id, choice, BY)

    def end_of_input(self) -> None:
        self._approvals.answer(self.request_id, "deny", BY)
        self._approvals.close()


class ApprovalPrompt:
    """A subscriber that queues pending approval requests as terminal prompts.

    Args:
        services: The program.
        desk: The queue of terminal prompts of all kinds.
    """

    def __init__(self, services: DesktopServices, desk: PromptQueue) -> None:
        self._approvals = services.approvals
        self._bus = services.bus
        self._desk = desk

    def open(self) -> None:
        """Start showing approval requests."""
        self._bus.subscribe(ApprovalRequested, self._ask)
        self._bus.subscribe(ApprovalResolved, self._settle)
        self._approvals.open()

    def close(self) -> None:
        """Stop showing approval requests."""
        self._approvals.close()

    def _ask(self, request: ApprovalRequested) -> None:
        self._desk.add(_Approval(request, self._approvals))

    def _settle(self, event: ApprovalResolved) -> None:
        if self._desk.is_shown(event.request_id):
            if event.reason == "timeout":
                output.say("\nNobody answered in time; it is not done.")
            elif event.reason == "answered" and event.by != BY:
                output.say(f"\nAnswered elsewhere ({event.by or 'unknown'}): {event.choice}.")
            elif event.reason == "answered" and event.choice == "deny":
                output.say("Denied.")
        self._desk.settled(event.request_id)
