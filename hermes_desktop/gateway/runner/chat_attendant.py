"""Presenter of pending user requests in the chat they came from."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hermes_desktop.agent.tools.asking.waiting_room import Attendant, RequestQueue, Waits
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.messages import Question

if TYPE_CHECKING:
    from hermes_desktop.gateway.run import GatewayRunner

Q = TypeVar("Q", bound=Waits)
A = TypeVar("A")


class ChatRequestPresenter(Generic[Q, A]):
    """Presenter of a queue's requests in the chats of one runner.

    Args:
        runner: The runner of these chats.
        room: The queue in which agents wait.
        asks: Returns the text that presents a request, given the request and the command prefix
            there.
        over: Returns the text for the end of a request, given the platform where it was answered;
            "" for none.
        buttons: Returns label and value of each answer that a platform may show as a button.
    """

    def __init__(
        self,
        runner: "GatewayRunner",
        room: RequestQueue[Q, A],
        asks: Callable[[Q, str], str],
        over: Callable[[Q, A, str], str],
        buttons: Callable[[Q], tuple[tuple[str, str], ...]] = lambda _: (),
    ) -> None:
        self._runner = runner
        self._room = room
        self._asks = asks
        self._over = over
        self._buttons = buttons
        self._leave: Callable[[], None] = lambda: None

    def open(self) -> None:
        """Start presenting requests, on the running loop, until :meth:`close`."""
        loop = asyncio.get_running_loop()

        def later(call: Callable[..., object], *arguments: Any) -> None:
            # The loop is gone; the request times out.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(call, *arguments)

        def asked(request: Q) -> None:
            later(self._ask, request)

        def settled(request: Q, answer: A) -> None:
            later(self._say, request, lambda platform, _: self._over(request, answer, platform))

        self._leave = self._room.attend(Attendant(self._serves, asked, settled))

    def close(self) -> None:
        """Stop presenting; requests that only a chat could answer end now."""
        self._leave()

    def _serves(self, request: Q) -> bool:
        source = self._runner.turn_source(request.session_key)
        return source is not None and source.platform is not Platform.DESKTOP

    def waits_for_button(self, question_id: str, session_key: str) -> bool:
        """Return whether a pressed button belongs to the first pending request of a chat."""
        waiting = self._room.pending(session_key)
        return bool(waiting) and waiting[0].id == question_id

    def _ask(self, request: Q) -> None:
        source = self._runner.turn_source(request.session_key)
        adapter = self._runner.adapters.get(source.platform) if source is not None else None
        choices = self._buttons(request)
        if source is None or adapter is None or not choices or not adapter.has_buttons:
            self._say(request, lambda _platform, prefix: self._asks(request, prefix))
            return
        words = self._asks(request, adapter.typed_command_prefix)
        self._runner.ask_soon(adapter, source, Question(request.id, words, choices))

    def _say(self, request: Q, words: Callable[[str, str], str]) -> None:
        source = self._runner.turn_source(request.session_key)
        adapter = self._runner.adapters.get(source.platform) if source is not None else None
        if source is None or adapter is None or source.platform is Platform.DESKTOP:
            return
        text = words(source.platform.value, adapter.typed_command_prefix)
        if text:
            self._runner.say_soon(adapter, source, text)


def where_words(by: str) -> str:
    """Return where a request was answered, as text for a chat."""
    return {"window": "in the window", "terminal": "at the terminal"}.get(by, f"elsewhere ({by})")
