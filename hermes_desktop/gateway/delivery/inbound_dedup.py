"""The inbox: each message is processed once, however often its platform delivers it.

Platforms deliver a message again after a broken connection, and after a restart. Duplicates are
recognized by the platform's id: in memory, in the inbox on the disk, and in the stored session.
After the program ends, the inbox also tells the next run which messages were not processed.
"""

import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.delivery.delivery_ledger import MOST_AGE_S, is_running
from hermes_desktop.gateway.platforms.base import MessageEvent, MessageType
from hermes_desktop.gateway.sessions.session_records import SessionSource
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, InboxRow, Obligation
from hermes_desktop.state.shared_tables.delivery_table import obligation_id

log = logging.getLogger(__name__)

T = TypeVar("T")

_KEPT_IDS = 5000
_LEFT_OUT = frozenset({"source", "message_type", "turn_id", "media_urls", "media_types"})


@dataclass(frozen=True, slots=True)
class Ticket:
    """One message on its way through the gateway.

    Attributes:
        row_id: Its row in the inbox; None when it is kept in memory only.
    """

    event: MessageEvent
    session_key: str
    row_id: int | None = None


@dataclass(frozen=True, slots=True)
class UnprocessedMessages:
    """The messages that an ended gateway did not process.

    Attributes:
        waiting: Messages that are not in their session; they are to be answered now.
        cut_off: Messages whose turn was running and produced no reply; their text is in the
            session, which is to be resumed.
        overtaken: Those of them that were followed by other messages in the session.
        replies: The number of complete replies that were found but not recorded as owed; they are
            owed now, and delivered once their platform is connected.
        too_old: Messages that waited for more than a day; they are not answered any more.
    """

    waiting: tuple[Ticket, ...] = ()
    cut_off: tuple[Ticket, ...] = ()
    replies: int = 0
    too_old: tuple[Ticket, ...] = ()
    overtaken: tuple[Ticket, ...] = ()


