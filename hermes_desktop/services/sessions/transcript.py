"""Paged reading of a conversation: its end first, more when scrolled to.

A compression chain is read as one conversation: the first message of a part is preceded by the last
messages of the part before it.
"""

from dataclasses import dataclass, replace

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.text.stored_text import SUMMARY_MARK
from hermes_desktop.services.sessions.session_catalog import existing_summary
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import Message, SessionSummary

FIRST_PAGE = 60
NEXT_PAGE = 60
AROUND = 30
"""Messages on either side of one found by a search."""
REFRESH_LIMIT = 400
_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """Consecutive messages, oldest first.

    Attributes:
        session: The row they belong to, as the list shows it (for a chain: root with its tip).
        messages: The messages; ``session_id`` changes where a chain was rotated.
        has_older: Whether there are messages before the first one.
        has_newer: Whether there are messages after the last one.
    """

    session: SessionSummary
    messages: tuple[Message, ...]
    has_older: bool
    has_newer: bool = False


class TranscriptReader:
    """Asynchronous reads for the transcript view; everything runs on ``state-read``."""

    def __init__(self, db: SessionDB, readers: WorkerThreads) -> None:
        self._db = db
        self._readers = readers
        self._opened: frozenset[str] = frozenset()
        self._stands_for: dict[int, int] = {}  # used on ``state-read`` alone

    @property
    def opened_ids(self) -> frozenset[str]:
        """The session that was opened last, by its tip; read on ``state-read``."""
        return self._opened

    async def open(self, session_id: str, *, limit: int = FIRST_PAGE) -> TranscriptPage:
        """Read the end of a conversation.

        Raises:
            NotFoundError: The session is gone.
            StateError: The database cannot be read.
        """
        return await self._readers.run(self._open, session_id, limit)

    async def around(
        self, session_id: str, message_id: int, *, each_side: int = AROUND
    ) -> TranscriptPage:
        """Read the messages around one of them.

        Args:
            session_id: The conversation (its tip).
            message_id: A message of any part of it.
            each_side: The maximum number of messages before and after it.

        Returns:
            The end of the conversation, as :meth:`open` reads it, if the message is no longer part
            of it.

        Raises:
            NotFoundError: The session is gone.
            StateError: The database cannot be read.
        """
        return await self._readers.run(self._around, session_id, message_id, each_side)

    async def newer(
        self, session_id: str, last: Message, *, limit: int = NEXT_PAGE
    ) -> TranscriptPage:
        """Read the messages after the last one shown.

        Args:
            session_id: The conversation (its tip).
            last: The last message shown.
            limit: The maximum number of messages.
        """
        return await self._readers.run(self._newer, session_id, last, limit)

    async def older(
        self, session_id: str, first: Message, *, limit: int = NEXT_PAGE
    ) -> TranscriptPage:
        """Read the messages before the first one shown.

        Args:
            session_id: The conversation (its tip).
            first: The first message shown.
            limit: The maximum number of messages.
        """
        return await self._readers.run(self._older, session_id, first, limit)

    async def refresh(
        self, session_id: str, first: Message | None, last: Message | None = None
    ) -> TranscriptPage:
        """Read the shown messages again, and those that came after them.

        Args:
            session_id: The conversation (its tip).
            first: The first message shown; None when nothing is shown.
            last: Read no further than this one: later messages are not shown.

        Returns:
            Messages from ``first`` on, at most the last 400 of them. Unchanged messages are equal
            to those of the page before. An empty result for a session that had messages means that
            they were undone.
        """
        return await self._readers.run(self._refresh, session_id, first, last)

    def _open(self, session_id: str, limit: int) -> TranscriptPage:
        session = existing_summary(self._db, session_id)
        self._opened = frozenset({session.id})
        messages = self._db.read_messages(session.id, limit=limit)
        if len(messages) < limit:
            messages = self._fill_from_chain(session.id, messages, limit)
        return self._page(session, tuple(messages), self._has_older(session.id, messages))

    def _older(self, session_id: str, first: Message, limit: int) -> TranscriptPage:
        session = existing_summary(self._db, session_id)
        messages = self._db.read_messages(first.session_id, before_id=first.id, limit=limit)
        if len(messages) < limit:
            messages = self._fill_from_chain(first.session_id, messages, limit)
        return self._page(session, tuple(messages), self._has_older(session.id, messages))

    def _around(self, session_id: str, message_id: int, each_side: int) -> TranscriptPage:
        session = existing_summary(self._db, session_id)
        parts = self._parts(session.id)
        found = self._db.messages_by_ids([message_id])
        if not found or found[0].session_id not in parts:
            return self._open(session_id, FIRST_PAGE)
        part = found[0].session_id
        before = self._db.read_messages(part, before_id=message_id, limit=each_side)
        if len(before) < each_side:
            before = self._fill_from_chain(part, before, each_side)
        rest = self._rest(parts, part, message_id - 1, each_side + 2)
        if not rest or rest[0].id != message_id:
            return self._open(session_id, FIRST_PAGE)  # it was rewound
        self._opened = frozenset({session.id})
        messages = [*before, *rest[: each_side + 1]]
        return self._page(
            session,
            tuple(messages),
            self._has_older(session.id, messages),
            has_newer=len(rest) > each_side + 1,
        )

    def _newer(self, session_id: str, last: Message, limit: int) -> TranscriptPage:
        session = existing_summary(self._db, session_id)
        rest = self._rest(self._parts(session.id), last.session_id, last.id, limit + 1)
        return self._page(session, tuple(rest[:limit]), has_older=True, has_newer=len(rest) > limit)

    def _page(
        self,
        session: SessionSummary,
        messages: tuple[Message, ...],
        has_older: bool,  # noqa: FBT001 - the fields of a page
        has_newer: bool = False,  # noqa: FBT001, FBT002
    ) -> TranscriptPage:
        """Return a page on which each active summary has the number of messages it stands for."""
        counted = tuple(map(self._counted, messages))
        return TranscriptPage(session, counted, has_older, has_newer)

    def _counted(self, message: Message) -> Message:
        if not message.active or not message.content.startswith(SUMMARY_MARK):
            return message
        if message.id not in self._stands_for:  # constant while the summary is active
            if len(self._stands_for) >= _REMEMBERED:
                self._stands_for.clear()
            count = self._db.count_not_told(message.session_id, message.id, SUMMARY_MARK)
            self._stands_for[message.id] = count
        return replace(message, stands_for=self._stands_for[message.id] or None)

    def _rest(self, parts: list[str], part: str, after_id: int, limit: int) -> list[Message]:
        """Return messages after an id of one part, continuing through the parts that follow."""
        found: list[Message] = []
        begin = parts.index(part) if part in parts else len(parts) - 1
        for each in parts[begin:]:
            edge = after_id if each == part else 0
            wanted = limit - len(found)
            found += self._db.read_messages(each, after_id=edge, limit=wanted)
            if len(found) >= limit:
                break
        return found

    def _refresh(
        self, session_id: str, first: Message | None, last: Message | None
    ) -> TranscriptPage:
        session = existing_summary(self._db, session_id)
        if first is None:
            return self._open(session_id, FIRST_PAGE)
        if last is not None:
            return self._refresh_between(session, first, last)
        messages: list[Message] = []
        parts = self._parts(session.id)
        begin = parts.index(first.session_id) if first.session_id in parts else len(parts) - 1
        for part in parts[begin:]:
            after = first.id - 1 if part == first.session_id else None
            messages += self._db.read_messages(part, after_id=after, limit=REFRESH_LIMIT)
        messages = messages[-REFRESH_LIMIT:]
        return self._page(session, tuple(messages), self._has_older(session.id, messages))

    def _refresh_between(
        self, session: SessionSummary, first: Message, last: Message
    ) -> TranscriptPage:
        parts = self._parts(session.id)
        rest = self._rest(parts, first.session_id, first.id - 1, REFRESH_LIMIT)
        order = {part: number for number, part in enumerate(parts)}
        end = (order.get(last.session_id, len(parts)), last.id)
        kept = [each for each in rest if (order.get(each.session_id, 0), each.id) <= end]
        newer = len(kept) < len(rest) or bool(
            self._rest(parts, last.session_id, last.id, 1) if kept else rest
        )
        return self._page(session, tuple(kept), self._has_older(session.id, kept), has_newer=newer)

    def _fill_from_chain(
        self, session_id: str, messages: list[Message], limit: int
    ) -> list[Message]:
        """Prepend messages of earlier parts until there are enough."""
        parts = self._parts(session_id)
        position = parts.index(session_id) if session_id in parts else 0
        while position > 0 and len(messages) < limit:
            position -= 1
            wanted = limit - len(messages)
            messages = self._db.read_messages(parts[position], limit=wanted) + messages
        return messages

    def _has_older(self, session_id: str, messages: list[Message]) -> bool:
        if not messages:
            return False
        first = messages[0]
        if self._db.read_messages(first.session_id, before_id=first.id, limit=1):
            return True
        parts = self._parts(session_id)
        if first.session_id not in parts:
            return False
        earlier = parts[: parts.index(first.session_id)]
        return any(self._db.read_messages(part, limit=1) for part in reversed(earlier))

    def _parts(self, session_id: str) -> list[str]:
        """Return the chain's ids, oldest first, up to and including the given one."""
        parts = self._db.get_compression_lineage(session_id) or [session_id]
        return parts[: parts.index(session_id) + 1] if session_id in parts else [session_id]
