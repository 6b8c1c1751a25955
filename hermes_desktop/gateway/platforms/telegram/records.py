"""Records of the Telegram adapter: bot identity, incoming updates and errors."""

from dataclasses import dataclass
from typing import Literal

_LONG = 4000
"""Apps split texts longer than 4,096 units, a little before that limit."""

MediaKind = Literal["photo", "document", "voice", "audio", "video", "sticker", "animation"]


@dataclass(frozen=True, slots=True)
class Bot:
    """The identity of the bot.

    Attributes:
        username: Without the leading "@"; "" if the server reports none.
    """

    id: int
    username: str
    name: str

    @property
    def shown(self) -> str:
        """The display name."""
        return f"@{self.username}" if self.username else self.name


@dataclass(frozen=True, slots=True)
class Attachment:
    """An attached file that was not fetched yet.

    Attributes:
        size: In bytes; None when unknown.
        seconds: Its playing time; None for files without.
    """

    kind: MediaKind
    file_id: str
    file_name: str = ""
    mime: str = ""
    size: int | None = None
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The message that another one replies to."""

    message_id: str
    text: str = ""
    author_id: str = ""
    author_name: str = ""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One update.

    Attributes:
        kind: ``message``, ``edited`` (a changed message), ``answer`` (a pressed button) or
            ``other``, which is ignored.
        chat_type: Telegram's type: ``private``, ``group``, ``supergroup`` or ``channel``.
        thread_id: The topic, where the chat has topics.
        mentions: Mentioned names, in lower case and without "@"; ids, too.
        extra_text: A description of content without text or file: a place, a poll, a contact.
        data: The data of a pressed button.
        query_id: Identifies the pressing of a button.
        from_channel: It was not written by a human.
        forwarded_from: The original author, when it was forwarded; "" otherwise.
        edited: When it was changed.
        moved_to: The new id of the chat.
    """

    update_id: int
    kind: Literal["message", "edited", "answer", "other"] = "other"
    chat_id: str = ""
    chat_type: str = ""
    chat_title: str = ""
    message_id: str = ""
    thread_id: str = ""
    user_id: str = ""
    user_name: str = ""
    is_bot: bool = False
    text: str = ""
    mentions: frozenset[str] = frozenset()
    reply: Reply | None = None
    attachments: tuple[Attachment, ...] = ()
    album_id: str = ""
    extra_text: str = ""
    at: float | None = None
    data: str = ""
    query_id: str = ""
    from_channel: bool = False
    forwarded_from: str = ""
    edited: str = ""
    moved_to: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether further parts may follow: of an album, or of a text that was too long."""
        return bool(self.album_id) or len(self.text) >= _LONG


class RefusalError(Exception):
    """Telegram refused a request.

    Attributes:
        code: As in HTTP.
        words: Its own message.
        retry_after: Seconds that it asks us to wait.
        moved_to: The id that the chat has now.
    """

    def __init__(
        self, code: int, words: str, retry_after: float | None = None, moved_to: str = ""
    ) -> None:
        super().__init__(words)
        self.code, self.words = code, words
        self.retry_after, self.moved_to = retry_after, moved_to


class NotSentError(OSError):
    """The server could not be reached: the request was not sent."""


class UncertainError(TimeoutError):
    """No response arrived: the outcome of the request is unknown."""
