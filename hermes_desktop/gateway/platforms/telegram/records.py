"""What goes between Telegram's wire and the rest: who we are, what came in, what was refused."""

from dataclasses import dataclass
from typing import Literal

_LONG = 4000
"""Apps cut what is longer than 4,096 units, a little before that."""

MediaKind = Literal["photo", "document", "voice", "audio", "video", "sticker", "animation"]


@dataclass(frozen=True, slots=True)
class Bot:
    """Who we are there.

    Attributes:
        username: Without the sign before it; "" for a server that tells none.
    """

    id: int
    username: str
    name: str

    @property
    def shown(self) -> str:
        """For people."""
        return f"@{self.username}" if self.username else self.name


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message and was not fetched yet.

    Attributes:
        size: In bytes; None when nobody tells.
        seconds: How long it plays; None for what does not.
    """

    kind: MediaKind
    file_id: str
    file_name: str = ""
    mime: str = ""
    size: int | None = None
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The message that another one answers."""

    message_id: str
    text: str = ""
    author_id: str = ""
    author_name: str = ""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One update.

    Attributes:
        kind: ``message``, ``edited`` (one that was changed), ``answer`` (a button was pressed) or
            ``other``, which is nothing to us.
        chat_type: As Telegram says it: ``private``, ``group``, ``supergroup`` or ``channel``.
        thread_id: The topic, where the chat has topics.
        mentions: Names that are mentioned, in small letters and without the sign; ids, too.
        extra_text: What there is instead of a file and of words: a place, a poll, a contact.
        data: What a pressed button stands for.
        query_id: Names that a button was pressed.
        from_channel: It was not written by a person.
        forwarded_from: Who wrote it first, when it was handed on; "" when it was written here.
        edited: When it was changed.
        moved_to: The chat has another id from now on.
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
        """Whether more of it may be on its way: of an album, or of a text that was too long."""
        return bool(self.album_id) or len(self.text) >= _LONG


class RefusalError(Exception):
    """Telegram answered, and the answer was no.

    Attributes:
        code: As in HTTP.
        words: Its own words.
        retry_after: Seconds that it wants us to wait.
        moved_to: The id that the chat has now.
    """

    def __init__(
        self, code: int, words: str, retry_after: float | None = None, moved_to: str = ""
    ) -> None:
        super().__init__(words)
        self.code, self.words = code, words
        self.retry_after, self.moved_to = retry_after, moved_to


class NotSentError(OSError):
    """The server could not be reached: whatever it was, it did not leave."""


class UncertainError(TimeoutError):
    """No answer came: nobody knows what became of it."""