class Inbox:
    """Admits each message once. Used on the event loop.

    Args:
        store: The inbox on the disk; None: only duplicates since the start are recognized.
        workers: Worker threads for it.
        clock: For the age of left-over messages.
    """

    def __init__(
        self,
        store: DeliveryStore | None = None,
        workers: WorkerThreads | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._store = store
        self._workers = workers or WorkerThreads("inbox")
        self._clock = clock or SystemClock()
        self._seen: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._open: set[int] = set()

    @property
    def is_kept(self) -> bool:
        """Whether admitted messages survive the end of this program."""
        return self._store is not None

    async def admit(self, event: MessageEvent, session_key: str) -> Ticket | None:
        """Admit a message. None: it is a duplicate, and nothing is to be done.

        A message that cannot be recorded is admitted: answering twice is better than never.
        """
        source = event.source
        if source is None or event.internal:
            return Ticket(event, session_key)
        if not self._is_new(event, source):
            log.info("A message of %s was delivered twice", source.platform.value)
            return None
        if self._store is None:
            return Ticket(event, session_key)
        address = (source.platform.value, source.chat_id)
        store = self._store
        known, row_id = await self._asking(
            lambda: store.receive(address, event.message_id, session_key, _to_json(event))
        )
        if known and row_id is None:
            log.info("A message of %s was delivered twice", source.platform.value)
            return None
        if row_id is not None:
            self._open.add(row_id)
        return Ticket(event, session_key, row_id)

    async def begun(self, ticket: Ticket, session_id: str) -> None:
        """Record that a turn of this session answers a message from now on."""
        row_id, store = ticket.row_id, self._store
        if row_id is not None and store is not None:
            await self._asking(lambda: store.begin(row_id, session_id))

    async def finished(self, ticket: Ticket) -> None:
        """Record that a message was processed: its reply was sent or is owed, or there is none."""
        row_id, store = ticket.row_id, self._store
        if row_id is not None and store is not None:
            await self._asking(lambda: store.finish(row_id))
            self._open.discard(row_id)

    async def left_over(self) -> UnprocessedMessages:
        """Return what an earlier run did not process. To be called before platforms are connected.

        The messages returned as waiting or cut off are claimed until :meth:`finished`.
        """
        if self._store is None:
            return UnprocessedMessages()
        _, found = await self._asking(self._sort_left_over)
        for ticket in (*found.waiting, *found.cut_off) if found else ():
            if ticket.row_id is not None:
                self._open.add(ticket.row_id)
            source = ticket.event.source
            if source is not None:
                self._is_new(ticket.event, source)
        return found or UnprocessedMessages()

    async def prune(self) -> None:
        """Prune what is settled and old, in the inbox and in the outbox."""
        store = self._store
        if store is not None:
            await self._asking(store.prune)

    def _is_new(self, event: MessageEvent, source: SessionSource) -> bool:
        if event.message_id is None:
            return True
        key = (source.platform.value, source.chat_id, event.message_id)
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _KEPT_IDS:
            self._seen.popitem(last=False)
        return True

    async def _asking(self, call: Callable[[], T]) -> tuple[bool, T | None]:
        """Return whether the store could be accessed, and the result."""
        try:
            return True, await self._workers.run(call)
        except (HermesError, RuntimeError) as error:  # the latter: its thread is closed
            log.warning("The inbox cannot be used: %s", error)
            return False, None

    # On a worker thread

    def _sort_left_over(self) -> UnprocessedMessages:
        store = self._store
        if store is None:
            return UnprocessedMessages()
        us = store.owner
        waiting: list[Ticket] = []
        cut_off: list[Ticket] = []
        too_old: list[Ticket] = []
        overtaken: list[Ticket] = []
        replies = 0
        for row in store.unhandled_messages():
            if row.id in self._open or (row.owner != us and is_running(row.owner)):
                continue
            ticket = _ticket(row)
            if ticket is None:
                store.finish(row.id)
            elif row.state == "begun" and _is_answered(store, row, ticket):
                replies += 1
                store.finish(row.id)
            elif row.state == "waiting" and _came_elsewhere(store, row, ticket):
                store.finish(row.id)
            elif self._clock.time() - row.received_at > MOST_AGE_S:
                too_old.append(ticket)
                store.finish(row.id)
            else:
                store.adopt(row.id)
                message_id = ticket.event.message_id
                said = row.state == "begun" and store.prompt_is_stored(row, message_id)
                (cut_off if said else waiting).append(ticket)
                if said and store.has_other_unanswered(row, message_id):
                    overtaken.append(ticket)
        store.prune()
        return UnprocessedMessages(
            tuple(waiting), tuple(cut_off), replies, tuple(too_old), tuple(overtaken)
        )


def _came_elsewhere(store: DeliveryStore, row: InboxRow, ticket: Ticket) -> bool:
    """Return whether another gateway received the message before we started to answer it."""
    message_id = ticket.event.message_id
    return message_id is not None and store.is_in_chat(row.session_key, message_id)


def _is_answered(store: DeliveryStore, row: InboxRow, ticket: Ticket) -> bool:
    """Return whether a reply is owed; one found in the session is recorded as owed."""
    if store.owed_since(row.session_key, row.began_at):
        return True
    reply = store.reply_to(row, ticket.event.message_id)
    source = ticket.event.source
    if reply is None or source is None:
        return False
    message_ref = ticket.event.message_id or str(row.id)
    store.owe(
        Obligation(
            obligation_id(row.session_key, message_ref, reply),
            row.session_key,
            source.platform.value,
            source.chat_id,
            source.thread_id,
            reply,
        )
    )
    return True


def _to_json(event: MessageEvent) -> dict[str, Any]:
    """Return the data needed to process a message after a restart."""
    data: dict[str, Any] = {
        each.name: value
        for each in fields(event)
        if each.name not in _LEFT_OUT and (value := getattr(event, each.name))
    }
    data["metadata"] = {key: value for key, value in event.metadata.items() if _is_plain(value)}
    data["message_type"] = event.message_type.value
    data["source"] = event.source.to_dict() if event.source is not None else None
    data["media"] = [list(event.media_urls), list(event.media_types)]
    return data


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _ticket(row: InboxRow) -> Ticket | None:
    """Return the message of a row; None when it is invalid."""
    try:
        data = json.loads(row.event)
        return Ticket(_from_json(data), row.session_key, row.id)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        log.warning("A message in the inbox cannot be read: %s", error)
        return None


def _from_json(data: Mapping[str, Any]) -> MessageEvent:
    urls, types = data["media"]
    names = {each.name for each in fields(MessageEvent)} - _LEFT_OUT
    return MessageEvent(
        source=SessionSource.from_dict(data["source"]),
        message_type=MessageType(data["message_type"]),
        media_urls=tuple(urls),
        media_types=tuple(types),
        **{"text": "", **{name: data[name] for name in names if name in data}},
    )
