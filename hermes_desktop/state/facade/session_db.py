"""SessionDB: a thread-safe facade of one state.db that delegates to the modules of this package."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import StateError
from hermes_desktop.core.paths import resolve_paths
from hermes_desktop.state.conversations import messages_table
from hermes_desktop.state.conversations.messages_table import MessageFields
from hermes_desktop.state.database.connection import Patience
from hermes_desktop.state.facade import long_rewind
from hermes_desktop.state.facade.compaction_face import CompactionMixin
from hermes_desktop.state.facade.conversation_face import ConversationFace
from hermes_desktop.state.facade.delivery_face import DeliveryFace
from hermes_desktop.state.facade.gateway_face import GatewayFace
from hermes_desktop.state.facade.maintenance_face import MaintenanceFace
from hermes_desktop.state.facade.search_mixin import SearchFace
from hermes_desktop.state.facade.transfer_face import TransferFace
from hermes_desktop.state.facade.usage_face import UsageFace
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.sessions import sessions_table, titles
from hermes_desktop.state.sessions.sessions_table import OptionalFields, SessionFields


class SessionDB(
    MaintenanceFace,
    TransferFace,
    ConversationFace,
    CompactionMixin,
    GatewayFace,
    DeliveryFace,
    UsageFace,
    SearchFace,
):
    """The conversations of one home. Thread-safe, starts no thread.

    Every write is one short transaction. While another program locks the file a write waits, about
    20 s at most. All methods may raise ``BusyError`` and ``StateError`` (among them
    ``StateReadOnlyError`` for writes to a file that is only read, see :attr:`condition`).

    Args:
        db_path: The file; created (mode 0600) if missing. None: that of the home the environment
            names.
        read_only: Never create or write anything.
        clock: The source of times.
        patience: How long writes wait for other programs.

    Raises:
        StateUnavailableError: The file cannot be opened or is not a conversation store; it was left
            unchanged.
        BusyError: Another program keeps it locked.
    """

    def __init__(
        self,
        db_path: Path | str | None = None,
        read_only: bool = False,  # noqa: FBT001, FBT002 - positional in programs that use this class
        *,
        clock: Clock | None = None,
        patience: Patience | None = None,
    ) -> None:
        path = Path(db_path) if db_path is not None else resolve_paths(os.environ).state_db
        super().__init__(
            path,
            read_only=read_only,
            patience=patience or Patience(),
            clock=clock or SystemClock(),
        )

    def create_session(self, session_id: str, source: str, **fields: Unpack[SessionFields]) -> str:
        """Create a session; in an existing one only fill in missing values. Returns the id.

        Raises:
            MissingSessionError: ``parent_session_id`` names no session.
        """
        now = self._clock.time()
        layout = self.layout
        self._execute_write(
            lambda conn: sessions_table.insert(conn, session_id, source, now, fields, layout)
        )
        return session_id

    def ensure_session(
        self,
        session_id: str,
        source: str = "unknown",
        model: str | None = None,
        **fields: Unpack[OptionalFields],
    ) -> str:
        """Create a session like :meth:`create_session`, when it may already exist."""
        return self.create_session(session_id, source, model=model, **fields)

    def end_session(self, session_id: str, end_reason: str) -> None:
        """End an open session; the first reason stays."""
        now = self._clock.time()
        self._execute_write(lambda conn: sessions_table.end(conn, session_id, end_reason, now))

    def reopen_session(self, session_id: str) -> None:
        """Reopen an ended session."""
        self._execute_write(lambda conn: sessions_table.reopen(conn, session_id))

    def promote_to_session_reset(self, session_id: str, reason: str = "session_reset") -> bool:
        """End a session deliberately, also one that only lost its agent. Never raises StateError.

        Returns:
            Whether this call ended it.
        """
        now = self._clock.time()
        try:
            return self._execute_write(
                lambda conn: sessions_table.end_by_reset(conn, session_id, reason, now)
            )
        except StateError:
            return False

    def update_session_model(self, session_id: str, model: str) -> None:
        """Store which model the session uses from now on."""
        self._set_column(session_id, "model", model)

    def _set_column(self, session_id: str, name: str, value: Any) -> None:
        self._execute_write(lambda conn: sessions_table.set_column(conn, session_id, name, value))

    def set_session_title(self, session_id: str, title: str | None) -> bool:
        """Set the title of a session; a blank one removes it. False: no such session.

        Raises:
            TitleError: Too long, or another session has it.
        """
        clean = titles.sanitize_title(title)
        wanted = clean_text(session_id)
        return self._execute_write(
            lambda conn: titles.set_title(conn, wanted, clean, chosen_by=self._noted("user"))
        )

    def set_auto_title_if_empty(self, session_id: str, title: str) -> bool:
        """Set a generated title of a session that has none. False: nothing was done.

        Raises:
            TitleError: Too long, or another session has it.
        """
        clean = titles.sanitize_title(title)
        wanted = clean_text(session_id)
        return clean is not None and self._execute_write(
            lambda conn: titles.set_if_empty(conn, wanted, clean, chosen_by=self._noted("llm"))
        )

    def _noted(self, chosen_by: str) -> str | None:
        """Return the origin of a title for files that store it (later versions do), else None."""
        return chosen_by if "title_source" in self.layout.columns["sessions"] else None

    def append_message(
        self, session_id: str, role: str, content: Any = None, **fields: Unpack[MessageFields]
    ) -> int:
        """Add a message and update the session's counters. Returns the row id.

        Raises:
            MissingSessionError: The session has no row (any more).
        """
        message = {"role": role, "content": content, **fields}
        add = messages_table.addition(
            session_id, message, self._clock.time(), notes_time=self._file.notes_activity
        )
        return self._execute_write(add)

    def replace_messages(
        self,
        session_id: str,
        messages: Sequence[Mapping[str, Any]],
        active_only: bool = False,  # noqa: FBT001, FBT002 - see __init__
    ) -> None:
        """Replace all messages, or the active ones, by other messages."""
        now = self._clock.time()
        self._execute_write(
            lambda conn: messages_table.replace(
                conn, session_id, messages, now, active_only=active_only
            )
        )

    def archive_and_compact(
        self, session_id: str, compacted_messages: Sequence[Mapping[str, Any]]
    ) -> int:
        """Archive the active messages, still visible, and insert a new context.

        Returns:
            How many messages were archived.
        """
        now = self._clock.time()
        return self._execute_write(
            lambda conn: messages_table.archive_and_compact(
                conn, session_id, compacted_messages, now
            )
        )

    def clear_messages(self, session_id: str) -> None:
        """Delete all messages of a session and reset its counters."""
        long_rewind.clear(self, session_id)

    def rewind_to_message(self, session_id: str, target_message_id: int) -> dict[str, Any]:
        """Undo a user message and what follows; see :func:`messages_table.rewind`.

        Raises:
            ValueError: No such message in this session, or not the user's.
        """
        return long_rewind.rewind(self, session_id, target_message_id)

    def restore_rewound(self, session_id: str, since_message_id: int) -> int:
        """Restore undone messages from this row on. Returns how many rows."""
        return long_rewind.restore(self, session_id, since_message_id)
