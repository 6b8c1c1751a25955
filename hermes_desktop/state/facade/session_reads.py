"""The reading methods of SessionDB."""

import sqlite3
from collections.abc import Collection, Sequence
from typing import Any, Literal, Unpack

from hermes_desktop.state.conversations import messages_table
from hermes_desktop.state.facade.pin_face import PinReads
from hermes_desktop.state.records import transcript_rows
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import Message, SessionMark, SessionRow, SessionSummary
from hermes_desktop.state.sessions import (
    lineage,
    session_list,
    session_summaries,
    sessions_table,
    titles,
)
from hermes_desktop.state.sessions.session_list import ListFilter, ListOptions


class SessionReads(PinReads):
    """The reading half of :class:`SessionDB`; any thread may use it.

    All methods may raise ``BusyError`` and ``StateError``.
    """

    def get_session(self, session_id: str) -> SessionRow | None:
        """Return all columns of a session by name, None if there is none."""
        return self.read(lambda conn: sessions_table.get(conn, session_id))

    def resolve_session_id(self, session_id_or_prefix: str) -> str | None:
        """Return the id that is this text or the only one that begins with it; "" finds nothing."""
        return self.read(lambda conn: sessions_table.find_by_prefix(conn, session_id_or_prefix))

    def ids_with_prefix(self, text: str, *, limit: int) -> list[str]:
        """Return at most ``limit`` ids that begin with the text; "" finds nothing."""
        return self.read(lambda conn: sessions_table.ids_with_prefix(conn, text, limit=limit))

    @staticmethod
    def sanitize_title(title: str | None) -> str | None:
        """Return the title as it would be stored; see :func:`titles.sanitize_title`."""
        return titles.sanitize_title(title)

    def get_session_title(self, session_id: str) -> str | None:
        """Return a session's title, None without one."""
        title = self.read(lambda conn: sessions_table.column(conn, session_id, "title"))
        return title if isinstance(title, str) else None

    def get_session_by_title(self, title: str) -> SessionRow | None:
        """Return the session with exactly this title."""

        def find(conn: sqlite3.Connection) -> SessionRow | None:
            row = conn.execute("SELECT * FROM sessions WHERE title = ?", (clean_text(title),))
            found = row.fetchone()
            return None if found is None else dict(found)

        return self.read(find)

    def resolve_session_by_title(self, title: str) -> str | None:
        """Return the id for a title: the newest ``title #…`` if any exists, else the exact one."""
        return self.read(lambda conn: titles.find_by_title(conn, clean_text(title)))

    def get_next_title_in_lineage(self, base_title: str) -> str:
        """Return the next free title of this name: the name itself, or numbered ``#2`` and up."""
        return self.read(lambda conn: titles.next_title(conn, clean_text(base_title)))

    def get_compression_tip(self, session_id: str) -> str:
        """Return the last continuation of a conversation that was compressed."""
        return self.read(lambda conn: lineage.compression_tip(conn, clean_text(session_id)))

    def get_compression_lineage(self, session_id: str) -> list[str]:
        """Return all segments of the conversation a session belongs to, in order."""
        return self.read(lambda conn: lineage.compression_lineage(conn, clean_text(session_id)))

    def get_conversation_root(self, session_id: str) -> str:
        """Return the oldest ancestor of a session, the session itself if it has none."""
        return self.read(lambda conn: lineage.conversation_root(conn, clean_text(session_id)))

    def resolve_resume_session_id(self, session_id: str) -> str:
        """Return the session to continue when this one is resumed."""
        return self.read(lambda conn: lineage.resume_target(conn, clean_text(session_id)))

    def get_messages(
        self,
        session_id: str,
        include_inactive: bool = False,  # noqa: FBT001, FBT002 - see __init__
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return messages with all columns, in order, content and tool calls decoded."""
        rows = self.read(
            lambda conn: messages_table.select(
                conn, [session_id], include_inactive=include_inactive, limit=limit, offset=offset
            )
        )
        return [messages_table.decoded(row) for row in rows]

    def message_count(self, session_id: str | None = None) -> int:
        """Return the number of message rows, inactive ones included."""
        return self.read(lambda conn: messages_table.count(conn, session_id))

    def has_archived_messages(self, session_id: str) -> bool:
        """Return whether a session has messages that were summarized away."""
        return self.read(lambda conn: messages_table.has_archived(conn, session_id))

    def has_platform_message_id(self, session_id: str, platform_message_id: str) -> bool:
        """Return whether a platform's message is already stored."""
        return self.read(
            lambda conn: messages_table.has_platform_message(conn, session_id, platform_message_id)
        )

    def list_sessions_rich(
        self, source: str | None = None, **options: Unpack[ListOptions]
    ) -> list[SessionRow]:
        """Return the session list as rows; the options are those of ``ListFilter``."""
        choice = ListFilter(source=source, **options)
        return self.read(lambda conn: session_list.list_rich(conn, choice, self.layout))

    def search_sessions(
        self, source: str | None = None, limit: int = 20, offset: int = 0
    ) -> list[SessionRow]:
        """Return all sessions, children and archived ones too, the latest activity first."""
        return self.read(lambda conn: session_list.recent_rows(conn, source, limit, offset))

    def session_count(
        self,
        source: str | None = None,
        *,
        exclude_children: bool = False,
        **options: Unpack[ListOptions],
    ) -> int:
        """Return the number of sessions; limit and order do not matter."""
        options["include_children"] = not exclude_children
        choice = ListFilter(source=source, **options)
        return self.read(lambda conn: session_list.count(conn, choice, self.layout))

    def list_summaries(  # noqa: PLR0913 - each is a choice of the list page
        self,
        *,
        source: str | None = None,
        exclude_sources: Sequence[str] = ("tool",),
        limit: int | None = 20,
        offset: int = 0,
        order: Literal["created", "activity"] = "created",
        query: str | None = None,
        include_archived: bool = False,
        empty: bool | None = None,
    ) -> list[SessionSummary]:
        """Return the session list as records.

        Args:
            source: Only this one, exactly as stored; then nothing is excluded.
            exclude_sources: Left out when no source is named.
            limit: Maximum number of records; None for all.
            offset: Number of records to skip.
            order: By start, or by the latest message; newest first.
            query: Part of a title or id.
            include_archived: Include archived ones too.
            empty: True for sessions without messages only, False for those with.
        """
        choice = ListFilter(
            source=source,
            exclude_sources=() if source is not None else tuple(exclude_sources),
            limit=limit,
            offset=offset,
            order_by_last_active=order == "activity",
            include_archived=include_archived,
            search_query=query,
            search_by_start=bool(query),
            empty=empty,
        )
        own_pins = self.own_pins_if_readable()
        return self.read(
            lambda conn: session_summaries.list_summaries(conn, choice, self.layout, own_pins)
        )

    def summaries(self, ids: Collection[tuple[str, str]]) -> dict[str, SessionSummary]:
        """Return list records for pairs of (root id, tip id), by tip id, without missing rows."""
        own_pins = self.own_pins_if_readable()
        return self.read(lambda conn: session_summaries.summaries(conn, ids, own_pins))

    def summary(self, session_id: str) -> SessionSummary | None:
        """Return the list record that covers this session: fields of its root, as of its tip."""
        own_pins = self.own_pins_if_readable()

        def find(conn: sqlite3.Connection) -> SessionSummary | None:
            own = clean_text(session_id)
            root = lineage.conversation_start(conn, own)
            tip = lineage.compression_tip(conn, root)
            return session_summaries.summaries(conn, [(root, tip)], own_pins).get(tip)

        return self.read(find)

    def count_not_told(self, session_id: str, before_id: int, mark: str) -> int:
        """Return how many messages a summary replaces.

        See :func:`transcript_rows.count_not_told`.
        """
        return self.read(
            lambda conn: transcript_rows.count_not_told(conn, session_id, before_id, mark)
        )

    def read_messages(
        self,
        session_id: str,
        *,
        before_id: int | None = None,
        after_id: int | None = None,
        limit: int = 60,
    ) -> list[Message]:
        """Return a page of visible messages, in order of their ids.

        Args:
            session_id: The session; messages of other segments are not included.
            before_id: The last ``limit`` messages before this row.
            after_id: The first ``limit`` messages after this row.
            limit: Size of the page. Without an edge: the newest messages.
        """
        return self.read(
            lambda conn: transcript_rows.read_page(
                conn, session_id, before_id=before_id, after_id=after_id, limit=limit
            )
        )

    def messages_by_ids(self, ids: Collection[int]) -> list[Message]:
        """Return messages by row id in order, hidden ones too; missing ones are left out."""
        return self.read(lambda conn: transcript_rows.messages_by_ids(conn, ids))

    def session_mark(self, session_id: str) -> SessionMark | None:
        """Return a fingerprint of a session, to be compared later; None if the session is gone."""
        return self.read(lambda conn: self._marks.read(conn, session_id))
