"""What a messaging platform is to the gateway: messages come in, texts go out."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.gateway.config.config_running import BusyInputMode
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.messages import (
    ErrorKind,
    MessageEvent,
    MessageType,
    Piece,
    Question,
    SendResult,
)
from hermes_desktop.gateway.platforms.reply_text import split_text
from hermes_desktop.gateway.sessions.session_records import SessionEntry

if TYPE_CHECKING:
    import asyncio

    from hermes_desktop.state import SessionDB

__all__ = [
    "ErrorKind",
    "FatalError",
    "LastHeard",
    "MessageEvent",
    "MessageType",
    "Piece",
    "PlatformAdapter",
    "Question",
    "SendResult",
    "TokenIdentity",
]


@dataclass(frozen=True, slots=True)
class LastHeard:
    """When a platform's server was last heard of.

    Attributes:
        monotonic: For measuring how long ago that is.
        wall: For telling a person, in seconds since the epoch.
    """

    monotonic: float
    wall: float


@dataclass(frozen=True, slots=True)
class FatalError:
    """Why an adapter cannot go on.

    Attributes:
        code: A stable word, such as ``bad_token`` or ``connection_lost``.
        message: One sentence for a person.
        retryable: Whether a new connection may help.
    """

    code: str
    message: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class TokenIdentity:
    """A token that only one process on this machine may use.

    Attributes:
        scope: What kind of token, e.g. ``telegram-bot-token``.
        secret: The token itself; only its digest leaves this process.
    """

    scope: str
    secret: str

    def __repr__(self) -> str:
        return f"TokenIdentity({self.scope})"


MessageHandler = Callable[[MessageEvent], "asyncio.Task[str | None]"]
InterruptHandler = Callable[[str], bool]
FatalErrorHandler = Callable[["PlatformAdapter"], None]
ClosingHandler = Callable[[str], Awaitable[None]]
MovedHandler = Callable[[str, str], None]


class PlatformAdapter(ABC):
    """One platform. Everything here runs on the loop, except where it says else.

    An adapter calls :meth:`heard` for *everything* that comes from its server: a message, an
    empty answer to a poll, a heartbeat, the answer to a probe. That alone makes it "connected" in
    the eyes of the program; that a socket is open says nothing.

    Args:
        platform: Which one; the runner keeps its adapters by it.
        clock: Where the times of :attr:`last_heard` come from.

    Attributes:
        expected_silence_s: For how many seconds a healthy server may be silent; None: for ever.
        max_message_length: How much text one message may hold, as :meth:`message_length` counts.
        splits_long_messages: It cuts long texts itself.
        has_buttons: Questions may be answered by pressing one; see :meth:`ask`.
        edits_messages: A text that was sent can be changed, so that a reply may grow in its chat.
        supports_async_delivery: A text may be sent at any time, not only as an answer.
        interactive_resume: A chat whose turn was cut off is gone on with after a restart.
        keeps_messages_while_away: Its server keeps what is written while nobody is connected.
        typed_command_prefix: What commands begin with in its chats.
        busy_mode: What a message does that comes while a reply is being written; None: as
            configured.
        token: What must not be used twice on this machine, None for nothing.
    """

    expected_silence_s: float | None = 90.0
    max_message_length: int | None = None
    splits_long_messages: ClassVar[bool] = False
    edits_messages: ClassVar[bool] = False
    has_buttons: ClassVar[bool] = False
    supports_async_delivery: ClassVar[bool] = True
    interactive_resume: ClassVar[bool] = True
    keeps_messages_while_away: ClassVar[bool] = True
    typed_command_prefix: ClassVar[str] = "/"
    busy_mode: BusyInputMode | None = None
    token: TokenIdentity | None = None

    def __init__(self, platform: Platform, *, clock: Clock | None = None) -> None:
        self.platform = platform
        self.clock: Clock = clock or SystemClock()
        self.last_heard: LastHeard | None = None
        self.fatal_error: FatalError | None = None
        self._message_handler: MessageHandler | None = None
        self._interrupt_handler: InterruptHandler | None = None
        self._fatal_error_handler: FatalErrorHandler | None = None
        self._closing_handler: ClosingHandler | None = None
        self._moved_handler: MovedHandler | None = None

    # What an adapter does

    @abstractmethod
    async def connect(self, *, is_reconnect: bool = False) -> bool:
        """Begin to receive messages. False when the platform cannot be used now.

        An adapter that is refused for good calls :meth:`set_fatal_error` before it says False.

        Args:
            is_reconnect: The program was connected before: what the server kept is wanted. At
                the first connection a platform may drop what is too old to answer.
        """

    @abstractmethod
    async def disconnect(self) -> None:
        """Receive nothing more and let go of everything.

        Harmless when called twice, and after a connection that did not come about.
        """

    @abstractmethod
    async def send(
        self,
        chat_id: str,
        text: str,
        *,
        reply_to: str | None = None,
        thread_id: str | None = None,
    ) -> SendResult:
        """Put a text into a chat.

        Args:
            chat_id: The chat.
            text: Markdown, no longer than :attr:`max_message_length` unless the platform splits.
            reply_to: The message it shall be shown as an answer to.
            thread_id: The thread of the chat.

        Raises:
            TimeoutError: Nobody knows whether it arrived.
        """

    def cut(self, text: str) -> list[Piece]:
        """A text as the messages that it takes.

        Where a reply grows in its chat, its beginning is cut like the whole: nothing is numbered.
        """
        limit = None if self.splits_long_messages else self.max_message_length
        numbered = not self.edits_messages
        parts = split_text(text, limit, self.message_length, numbered=numbered)
        return [Piece(part) for part in parts]

    async def cut_aside(self, text: str) -> list[Piece]:
        """The same, off the loop where it takes long."""
        return self.cut(text)

    async def send_piece(
        self,
        chat_id: str,
        piece: Piece,
        *,
        reply_to: str | None = None,
        thread_id: str | None = None,
    ) -> SendResult:
        """Put a piece of :meth:`cut` into a chat; otherwise like :meth:`send`."""
        return await self.send(chat_id, piece.text, reply_to=reply_to, thread_id=thread_id)

    async def edit_piece(self, chat_id: str, message_id: str, piece: Piece) -> SendResult:
        """Let a message show something else; the same again is a success.

        Returns:
            ``not_found`` when there is no such message (any more), whatever else is wrong with
            the chat. It may always be tried again: nothing comes twice by it.
        """
        del piece
        words = f"message {message_id} of {chat_id} cannot be changed"
        return SendResult(success=False, error=words)

    async def delete_message(self, chat_id: str, message_id: str) -> bool:
        """Take one of our messages away, if that can be done. Never raises.

        Returns:
            Whether there is nothing more to be done about it; False: try again later.
        """
        del chat_id, message_id
        return True

    def edit_pause_s(self, chat_id: str) -> float:  # noqa: ARG002 - platforms differ by chat
        """How many seconds there must be between two changes in a chat at least."""
        return 0.0

    async def show_typing(  # noqa: B027 - most platforms have no such sign
        self, chat_id: str, *, thread_id: str | None = None
    ) -> None:
        """Show for a few seconds that a reply is being written. What it raises is ignored."""

    async def ask(
        self, chat_id: str, question: Question, *, thread_id: str | None = None
    ) -> SendResult:
        """Put a question into a chat, with buttons where the platform has them."""
        return await self.send(chat_id, question.words, thread_id=thread_id)

    async def with_media(self, event: MessageEvent) -> MessageEvent:
        """Fetch what came with a message. Asked only for people who may write.

        Returns:
            The message with local paths, and words for what could not be had. Never raises.
        """
        return event

    def message_kept(self, event: MessageEvent) -> None:  # noqa: B027 - for those that wait for it
        """A message is written down here: its server may forget it."""

    async def probe(self) -> bool:
        """Ask the server for a sign of life and wait for it a few seconds; whether it came.

        It must go the way that messages come: a server that answers elsewhere proves nothing.
        """
        return False

    def message_length(self, text: str) -> int:
        """How long the platform finds a text."""
        return len(text)

    # What an adapter calls

    def heard(self) -> None:
        """Note that the server was heard of just now. Any thread may call it."""
        self.last_heard = LastHeard(self.clock.monotonic(), self.clock.time())

    def set_fatal_error(self, code: str, message: str, *, retryable: bool) -> None:
        """Say that this adapter cannot go on; the gateway makes a new one if that may help."""
        self.fatal_error = FatalError(code, message, retryable)
        if self._fatal_error_handler is not None:
            self._fatal_error_handler(self)

    def handle_message(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        """Hand a message to the gateway; messages are taken in the order of these calls.

        Returns:
            A task that ends when the message was dealt with. Only then may the server forget it;
            a message that is brought again is recognised by its id.

        Raises:
            RuntimeError: The adapter belongs to no running gateway.
        """
        if self._message_handler is None:
            raise RuntimeError(f"{self.platform.value} belongs to no running gateway")
        return self._message_handler(event)

    def chat_moved(self, old_id: str, new_id: str) -> None:
        """Say that a chat has another id from now on; messages from there may follow at once."""
        if self._moved_handler is not None:
            self._moved_handler(old_id, new_id)

    # What the gateway calls

    def set_message_handler(self, handler: MessageHandler) -> None:
        """Say who takes the messages: a function that starts a task for each."""
        self._message_handler = handler

    def set_interrupt_handler(self, handler: InterruptHandler) -> None:
        """Say who stops the turn of a session key."""
        self._interrupt_handler = handler

    def set_fatal_error_handler(self, handler: FatalErrorHandler) -> None:
        """Say who is told that the adapter cannot go on."""
        self._fatal_error_handler = handler

    def set_moved_handler(self, handler: MovedHandler) -> None:
        """Say who is told that a chat has another id."""
        self._moved_handler = handler

    def set_closing_handler(self, handler: ClosingHandler) -> None:
        """Say who is told, and awaited, when a conversation is closed that was opened here."""
        self._closing_handler = handler

    def prepare_session(  # noqa: B027 - most platforms have nothing to do here
        self, db: "SessionDB", entry: SessionEntry, event: MessageEvent
    ) -> None:
        """Get a conversation ready for a turn, on the turn's worker thread.

        Raises:
            HermesError: This conversation cannot be gone on with.
        """

    def expect_turn(  # noqa: B027 - only who counts its own turns wants to know
        self, turn_id: str, session_key: str
    ) -> None:
        """A turn will run in a chat that was begun by nobody's message here. On the loop."""

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
