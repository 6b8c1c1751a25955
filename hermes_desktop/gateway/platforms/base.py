"""What a messaging platform is to the gateway: messages come in, texts go out."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hermes_desktop.core.ids import new_turn_id
from hermes_desktop.gateway.config import Platform
from hermes_desktop.gateway.session_records import SessionEntry, SessionSource

if TYPE_CHECKING:
    import asyncio

    from hermes_desktop.state import SessionDB


class MessageType(enum.Enum):
    """What kind of thing was sent."""

    TEXT = "text"
    LOCATION = "location"
    PHOTO = "photo"
    VIDEO = "video"
    AUDIO = "audio"
    VOICE = "voice"
    DOCUMENT = "document"
    STICKER = "sticker"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """One message from a person.

    Attributes:
        message_id: The platform's own id of it.
        turn_id: Names the turn that answers it, in every event about that turn.
        source_tag: ``sessions.source`` of a conversation that begins here; None: the platform's
            name.
    """

    text: str
    message_type: MessageType = MessageType.TEXT
    source: SessionSource | None = None
    message_id: str | None = None
    turn_id: str = field(default_factory=new_turn_id)
    source_tag: str | None = None


@dataclass(frozen=True, slots=True)
class SendResult:
    """Whether a text arrived.

    Attributes:
        message_id: The platform's id of the message that now stands in the chat.
        error: Why it did not arrive.
        retryable: Whether the same text may be tried again.
    """

    success: bool
    message_id: str | None = None
    error: str | None = None
    retryable: bool = False


MessageHandler = Callable[[MessageEvent], "asyncio.Task[str | None]"]
InterruptHandler = Callable[[str], bool]


class PlatformAdapter(ABC):
    """One platform. Everything here runs on the loop, except :meth:`prepare_session`.

    Args:
        platform: Which one; the runner keeps its adapters by it.
    """

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self._message_handler: MessageHandler | None = None
        self._interrupt_handler: InterruptHandler | None = None

    @abstractmethod
    async def connect(self) -> bool:
        """Begin to receive messages. False when the platform cannot be used now."""

    @abstractmethod
    async def disconnect(self) -> None:
        """Receive nothing more and let go of everything; harmless when called twice."""

    @abstractmethod
    async def send(self, chat_id: str, text: str) -> SendResult:
        """Put a text into a chat."""

    def set_message_handler(self, handler: MessageHandler) -> None:
        """Say who takes the messages: a function that starts a task for each."""
        self._message_handler = handler

    def set_interrupt_handler(self, handler: InterruptHandler) -> None:
        """Say who stops the turn of a session key."""
        self._interrupt_handler = handler

    def handle_message(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        """Hand a message to the gateway; messages are taken in the order of these calls.

        Raises:
            RuntimeError: The adapter belongs to no running gateway.
        """
        if self._message_handler is None:
            raise RuntimeError(f"{self.platform.value} belongs to no running gateway")
        return self._message_handler(event)

    def prepare_session(  # noqa: B027 - most platforms have nothing to do here
        self, db: "SessionDB", entry: SessionEntry, event: MessageEvent
    ) -> None:
        """Get a conversation ready for a turn, on the turn's worker thread.

        Raises:
            HermesError: This conversation cannot be gone on with.
        """

    def session_rotated(  # noqa: B027 - most platforms have nothing to do here
        self, old_id: str, new_id: str
    ) -> None:
        """A conversation goes on under another id. Called on the turn's worker thread."""

    def session_fields(self, entry: SessionEntry, event: MessageEvent) -> dict[str, Any]:
        """Columns of the row of a conversation that begins with this message."""
        source = event.source
        if source is None:
            return {}
        return {
            "session_key": entry.session_key,
            "user_id": source.user_id,
            "chat_id": source.chat_id,
            "chat_type": source.chat_type,
            "thread_id": source.thread_id,
        }
