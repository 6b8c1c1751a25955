"""Approvals and questions of agents, shown and answered in the chat they came from."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from hermes_desktop.agent.tools.asking.request_queue import Attendant, RequestQueue
from hermes_desktop.commands.approval_commands import resolve
from hermes_desktop.commands.context import Sender
from hermes_desktop.commands.parsing import parse_command
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.user_requests import ApprovalChoice, RequestKind, UserAnswer, UserRequest
from hermes_desktop.gateway.access.authorization import command_access
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.platforms.messages import Question
from hermes_desktop.gateway.session import SessionSource

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner

_MOST_SHOWN = 1500
_YES = frozenset({"approve", "yes", "ok", "okay", "confirm", "y", "👍", "once"})
_NO = frozenset({"deny", "no", "reject", "cancel", "n", "👎"})


@dataclass(frozen=True, slots=True)
class RequestTexts:
    """How requests of one kind are shown in a chat.

    Attributes:
        asks: Returns the text that presents a request, given the request and the command prefix
            there.
        buttons: Returns label and value of each answer that a platform may show as a button.
        too_late: The text for the end of a request without an answer in time.
        answered: Returns the words for an answer that was given elsewhere.
    """

    asks: Callable[[UserRequest, str], str]
    buttons: Callable[[UserRequest], tuple[tuple[str, str], ...]]
    too_late: str
    answered: Callable[[str], str]


class ChatRequestPresenter:
    """Presenter of a queue's requests of one kind in the chats of one runner.

    Args:
        runner: The runner of these chats.
        queue: The queue in which agents wait.
        kind: The kind of requests that it presents.
        texts: How they are shown.
    """

    def __init__(
        self, runner: "GatewayRunner", queue: RequestQueue, kind: RequestKind, texts: RequestTexts
    ) -> None:
        self._runner = runner
        self._queue = queue
        self._kind = kind
        self._texts = texts
        self._leave: Callable[[], None] = lambda: None

    def open(self) -> None:
        """Start presenting requests, on the running loop, until :meth:`close`."""
        loop = asyncio.get_running_loop()

        def later(call: Callable[..., object], *arguments: Any) -> None:
            # The loop is gone; the request times out.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(call, *arguments)

        def asked(request: UserRequest) -> None:
            later(self._ask, request)

        def settled(request: UserRequest, answer: UserAnswer) -> None:
            if self._presents(request):
                later(self._say, request, lambda platform, _: self._over(answer, platform))

        self._leave = self._queue.attend(Attendant(self._serves, asked, settled))

    def close(self) -> None:
        """Stop presenting; requests that only a chat could answer end now."""
        self._leave()

    def _serves(self, request: UserRequest) -> bool:
        if not self._presents(request):
            return False
        source = self._runner.parts.control.turn_source(request.session_key)
        return source is not None and source.platform is not Platform.DESKTOP

    def _presents(self, request: UserRequest) -> bool:
        """Return whether chats can answer a request of this kind."""
        return request.kind == self._kind

    def waits_for_button(self, question_id: str, session_key: str) -> bool:
        """Return whether a pressed button belongs to the first pending request of a chat."""
        waiting = self._queue.pending(session_key, self._kind)
        return bool(waiting) and waiting[0].id == question_id

    def _ask(self, request: UserRequest) -> None:
        source = self._runner.parts.control.turn_source(request.session_key)
        adapter = self._runner.adapters.get(source.platform) if source is not None else None
        choices = self._texts.buttons(request)
        if source is None or adapter is None or not choices or not adapter.has_buttons:
            self._say(request, lambda _platform, prefix: self._texts.asks(request, prefix))
            return
        words = self._texts.asks(request, adapter.typed_command_prefix)
        self._runner.parts.replies.ask_soon(adapter, source, Question(request.id, words, choices))

    def _say(self, request: UserRequest, words: Callable[[str, str], str]) -> None:
        source = self._runner.parts.control.turn_source(request.session_key)
        adapter = self._runner.adapters.get(source.platform) if source is not None else None
        if source is None or adapter is None or source.platform is Platform.DESKTOP:
            return
        text = words(source.platform.value, adapter.typed_command_prefix)
        if text:
            self._runner.parts.replies.say_soon(adapter, source, text)

    def _over(self, answer: UserAnswer, platform: str) -> str:
        """Return the text for the end of a request on a platform; "" for none."""
        if answer.reason == "timeout":
            return self._texts.too_late
        if answer.reason != "answered" or answer.by in {"", platform}:
            return ""
        where = {"window": "in the window", "terminal": "at the terminal"}
        at = where.get(answer.by, f"elsewhere ({answer.by})")
        return f"Answered {at}: {self._texts.answered(answer.text)}"


# Approvals


def choice_of(text: str) -> ApprovalChoice | None:
    """Return the choice that a plain word stands for; None for any other message."""
    word = text.strip().strip(".!").lower()
    if word in _YES:
        return "once"
    if word in _NO:
        return "deny"
    return {"session": "session", "always": "always"}.get(word)  # type: ignore[return-value]


def question(request: UserRequest, seconds: float, prefix: str) -> str:
    """Return the text of an approval request for a chat."""
    what, why = request.text, " ".join(request.why)
    left_out = len(what) - _MOST_SHOWN
    if left_out > 0:  # the end matters as much as the beginning
        what = f"{what[: _MOST_SHOWN // 2]}\n…\n{what[-_MOST_SHOWN // 2 :]}"
        why += (
            f"{left_out} characters in the middle are not shown here; the window shows everything."
        )
    words = (
        "yes, session or no" if "always" not in request.choices else "yes, session, always or no"
    )
    asked, where = request.headline or "May I do this?", f"In {request.where}. "
    if request.subject != "action":
        where = ""
    return (
        f"{asked}\n```\n{what.replace('```', '` ` `')}\n```\n{where}{why}\n"
        f"Answer {words}, or {prefix}approve and {prefix}deny. Without an answer within "
        f"{seconds:.0f} seconds it is not done."
    )


class ChatApprovals(ChatRequestPresenter):
    """Approval requests in the chats of one runner.

    Args:
        runner: The runner of these chats.
        queue: The queue in which agents wait.
    """

    def __init__(self, runner: "GatewayRunner", queue: RequestQueue) -> None:
        texts = RequestTexts(
            self._words, _approval_buttons, "No answer in time: denied.", _approval_words
        )
        super().__init__(runner, queue, "approval", texts)

    @override
    def _presents(self, request: UserRequest) -> bool:
        return super()._presents(request) and len(_approval_buttons(request)) > 1

    def _words(self, request: UserRequest, prefix: str) -> str:
        seconds = request.expires_at - self._runner.state.clock.time()
        return question(request, max(1.0, seconds), prefix)

    def answer(self, text: str, source: SessionSource, session_key: str) -> str | None:
        """Treat a plain word as the answer to a pending request; None for other messages."""
        choice = choice_of(text)
        if choice is None or not self._queue.pending(session_key, "approval"):
            return None
        access = command_access(source, self._runner.config)
        sender = Sender(
            platform=source.platform.value,
            chat_id=source.chat_id,
            chat_type=source.chat_type,
            user_id=source.user_id,
            session_key=session_key,
            in_window=source.platform is Platform.DESKTOP,
            restricted=access.limited,
            is_admin=access.is_admin,
        )
        try:
            return resolve(self._queue, sender, choice, everything=False)
        except HermesError as error:
            return str(error)


_LABELS: dict[str, str] = {
    "once": "Yes, once",
    "session": "Yes, in this session",
    "always": "Always",
    "deny": "No",
}
_ACCESS_LABELS: dict[str, str] = {
    "once": "For the next command",
    "session": "For this session",
    "deny": "No",
}


def _approval_buttons(request: UserRequest) -> tuple[tuple[str, str], ...]:
    """Return the answers of a chat, where others may write: none leaves the sandbox."""
    labels = _LABELS
    if request.subject != "action":
        labels = {**_ACCESS_LABELS, "always": f"Always for this {request.subject}"}
    return tuple((labels[each], each) for each in request.choices if each in labels)


def _approval_words(answer: str) -> str:
    done = {
        "once": "allowed once",
        "session": "allowed in this session",
        "outside": "allowed once, outside the sandbox",
        "deny": "denied",
    }
    return f"{done.get(answer, 'always allowed')}."


# Questions


def question_text(question: UserRequest, prefix: str) -> str:
    """Return the text of a question for a chat."""
    lines = [question.text]
    lines += [f"{number}. {choice}" for number, choice in enumerate(question.choices, 1)]
    how = "with a number, or in your own words" if question.choices else "with your next message"
    return "\n".join([*lines, "", f"Answer {how}; to stop me, send {prefix}stop."])


class ChatQuestions(ChatRequestPresenter):
    """Questions in the chats of one runner. The answer is the next message of the same sender.

    Args:
        runner: The runner of these chats.
        queue: The queue in which agents wait.
    """

    def __init__(self, runner: "GatewayRunner", queue: RequestQueue) -> None:
        super().__init__(runner, queue, "question", _QUESTIONS)

    def answer(self, event: MessageEvent, session_key: str) -> bool:
        """Treat a message as the answer to a pending question; False when it is not one.

        Not answers are: commands, so that ``/stop`` still ends the turn; messages from another
        sender in the same chat; and messages with files, of which only the text would be used.
        """
        waiting, source = self._queue.pending(session_key, "question"), event.source
        if not waiting or source is None or not event.text.strip() or event.has_files():
            return False
        question = waiting[0]
        if question.user_id and question.user_id != (source.user_id or ""):
            return False
        adapter = self._runner.adapters.get(source.platform)
        prefix = adapter.typed_command_prefix if adapter is not None else "/"
        if parse_command(event.text, prefix) is not None:
            return False
        return self._queue.answer(question.id, event.text, by=source.platform.value)


def _question_buttons(question: UserRequest) -> tuple[tuple[str, str], ...]:
    return tuple((choice, str(number)) for number, choice in enumerate(question.choices, 1))


_QUESTIONS = RequestTexts(
    question_text,
    _question_buttons,
    too_late="No answer in time; I will continue without one.",
    answered=lambda text: text or "skipped",
)
