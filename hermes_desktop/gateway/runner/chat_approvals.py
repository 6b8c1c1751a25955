"""Approval requests, shown and answered in the chat they came from."""

from typing import TYPE_CHECKING

from hermes_desktop.agent.tools.asking.approval_queue import (
    Answered,
    ApprovalQueue,
    ApprovalRequest,
    Choice,
)
from hermes_desktop.commands.approval_commands import resolve
from hermes_desktop.commands.context import Sender
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.access.command_access import command_access
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.runner.chat_attendant import ChatRequestPresenter, where_words
from hermes_desktop.gateway.session import SessionSource

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner

_MOST_SHOWN = 1500
_YES = frozenset({"approve", "yes", "ok", "okay", "confirm", "y", "👍", "once"})
_NO = frozenset({"deny", "no", "reject", "cancel", "n", "👎"})


def choice_of(text: str) -> Choice | None:
    """Return the choice that a plain word stands for; None for any other message."""
    word = text.strip().strip(".!").lower()
    if word in _YES:
        return "once"
    if word in _NO:
        return "deny"
    return {"session": "session", "always": "always"}.get(word)  # type: ignore[return-value]


def question(request: ApprovalRequest, seconds: float, prefix: str) -> str:
    """Return the text of an approval request for a chat."""
    what, why = request.what, " ".join(request.why)
    left_out = len(what) - _MOST_SHOWN
    if left_out > 0:  # the end matters as much as the beginning
        what = f"{what[: _MOST_SHOWN // 2]}\n…\n{what[-_MOST_SHOWN // 2 :]}"
        why += f" {left_out} characters of its middle are not shown here; the window shows all."
    words = (
        "yes, session or no" if "always" not in request.choices else "yes, session, always or no"
    )
    return (
        f"May I do this?\n```\n{what.replace('```', '` ` `')}\n```\nIn {request.where}. {why}\n"
        f"Answer {words}, or {prefix}approve and {prefix}deny. Without an answer within "
        f"{seconds:.0f} seconds it is not done."
    )


class ChatApprovals(ChatRequestPresenter[ApprovalRequest, Answered]):
    """Approval requests in the chats of one runner.

    Args:
        runner: The runner of these chats.
        queue: The queue in which agents wait.
    """

    def __init__(self, runner: "GatewayRunner", queue: ApprovalQueue) -> None:
        super().__init__(runner, queue, self._words, _end, _buttons)
        self._queue = queue

    def _words(self, request: ApprovalRequest, prefix: str) -> str:
        seconds = request.expires_at - self._runner.clock.time()
        return question(request, max(1.0, seconds), prefix)

    def answer(self, text: str, source: SessionSource, session_key: str) -> str | None:
        """Treat a plain word as the answer to a pending request; None for other messages."""
        choice = choice_of(text)
        if choice is None or not self._queue.pending(session_key):
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


_LABELS: dict[Choice, str] = {
    "once": "Yes, once",
    "session": "Yes, in this session",
    "always": "Always",
    "deny": "No",
}


def _buttons(request: ApprovalRequest) -> tuple[tuple[str, str], ...]:
    return tuple((_LABELS[choice], choice) for choice in request.choices)


def _end(_request: ApprovalRequest, answer: Answered, platform: str) -> str:
    if answer.reason == "timeout":
        return "Nobody answered in time, so it was not done."
    if answer.reason != "answered" or answer.by in {"", platform}:
        return ""
    done = {"once": "allowed once", "session": "allowed in this session"}
    words = done.get(answer.choice, "denied" if answer.choice == "deny" else "always allowed")
    return f"Answered {where_words(answer.by)}: {words}."
