"""The conversation methods of SessionDB: the model's context, and views for the user."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from hermes_desktop.state.conversations import (
    alternation,
    conversation,
    message_windows,
    messages_table,
)
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.facade import long_branch
from hermes_desktop.state.facade.store_face import StoreReader, WritingFace
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, silent
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import SessionRow
from hermes_desktop.state.sessions import lineage, session_facts, session_list
from hermes_desktop.state.sessions.session_list import ListFilter

Conversation = list[dict[str, Any]]


class ConversationReads(StoreReader):
    """The part of ``SessionDB`` that reads conversations, parts of them, and special lists."""

    def get_messages_as_conversation(
        self,
        session_id: str,
        include_ancestors: bool = False,  # noqa: FBT001, FBT002 - positional in programs that use this class
        include_inactive: bool = False,  # noqa: FBT001, FBT002
        repair_alternation: bool = False,  # noqa: FBT001, FBT002
    ) -> Conversation:
        """Return messages in the model's format.

        Args:
            session_id: The session.
            include_ancestors: Include the messages of all ancestors before its own.
            include_inactive: Include messages that were undone or summarized away.
            repair_alternation: Repair to the order that endpoints require; see :mod:`alternation`.
        """

        def select(conn: sqlite3.Connection) -> list[sqlite3.Row]:
            start = clean_text(session_id)
            ids = lineage.ancestry(conn, start) if include_ancestors else [start]
            return messages_table.select(conn, ids, include_inactive=include_inactive)

        found = conversation.conversation(self.read(select), drop_replayed=include_ancestors)
        return alternation.repaired(found) if repair_alternation else found

    def get_resume_conversations(self, session_id: str) -> tuple[Conversation, Conversation]:
        """Return the repaired context for the model, and the whole conversation for the user."""
        told = self.get_messages_as_conversation(session_id, repair_alternation=True)
        shown = self.get_messages_as_conversation(session_id, include_ancestors=True)
        return told, shown

    def get_ancestor_display_prefix(self, session_id: str) -> Conversation:
        """Return the messages of a session's ancestors, which are shown before its own."""

        def select(conn: sqlite3.Connection) -> list[sqlite3.Row]:
            ids: Sequence[str] = lineage.ancestry(conn, clean_text(session_id))[:-1]
            return messages_table.select(conn, ids, include_inactive=False)

        return conversation.conversation(self.read(select), drop_replayed=True)

    def get_messages_around(
        self, session_id: str, around_message_id: int, window: int = 5
    ) -> dict[str, Any]:
        """Return a message and its neighbors; see :func:`message_windows.around`."""
        return self.read(
            lambda conn: message_windows.around(conn, session_id, around_message_id, window)
        )

    def get_anchored_view(
        self,
        session_id: str,
        around_message_id: int,
        window: int = 5,
        bookend: int = 3,
        keep_roles: Sequence[str] | None = ("user", "assistant"),
    ) -> dict[str, Any]:
        """Return a message, its neighbors, and the beginning and end of the conversation."""
        return self.read(
            lambda conn: message_windows.anchored(
                conn,
                session_id,
                around_message_id,
                size=window,
                bookend=bookend,
                keep_roles=keep_roles,
            )
        )

    def list_recent_user_messages(
        self,
        session_id: str,
        limit: int = 20,
        include_inactive: bool = False,  # noqa: FBT001, FBT002 - see above
    ) -> list[dict[str, Any]]:
        """Return ``id``, ``timestamp`` and ``preview`` of the last user messages, newest first."""
        return self.read(
            lambda conn: message_windows.recent_user_messages(
                conn, session_id, limit, include_inactive=include_inactive
            )
        )

    def search_sessions_by_id(
        self,
        query: str,
        limit: int = 20,
        include_archived: bool = True,  # noqa: FBT001, FBT002 - see above
    ) -> list[SessionRow]:
        """Return list rows whose id, or that of a segment, contains a text; "" finds nothing.

        The exact id comes first, then ids that begin with the text, then the rest; within each
        group the most recently used first.
        """
        if not query.strip():
            return []
        choice = ListFilter(
            id_query=query.strip(),
            limit=limit,
            include_archived=include_archived,
            order_by_last_active=True,
        )
        return self.read(lambda conn: session_list.list_rich(conn, choice, self.layout))

    def list_cron_job_runs(self, job_id: str, limit: int = 20, offset: int = 0) -> list[SessionRow]:
        """Return the runs of a scheduled job, the latest first."""
        return self.read(
            lambda conn: session_list.runs_of_job(
                conn, job_id, self.layout, limit=limit, offset=offset
            )
        )

    def distinct_session_cwds(
        self,
        include_archived: bool = False,  # noqa: FBT001, FBT002 - see above
    ) -> list[SessionRow]:
        """Return ``cwd``, ``sessions`` and ``last_active`` of each folder, last used first."""
        return self.read(
            lambda conn: session_facts.distinct_cwds(conn, include_archived=include_archived)
        )


class ConversationFace(WritingFace, ConversationReads):
    """The part of ``SessionDB`` that copies conversations and stores the text actually sent."""

    def create_branch(
        self,
        branch: Branch,
        *,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> int:
        """Copy a conversation into a new session; see :class:`Branch`.

        A long one is copied in many transactions and stays hidden until it is complete.

        Args:
            branch: The session to copy, and its destination.
            on_progress: Receives the progress of a long copy.
            cancel: Once set, the partial copy is removed.

        Returns:
            How many messages were copied.

        Raises:
            MissingSessionError: The origin has no row.
            RefusedError: The id of the copy is taken.
            TitleError: The title is too long.
            CancelledError: ``cancel`` was set.
        """
        now = self._clock.time()
        return long_branch.create_branch(self, branch, now, on_progress=on_progress, cancel=cancel)

    def set_latest_user_api_content(self, session_id: str, content: Any, api_content: str) -> int:
        """Store the text that was sent for the last user message, if that is ``content``.

        Returns:
            1, or 0 when the last user message has another content.
        """
        return self._execute_write(
            lambda conn: message_windows.set_sent_text(conn, session_id, content, api_content)
        )
