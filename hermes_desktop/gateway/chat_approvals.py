"""Questions before something that may do harm, asked and answered in the chat they came from."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from hermes_desktop.agent.tools.approval_queue import (
    Answered,
    ApprovalQueue,
    ApprovalRequest,
    Attendant,
    Choice,
)
from hermes_desktop.commands.approval_commands import resolve
from hermes_desktop.commands.context import Sender
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.command_access import command_access
from hermes_desktop.gateway.config import Platform
from hermes_desktop.gateway.session import SessionSource

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner

_MOST_SHOWN = 1500
_YES = frozenset({"approve", "yes", "ok", "okay", "confirm", "y", "👍", "once"})
_NO = frozenset({"deny", "no", "reject", "cancel", "n", "👎"})


def choice_of(text: str) -> Choice | None:
    """The answer that a plain word is; None for any other message."""
    word = text.strip().strip(".!").lower()
    if word in _YES:
        return "once"
    if word in _NO:
        return "deny"
    return {"session": "session", "always": "always"}.get(word)  # type: ignore[return-value]


def question(request: ApprovalRequest, seconds: float, prefix: str) -> str:
    """A question in words for a chat."""
    what = request.what if len(request.what) <= _MOST_SHOWN else request.what[:_MOST_SHOWN] + " …"
    why = " ".join(request.why)
    words = (
        "yes, session or no" if "always" not in request.choices else "yes, session, always or no"
    )
    return (
        f"May I do this?\n```\n{what.replace('```', '` ` `')}\n```\nIn {request.where}. {why}\n"
        f"Answer {words}, or {prefix}approve and {prefix}deny. Without an answer within "
        f"{seconds:.0f} seconds it is not done."
    )


class ChatApprovals:
    """Asks in the chats of one runner.

    Args:
        runner: Whose chats these are.
        queue: Where agents wait.
    """

    def __init__(self, runner: "GatewayRunner", queue: ApprovalQueue) -> None:
        self._runner = runner
        self._queue = queue
        self._leave: Callable[[], None] = lambda: None

    def open(self) -> None:
        """Begin to ask, on the running loop, until :meth:`close`."""
        loop = asyncio.get_running_loop()

        def asked(request: ApprovalRequest) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone; the time will be over
                loop.call_soon_threadsafe(self._ask, request)

        def settled(request: ApprovalRequest, answer: Answered) -> None:
            if answer.reason == "timeout":
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._tell_late, request)

        self._leave = self._queue.attend(Attendant(self._serves, asked, settled))

    def close(self) -> None:
        """Ask no more."""
        self._leave()

    def _serves(self, request: ApprovalRequest) -> bool:
        source = self._runner.turn_source(request.session_key)
        return source is not None and source.platform is not Platform.DESKTOP

    def _ask(self, request: ApprovalRequest) -> None:
        seconds = request.expires_at - self._runner.clock.time()
        self._say(request, partial(question, request, max(1.0, seconds)))

    def _tell_late(self, request: ApprovalRequest) -> None:
        self._say(request, lambda _prefix: "Nobody answered in time, so it was not done.")

    def _say(self, request: ApprovalRequest, words: Callable[[str], str]) -> None:
        source = self._runner.turn_source(request.session_key)
        adapter = self._runner.adapters.get(source.platform) if source is not None else None
        if source is not None and adapter is not None:
            self._runner.say_soon(adapter, source, words(adapter.typed_command_prefix))

    def answer(self, text: str, source: SessionSource, session_key: str) -> str | None:
        """Take a plain word for an answer while a question waits; None for other messages."""
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
