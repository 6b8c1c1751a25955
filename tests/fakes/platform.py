"""A messaging platform without a network."""

from typing import TYPE_CHECKING

from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter, SendResult
from hermes_desktop.gateway.session import SessionSource

if TYPE_CHECKING:
    import asyncio


class FakePlatform(PlatformAdapter):
    """Incoming messages are created by :meth:`receive`; outgoing ones are recorded in ``sent``."""

    expected_silence_s = None

    def __init__(self, platform: Platform = Platform.TELEGRAM) -> None:
        super().__init__(platform)
        self.connected = False
        self.sent: list[tuple[str, str]] = []
        self.result = SendResult(success=True, message_id="1")
        self.failure: Exception | None = None

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        if self.failure is not None:
            raise self.failure
        self.connected = True
        return True

    async def disconnect(self) -> None:
        self.connected = False

    async def send(
        self,
        chat_id: str,
        text: str,
        *,
        reply_to: str | None = None,
        thread_id: str | None = None,
    ) -> SendResult:
        if self.failure is not None:
            raise self.failure
        self.sent.append((chat_id, text))
        return self.result

    def receive(
        self, text: str, *, user_id: str | None = "u1", chat_id: str = "c1", turn_id: str = ""
    ) -> "asyncio.Task[str | None]":
        """Receive a message; the task ends when the answer was delivered."""
        source = SessionSource(self.platform, chat_id, user_id=user_id)
        event = MessageEvent(text, source=source, turn_id=turn_id or f"turn {text}")
        return self.handle_message(event)
