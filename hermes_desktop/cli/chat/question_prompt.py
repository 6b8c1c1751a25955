"""Terminal prompt for the assistant's questions."""

from hermes_desktop.cli import output
from hermes_desktop.cli.chat.approval_prompt import BY, ApprovalPrompt
from hermes_desktop.cli.chat.terminal_desk import PromptQueue, is_interactive
from hermes_desktop.core.events import QuestionAnswered, QuestionAsked, ToolFinished
from hermes_desktop.services.agents.questions_queue import Questions
from hermes_desktop.services.assembly.desktop_services import DesktopServices


class _Question:
    """One question, as a terminal prompt."""

    def __init__(self, asked: QuestionAsked, questions: Questions) -> None:
        self._asked = asked
        self._questions = questions

    @property
    def request_id(self) -> str:
        return self._asked.request_id

    def show(self) -> None:
        output.say("\nThe assistant asks:")
        output.say("    " + self._asked.text.replace("\n", "\n    "))
        for number, choice in enumerate(self._asked.choices, 1):
            output.say(f"  {number}. {choice}")
        if self._asked.choices:
            output.ask("[a number, an answer of your own, or Enter to skip] ")
        else:
            output.ask("[your answer, or Enter to skip] ")

    def take(self, line: str) -> None:
        self._questions.answer(self.request_id, line, BY)

    def end_of_input(self) -> None:
        self._questions.close()  # the assistant receives "nobody is there any more"


class QuestionPrompt:
    """A subscriber that queues the assistant's questions as terminal prompts.

    Args:
        services: The program.
        desk: The queue of terminal prompts of all kinds.
    """

    def __init__(self, services: DesktopServices, desk: PromptQueue) -> None:
        self._questions = services.questions
        self._bus = services.bus
        self._desk = desk

    def open(self) -> None:
        """Start showing questions."""
        self._bus.subscribe(QuestionAsked, self._ask)
        self._bus.subscribe(QuestionAnswered, self._settle)
        self._questions.open()

    def close(self) -> None:
        """Stop showing questions."""
        self._questions.close()

    def _ask(self, asked: QuestionAsked) -> None:
        self._desk.add(_Question(asked, self._questions))

    def _settle(self, event: QuestionAnswered) -> None:
        if self._desk.is_shown(event.request_id):
            if event.reason == "timeout":
                output.say("\nNobody answered in time; the assistant goes on without an answer.")
            elif event.reason == "answered" and event.by != BY:
                output.say(f"\nAnswered elsewhere ({event.by or 'unknown'}).")
            elif event.reason == "answered" and not event.text:
                output.say("Skipped.")
        self._desk.settled(event.request_id)


class TerminalPrompts:
    """All prompts at a terminal during a turn, on the loop.

    Without a terminal nothing is shown: actions that need approval are not done, and the assistant
    is informed immediately that the user cannot be asked.
    """

    def __init__(self, services: DesktopServices) -> None:
        self._bus = services.bus
        self._desk = PromptQueue()
        self._approvals = ApprovalPrompt(services, self._desk)
        self._questions = QuestionPrompt(services, self._desk)

    def open(self) -> None:
        """Start showing prompts, if there is a terminal to show them on."""
        if output.is_error_terminal():
            self._bus.subscribe(ToolFinished, _tell_tool)
        if is_interactive():
            self._approvals.open()
            self._questions.open()

    def close(self) -> None:
        """Stop showing prompts."""
        self._approvals.close()
        self._questions.close()
        self._desk.close()


def _tell_tool(event: ToolFinished) -> None:
    mark = "✓" if event.ok else "✗"
    output.say(f"▸ {event.name}  {event.subject}  {event.seconds:.1f} s  {mark}")
