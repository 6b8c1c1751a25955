"""Records exchanged between a platform and the gateway: incoming messages and send results."""

import asyncio
import enum
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes_desktop.core.ids import new_turn_id
from hermes_desktop.gateway.sessions.session_records import SessionSource

log = logging.getLogger(__name__)


class MessageType(enum.Enum):
    """The type of a message."""

    TEXT = "text"
    PHOTO = "photo"
    VIDEO = "video"
    AUDIO = "audio"
    VOICE = "voice"
    DOCUMENT = "document"
    STICKER = "sticker"
    COMMAND = "command"


_WITH_FILES = frozenset(
    {
        MessageType.PHOTO,
        MessageType.VIDEO,
        MessageType.AUDIO,
        MessageType.VOICE,
        MessageType.DOCUMENT,
    }
)


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """One message from a sender, or (``internal``) from the gateway to itself.

    Attributes:
        message_id: The platform's own id of it, stable when it is delivered again.
        platform_update_id: The platform's number of the delivery, where it counts them.
        media_urls: Local paths of its attachments.
        media_types: Their media types, in the same order.
        reply_to_message_id: The message that it replies to; the next four describe that one.
        internal: Created by the gateway, not by a sender: it was authorized before.
        metadata: Platform-specific data.
        timestamp: When it was sent, in seconds since the epoch; None when unknown.
        turn_id: Identifies the turn that answers it, in every event about that turn.
        source_tag: ``sessions.source`` of a session that starts here; None: the platform's name.
    """

    text: str
    message_type: MessageType = MessageType.TEXT
    source: SessionSource | None = None
    message_id: str | None = None
    platform_update_id: int | None = None
    media_urls: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    reply_to_message_id: str | None = None
    reply_to_text: str | None = None
    reply_to_author_id: str | None = None
    reply_to_author_name: str | None = None
    reply_to_is_own_message: bool = False
    internal: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    timestamp: float | None = None
    turn_id: str = field(default_factory=new_turn_id)
    source_tag: str | None = None

    def has_files(self) -> bool:
        """Return whether it has attached files; they are fetched when its turn starts."""
        return bool(self.media_urls) or self.message_type in _WITH_FILES

    def is_command(self) -> bool:
        """Return whether it starts like a command, as a path (``/usr/bin``) does, too."""
        return self.text.startswith("/")

    def get_command(self) -> str | None:
        """Return the command's name in lower case, without slash and bot name; None if none."""
        if not self.is_command():
            return None
        word, _ = self._word_and_rest()
        name = word.partition("@")[0].lower()
        return None if not name or "/" in name else name

    def get_command_args(self) -> str:
        """Return the text after the command's name; the whole text when it is no command.

        Keyboards turn hyphens into dashes; they are turned back.
        """
        if not self.is_command():
            return self.text
        return self._word_and_rest()[1].replace("—", "--").replace("–", "-")

    def _word_and_rest(self) -> tuple[str, str]:
        body = self.text[1:]
        if body[:1].isspace():
            return "", body.strip()
        parts = body.split(None, 1)
        return (parts[0] if parts else ""), (parts[1].strip() if len(parts) > 1 else "")


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a text that goes into one message.

    Attributes:
        text: In Markdown, or as the platform shows it; for logs and comparisons.
        form: The platform's representation; used by its adapter alone.
        plain: The text for a server that refuses ``form``, with the addresses of links.
    """

    text: str
    form: Any = None
    plain: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A message in a chat that may be edited.

    Attributes:
        piece: Its current content.
    """

    message_id: str
    piece: Piece


@dataclass(frozen=True, slots=True)
class Question:
    """A question with a few possible answers.

    Attributes:
        id: Identifies it; an answer by a button carries it as ``metadata["answers"]``.
        words: The question, in Markdown, with instructions for answering it by text.
        choices: Label and value of each answer, in order.
    """

    id: str
    words: str
    choices: tuple[tuple[str, str], ...]


ErrorKind = Literal[
    "too_long", "bad_format", "forbidden", "not_found", "rate_limited", "transient", "unknown"
]


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of sending a text.

    Attributes:
        message_id: The platform's id of the new message in the chat.
        error: Why it did not arrive.
        retryable: Whether the same text may be sent again: it certainly did not arrive. False after
            a time-out, when that is unknown.
        retry_after: Seconds that the platform asks us to wait before.
        error_kind: The kind of error. ``forbidden`` and ``not_found`` are about the chat, never
            about a thread or a message in it.
    """

    success: bool
    message_id: str | None = None
    error: str | None = None
    retryable: bool = False
    retry_after: float | None = None
    error_kind: ErrorKind | None = None


def not_taken(event: MessageEvent) -> "asyncio.Task[str | None]":
    """Refuse a message of an abandoned or trial connection; its server delivers it again."""

    async def cancelled() -> str | None:
        raise asyncio.CancelledError

    log.info("A message of an unused connection is not accepted: %s", event.message_id)
    return asyncio.get_running_loop().create_task(cancelled())
