"""The interface between the gateway and a messaging platform: incoming messages, outgoing texts."""

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
    """The time at which a platform's server was last heard.

    Attributes:
        monotonic: For measuring the elapsed time.
        wall: For display, in seconds since the epoch.
    """

    monotonic: float
    wall: float


@dataclass(frozen=True, slots=True)
class FatalError:
    """The reason why an adapter cannot continue.

    Attributes:
        code: A stable identifier, such as ``bad_token`` or ``connection_lost``.
        message: One sentence for the user.
        retryable: Whether a new connection may help.
    """

    code: str
    message: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class TokenIdentity:
    """A token that only one process on this machine may use.

    Attributes:
        scope: The kind of token, e.g. ``telegram-bot-token``.
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
    """Adapter of one platform. Everything runs on the event loop unless stated otherwise.

    An adapter calls :meth:`heard` for *everything* that comes from its server: a message, an empty
    response to a poll, a heartbeat, the response to a probe. Only that makes it "connected" for the
    program; an open socket proves nothing.

    Args:
        platform: The platform; the key of the adapter in the runner's mapping.
        clock: The source of the times in :attr:`last_heard`.

    Attributes:
        expected_silence_s: For how many seconds a healthy server may be silent; None: forever.
        max_message_length: The length limit of one message, as :meth:`message_length` counts.
        splits_long_messages: The platform splits long texts itself.
        has_buttons: Questions may be answered by pressing a button; see :meth:`ask`.
        edits_messages: A sent text can be edited, so that a reply can be streamed to its chat.
        interactive_resume: A chat whose turn was interrupted is resumed after a restart.
        keeps_messages_while_away: Its server keeps messages sent while the program is not
            connected.
        typed_command_prefix: The command prefix in its chats.
        busy_mode: The effect of a message that arrives while a reply is being written; None: as
            configured.
        token: The token that must not be used twice on this machine; None for none.
    """

    expected_silence_s: float | None = 90.0
    max_message_length: int | None = None
    splits_long_messages: ClassVar[bool] = False
    edits_messages: ClassVar[bool] = False
    has_buttons: ClassVar[bool] = False
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

    # Implemented by an adapter

    @abstractmethod
    async def connect(self, *, is_reconnect: bool = False) -> bool:
        """Start to receive messages; return False when the platform cannot be used now.

        An adapter that is refused permanently calls :meth:`set_fatal_error` before it returns
        False.

        Args:
            is_reconnect: The program was connected before: messages kept by the server are wanted.
                At the first connection a platform may drop what is too old to answer.
        """

    @abstractmethod
    async def disconnect(self) -> None:
        """Stop receiving and release all resources.

        Harmless when called twice, and after a failed connection.
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
        """Send a text to a chat.

        Args:
            chat_id: The chat.
            text: Markdown, no longer than :attr:`max_message_length` unless the platform splits.
            reply_to: The message that it is shown as a reply to.
            thread_id: The thread of the chat.

        Raises:
            TimeoutError: Whether it arrived is unknown.
        """

    def cut(self, text: str) -> list[Piece]:
        """Return a text as the messages that it takes.

        Where a reply is streamed to its chat, its beginning is cut like the whole: nothing is
        numbered.
        """
        limit = None if self.splits_long_messages else self.max_message_length
        numbered = not self.edits_messages
        parts = split_text(text, limit, self.message_length, numbered=numbered)
        return [Piece(part) for part in parts]

    async def cut_aside(self, text: str) -> list[Piece]:
        """Return the same as :meth:`cut`, off the loop where it takes long."""
        return self.cut(text)

    async def send_piece(
        self,
        chat_id: str,
        piece: Piece,
        *,
        reply_to: str | None = None,
        thread_id: str | None = None,
    ) -> SendResult:
        """Send a piece of :meth:`cut` to a chat; otherwise like :meth:`send`."""
        return await self.send(chat_id, piece.text, reply_to=reply_to, thread_id=thread_id)

    async def edit_piece(self, chat_id: str, message_id: str, piece: Piece) -> SendResult:
        """Replace the content of a message; the same content again is a success.

        Returns:
            ``not_found`` when there is no such message (any more), whatever else is wrong with the
            chat. A retry is always safe: it creates no duplicate.
        """
        del piece
        words = f"message {message_id} of {chat_id} cannot be changed"
        return SendResult(success=False, error=words)

    async def delete_message(self, chat_id: str, message_id: str) -> bool:
        """Delete one of our messages, if possible. Never raises.

        Returns:
            Whether the message needs no further attempts; False: retry later.
        """
        del chat_id, message_id
        return True

    def edit_pause_s(self, chat_id: str) -> float:  # noqa: ARG002 - platforms differ by chat
        """Return the minimum number of seconds between two edits in a chat."""
        return 0.0

    async def show_typing(  # noqa: B027 - most platforms have no such sign
        self, chat_id: str, *, thread_id: str | None = None
    ) -> None:
        """Show for a few seconds that a reply is being written. Exceptions are ignored."""

    async def ask(
        self, chat_id: str, question: Question, *, thread_id: str | None = None
    ) -> SendResult:
        """Send a question to a chat, with buttons where the platform has them."""
        return await self.send(chat_id, question.words, thread_id=thread_id)

    async def with_media(self, event: MessageEvent) -> MessageEvent:
        """Fetch the attachments of a message. Called only for authorized senders.

        Returns:
            The message with local paths, and text about what could not be fetched. Never raises.
        """
        return event

    def message_kept(self, event: MessageEvent) -> None:  # noqa: B027 - for those that wait for it
        """Handle that a message is stored here: its server may forget it."""

    async def probe(self) -> bool:
        """Request a sign of life from the server and wait for it a few seconds; return its success.

        It must use the connection by which messages arrive: a server that answers elsewhere proves
        nothing.
        """
        return False

    def message_length(self, text: str) -> int:
        """Return the length of a text as the platform counts it."""
        return len(text)

    # Called by an adapter

    def heard(self) -> None:
        """Record that the server was heard just now. Any thread may call it."""
        self.last_heard = LastHeard(self.clock.monotonic(), self.clock.time())

    def set_fatal_error(self, code: str, message: str, *, retryable: bool) -> None:
        """Report that this adapter cannot continue; the gateway replaces it if that may help."""
        self.fatal_error = FatalError(code, message, retryable)
        if self._fatal_error_handler is not None:
            self._fatal_error_handler(self)

    def handle_message(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        """Pass a message to the gateway; messages are processed in the order of these calls.

        Returns:
            A task that ends when the message was processed. Only then may the server forget it; a
            duplicate is recognized by its id.

        Raises:
            RuntimeError: The adapter belongs to no running gateway.
        """
        if self._message_handler is None:
            raise RuntimeError(f"{self.platform.value} belongs to no running gateway")
        return self._message_handler(event)

    def chat_moved(self, old_id: str, new_id: str) -> None:
        """Report that a chat has a new id; messages from there may follow immediately."""
        if self._moved_handler is not None:
            self._moved_handler(old_id, new_id)

    # Called by the gateway

    def set_message_handler(self, handler: MessageHandler) -> None:
        """Set the handler for messages: a function that starts a task for each."""
        self._message_handler = handler

    def set_interrupt_handler(self, handler: InterruptHandler) -> None:
        """Set the handler that interrupts the turn of a session key."""
        self._interrupt_handler = handler

    def set_fatal_error_handler(self, handler: FatalErrorHandler) -> None:
        """Set the handler that is called when the adapter cannot continue."""
        self._fatal_error_handler = handler

    def set_moved_handler(self, handler: MovedHandler) -> None:
        """Set the handler that is called when a chat has a new id."""
        self._moved_handler = handler

    def set_closing_handler(self, handler: ClosingHandler) -> None:
        """Set the handler that is awaited when a session that was opened here is closed."""
        self._closing_handler = handler

    def prepare_session(  # noqa: B027 - most platforms have nothing to do here
        self, db: "SessionDB", entry: SessionEntry, event: MessageEvent
    ) -> None:
        """Prepare a session for a turn, on the turn's worker thread.

        Raises:
            HermesError: This session cannot be continued.
        """

    def expect_turn(  # noqa: B027 - only who counts its own turns wants to know
        self, turn_id: str, session_key: str
    ) -> None:
        """Handle the announcement of a turn that no message here started. On the event loop."""

    def session_rotated(  # noqa: B027 - most platforms have nothing to do here
        self, old_id: str, new_id: str
    ) -> None:
        """Handle that a session continues under another id. Called on the turn's worker thread."""

    def session_fields(self, entry: SessionEntry, event: MessageEvent) -> dict[str, Any]:
        """Return columns for the row of a session that starts with this message."""
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
