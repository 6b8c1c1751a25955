"""The desktop chat of this program, implemented as a platform.

Every conversation is a separate chat, named by the first session of its compaction chain and
continued at the chain's tip. Entries are created when the first message is sent and are kept in
memory only: viewing a conversation changes nothing. A message that is written here into a session
of a messaging platform is stored, but not sent there.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import HermesError, NotFoundError, UsageError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.gateway.access.refusals import gone
from hermes_desktop.gateway.config.gateway_config import Platform, platform_or_none
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter, SendResult
from hermes_desktop.gateway.session import SessionEntry, SessionSource, SessionStore
from hermes_desktop.state import AsyncSessionDB, SessionDB

log = logging.getLogger(__name__)

SOURCE = "desktop"
CLOSE_REASONS = {SOURCE: "tui_close", "cli": "cli_close"}
"""End reasons of rows that start or are reopened here, by ``sessions.source``."""

IDLE_CLOSE_S = 6 * 3600.0
IDLE_LOOK_S = 600.0
_FINISHED_KEPT = 256
_FOR_GOOD = frozenset({"compression", "branched"})
"""End reasons of a session that continued elsewhere; such sessions are never reopened."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A submitted message.

    Attributes:
        session_id: Its session, a new one when none was named.
    """

    turn_id: str
    session_id: str
    session_key: str


@dataclass(slots=True)
class _OpenedRow:
    """A row that was created or reopened here and therefore has to be ended here."""

    end_reason: str
    last_used: float


class DesktopAdapter(PlatformAdapter):
    """Adapter for messages from the window and from the command line.

    Args:
        session_store: The chats; the store that the runner uses.
        session_db: The sessions.
        bus: The bus on which the runner publishes how turns end.
        new_folder: Returns the working folder of a session that starts here, by its source tag;
            blocking.
    """

    expected_silence_s = None
    busy_mode = "queue"

    def __init__(
        self,
        *,
        session_store: SessionStore,
        session_db: AsyncSessionDB,
        bus: EventBus,
        clock: Clock | None = None,
        new_folder: Callable[[str], str] = lambda _source: "",
    ) -> None:
        super().__init__(Platform.DESKTOP, clock=clock)
        self._session_store = session_store
        self._session_db = session_db
        self._bus = bus
        self._clock: Clock = clock or SystemClock()
        self._order = asyncio.Lock()
        self._waiting: dict[str, asyncio.Future[TurnFinished]] = {}
        self._unanswered: dict[str, str] = {}
        self._finished: OrderedDict[str, TurnFinished] = OrderedDict()
        # Changed on turn workers, too; each change is a single step.
        self._unstored: set[str] = set()
        self._folders: dict[str, str] = {}
        self._new_folder = new_folder
        self._opened: dict[str, _OpenedRow] = {}
        self._unsubscribe: Callable[[], None] | None = None
        self._idle_look: asyncio.Task[None] | None = None

    async def connect(self, *, is_reconnect: bool = False) -> bool:  # noqa: ARG002 - nothing is kept
        """Start to accept messages."""
        if self._unsubscribe is None:
            self._unsubscribe = self._bus.subscribe(TurnFinished, self._turn_finished)
            self._idle_look = asyncio.get_running_loop().create_task(
                self._end_idle_rows(), name="end idle conversations"
            )
        return True

    async def disconnect(self) -> None:
        """Accept no more messages, and end the rows that were opened here."""
        if self._idle_look is not None:
            self._idle_look.cancel()
            await asyncio.wait([self._idle_look])
            self._idle_look = None
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        await self._end_rows(list(self._opened))

    async def send(
        self,
        chat_id: str,  # noqa: ARG002 - see below
        text: str,  # noqa: ARG002
        *,
        reply_to: str | None = None,  # noqa: ARG002
        thread_id: str | None = None,  # noqa: ARG002
    ) -> SendResult:
        """Return success: clients receive the text from the events of the turn."""
        return SendResult(success=True)

    # Called by the window and the command line

    async def submit(
        self,
        *,
        text: str,
        session_id: str | None,
        turn_id: str,
        source_tag: str = SOURCE,
        folder: str = "",
    ) -> Submitted:
        """Send a message. Messages of one conversation are answered in the order of the calls.

        Args:
            text: The typed text.
            session_id: Any session of the conversation, None for a new conversation.
            turn_id: Identifies the turn in all events about it.
            source_tag: The recorded origin of a new conversation: ``desktop`` or ``cli``.
            folder: The working folder of a new conversation; "": the usual one.

        Raises:
            UsageError: There is nothing to send.
            NotFoundError: There is no such session.
            HermesError: state.db is not available.
        """
        if not text.strip():
            raise UsageError(
                "There is nothing to send.", "The message is blank.", "Type a message."
            )
        async with self._order:
            root, tip = await self._conversation(session_id)
            if session_id is None and folder:
                self._folders[root] = folder
            source = SessionSource(platform=Platform.DESKTOP, chat_id=root)
            session_key = self._session_key(root)
            bound = self._session_store.peek_session_id(session_key)
            if bound is None:
                self._session_store.bind(session_key, tip, source=source)
            self._waiting[turn_id] = asyncio.get_running_loop().create_future()
            self._unanswered[turn_id] = session_key
            self.handle_message(
                MessageEvent(text=text, source=source, turn_id=turn_id, source_tag=source_tag)
            )
        return Submitted(turn_id, bound or tip, session_key)

    def expect_turn(self, turn_id: str, session_key: str) -> None:
        """Mark a conversation as busy with a turn until the turn is over."""
        if turn_id not in self._waiting:
            self._waiting[turn_id] = asyncio.get_running_loop().create_future()
            self._unanswered[turn_id] = session_key

    async def wait(self, turn_id: str) -> TurnFinished:
        """Wait for a turn to end, well or not.

        Raises:
            NotFoundError: No such message was sent, or it was long ago.
        """
        if turn_id in self._finished:
            return self._finished[turn_id]
        if turn_id not in self._waiting:
            raise NotFoundError("There is no such message.", turn_id)
        return await asyncio.shield(self._waiting[turn_id])

    async def stop_turn(self, session_id: str) -> bool:
        """Stop the reply that is being written in a session; return False when there is none."""
        session_key = self._busy_key(session_id)
        if session_key is None or self._interrupt_handler is None:
            return False
        return self._interrupt_handler(session_key)

    def running(self, session_id: str) -> bool:
        """Return whether a conversation (by first or last session) has an unanswered message."""
        return self._busy_key(session_id) is not None

    def chosen_model(self, root_id: str) -> Mapping[str, str]:
        """Return the model chosen for a conversation; empty where the settings decide.

        Args:
            root_id: The first session of its lineage.
        """
        return self._session_store.get_model_override(self._session_key(root_id)) or {}

    def chat_key(self, root_id: str) -> str:
        """Return the key of the chat in which a conversation is continued here.

        Args:
            root_id: The first session of its lineage.
        """
        return self._session_key(root_id)

    def _busy_key(self, session_id: str) -> str | None:
        own_key = self._session_key(session_id)
        for session_key in self._unanswered.values():
            if session_key == own_key:
                return session_key
            if self._session_store.peek_session_id(session_key) == session_id:
                return session_key
        return None

    def _session_key(self, root: str) -> str:
        source = SessionSource(platform=Platform.DESKTOP, chat_id=root)
        return self._session_store._generate_session_key(source)  # noqa: SLF001 - see the store

    async def _conversation(self, session_id: str | None) -> tuple[str, str]:
        """Return first and last session of a conversation; a new one for None."""
        if session_id is None:
            session_id = new_session_id(self._clock.now())
            self._unstored.add(session_id)
        if session_id in self._unstored:
            return session_id, session_id
        lineage = await self._session_db.get_compression_lineage(session_id)
        if lineage:
            return lineage[0], await self._session_db.get_compression_tip(session_id) or session_id
        if self._session_store.peek_session_id(self._session_key(session_id)) is None:
            raise NotFoundError(
                "There is no such session.",
                f"state.db has no session {session_id}.",
                "Choose one from the list, or start a new one.",
            )
        # Deleted while in use here: its turn will report that.
        return session_id, session_id

    def _turn_finished(self, event: TurnFinished) -> None:
        future = self._waiting.pop(event.turn_id, None)
        if future is None:
            return
        self._unanswered.pop(event.turn_id, None)
        if event.stored:
            self._unstored.discard(event.session_id)
            self._folders.pop(event.session_id, None)
        self._finished[event.turn_id] = event
        if len(self._finished) > _FINISHED_KEPT:
            self._finished.popitem(last=False)
        if not future.done():
            future.set_result(event)

    # Called by the runner, on a turn's worker thread

    def prepare_session(self, db: SessionDB, entry: SessionEntry, event: MessageEvent) -> None:
        """Reopen an ended session, unless its end reason says that it continued elsewhere."""
        session_id = entry.session_id
        row = db.get_session(session_id)
        reason = CLOSE_REASONS.get(event.source_tag or SOURCE, CLOSE_REASONS[SOURCE])
        if row is None:
            if session_id not in self._unstored:
                raise gone(session_id)
            self._note_opened(session_id, reason)
            return
        self._unstored.discard(session_id)
        if session_id in self._opened:
            self._opened[session_id].last_used = self._clock.monotonic()
        if row["ended_at"] is None or row["end_reason"] in _FOR_GOOD or _is_platform_chat(row):
            return
        db.reopen_session(session_id)
        if row["source"] in CLOSE_REASONS:
            self._note_opened(session_id, reason)

    def session_rotated(self, old_id: str, new_id: str) -> None:
        """Transfer the duty to end the old row to the new one."""
        opened = self._opened.pop(old_id, None)
        if opened is not None:
            self._opened[new_id] = opened

    def session_fields(self, entry: SessionEntry, event: MessageEvent) -> dict[str, Any]:
        """Return the folder of a session that starts here, and peer columns in the window."""
        fields: dict[str, Any] = {}
        if entry.session_id in self._unstored:
            tag = event.source_tag or SOURCE
            folder = self._folders.get(entry.session_id) or self._new_folder(tag)
            fields = {"cwd": folder} if folder else {}
        if event.source_tag not in {None, SOURCE} or entry.origin is None:
            return fields
        return {
            **fields,
            "session_key": entry.session_key,
            "chat_id": entry.origin.chat_id,
            "chat_type": entry.chat_type,
        }

    def _note_opened(self, session_id: str, end_reason: str) -> None:
        self._opened[session_id] = _OpenedRow(end_reason, self._clock.monotonic())

    async def _end_idle_rows(self) -> None:
        """End, periodically, rows that were opened here and not used for hours.

        A row is reopened when it is used again.
        """
        while True:
            await asyncio.sleep(IDLE_LOOK_S)
            await self.end_idle_rows()

    async def end_idle_rows(self) -> None:
        """End the rows that were opened here and not used for :data:`IDLE_CLOSE_S`."""
        before = self._clock.monotonic() - IDLE_CLOSE_S
        await self._end_rows(
            [
                session_id
                for session_id, row in self._opened.items()
                if row.last_used < before and not self.running(session_id)
            ]
        )

    async def _end_rows(self, session_ids: list[str]) -> None:
        """End rows, all of them before any handler is called, because that may take long."""
        ended = []
        for session_id in session_ids:
            row = self._opened.pop(session_id)
            if session_id in self._unstored:
                continue
            try:
                await self._session_db.end_session(session_id, row.end_reason)
            except HermesError as error:
                log.warning("%s was not marked as ended: %s", session_id, error)
                continue
            ended.append(session_id)
        if self._closing_handler is not None:
            for session_id in ended:
                await self._closing_handler(session_id)


def _is_platform_chat(row: Mapping[str, Any]) -> bool:
    """Return whether a gateway routes a chat of a messaging platform to this row.

    Only the gateway may end or reopen it: if open, it would draw the chat back into it.
    """
    platform = platform_or_none(row["source"])
    return platform not in {None, Platform.LOCAL, Platform.DESKTOP}
