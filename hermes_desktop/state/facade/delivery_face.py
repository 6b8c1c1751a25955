"""The methods of SessionDB for the gateway's outbox and inbox."""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import Any

from hermes_desktop.state.database.schema import SCHEMA_VERSION
from hermes_desktop.state.facade.store_face import StoreReader, WritingFace
from hermes_desktop.state.records.content_codec import clean_text, decode_content
from hermes_desktop.state.sessions import lineage
from hermes_desktop.state.shared_tables import delivery_table
from hermes_desktop.state.shared_tables.delivery_table import Obligation, ObligationState, Owner


class DeliveryReads(StoreReader):
    """The part of ``SessionDB`` that looks up replies and received messages."""

    @property
    def keeps_deliveries(self) -> bool:
        """Whether the outbox may be stored in this file.

        The file is writable, not of a newer version, and the table has no other columns.
        """
        version = self.layout.version
        if not self.condition.writable or version is None or version > SCHEMA_VERSION:
            return False
        return self.read(delivery_table.fits)

    def open_deliveries(self, platforms: Collection[str]) -> list[Obligation]:
        """Return replies for these platforms not known to be delivered, the oldest first."""
        return self.read(lambda conn: delivery_table.open_ones(conn, platforms))

    def delivery_owed_since(self, session_key: str, since: float) -> bool:
        """Return whether a reply to a chat was recorded at or after a time."""
        return self.read(lambda conn: delivery_table.owed_since(conn, session_key, since))

    def last_message_row(self) -> int:
        """Return the greatest row id of all messages, 0 when there are none."""
        return int(
            self.read(lambda conn: conn.execute("SELECT max(id) FROM messages").fetchone()[0]) or 0
        )

    def reply_after(
        self, session_id: str, after_row: int, message_id: str | None = None
    ) -> str | None:
        """Return the finished reply with which a conversation ends, if it was added after a row.

        Args:
            session_id: The conversation, by its id at that time.
            after_row: The row.
            message_id: The platform's message that it answers. If another sender wrote just before
                or after that, it is ambiguous whom the reply answers: the result is None then.
        """
        return self.read(lambda conn: _reply_after(conn, session_id, after_row, message_id))

    def prompt_stored_after(
        self, session_id: str, after_row: int, message_id: str | None = None
    ) -> bool:
        """Return whether a platform's message is in a conversation; without an id, any prompt."""
        return self.read(lambda conn: _prompt_after(conn, session_id, after_row, message_id))

    def overtaken_after(self, session_id: str, after_row: int, message_id: str | None) -> bool:
        """Return whether the last reply may answer another message than the platform's one."""
        return self.read(
            lambda conn: _is_overtaken(_rows_after(conn, session_id, after_row), message_id)
        )

    def chat_has_message(self, session_key: str, message_id: str) -> bool:
        """Return whether a platform's message is stored in one of the latest sessions of a chat."""
        return self.read(lambda conn: _chat_has_message(conn, session_key, message_id))


class DeliveryFace(WritingFace, DeliveryReads):
    """The part of ``SessionDB`` that writes the outbox."""

    def owe_delivery(self, owed: Obligation, owner: Owner) -> None:
        """Store a reply before it is sent."""
        now = self._clock.time()
        self._on_deliveries(lambda conn: delivery_table.owe(conn, owed, owner, now))

    def set_delivery_state(
        self, obligation_id: str, state: ObligationState, error: str | None = None
    ) -> None:
        """Store the delivery state of a reply."""
        now = self._clock.time()
        self._on_deliveries(
            lambda conn: delivery_table.set_state(conn, obligation_id, state, now, error)
        )

    def take_over_delivery(self, owed: Obligation, owner: Owner) -> bool:
        """Claim a reply; False when another process was faster."""
        now = self._clock.time()
        return bool(
            self._on_deliveries(lambda conn: delivery_table.take_over(conn, owed, owner, now))
        )

    def forgive_delivery_attempt(self, obligation_id: str) -> None:
        """Subtract an attempt that was certainly never sent."""
        self._on_deliveries(lambda conn: delivery_table.forgive(conn, obligation_id))

    def prune_deliveries(self) -> None:
        """Delete old settled replies."""
        now = self._clock.time()
        self._on_deliveries(lambda conn: delivery_table.prune(conn, now))

    def _on_deliveries(self, fn: Callable[[sqlite3.Connection], Any]) -> Any:
        def run(conn: sqlite3.Connection) -> Any:
            delivery_table.ensure(conn)
            return fn(conn)

        return self._execute_write(run)


def _reply_after(
    conn: sqlite3.Connection, session_id: str, after_row: int, message_id: str | None
) -> str | None:
    rows = _rows_after(conn, session_id, after_row)
    last = rows[-1] if rows and rows[-1]["id"] > after_row else None
    if last is None or last["role"] != "assistant" or last["tool_calls"]:
        return None
    if message_id is not None and not _is_answered_by(rows, message_id):
        return None
    content = decode_content(last["content"])
    return content if isinstance(content, str) and content.strip() else None


def _prompt_after(
    conn: sqlite3.Connection, session_id: str, after_row: int, message_id: str | None
) -> bool:
    rows = [row for row in _rows_after(conn, session_id, after_row) if row["id"] > after_row]
    if message_id is None:
        return any(row["role"] == "user" for row in rows)
    return any(_is_message(row, message_id) for row in rows)


def _rows_after(conn: sqlite3.Connection, session_id: str, after_row: int) -> list[sqlite3.Row]:
    """Return what was written since a turn began, also in the session's continuation.

    The first row is the one that was the last when the turn began.
    """
    wanted = clean_text(session_id)
    last = lineage.compression_tip(conn, wanted) or wanted
    names = "id, role, content, tool_calls, platform_message_id"
    of_it = "session_id IN (?, ?) AND (active = 1 OR compacted = 1) AND role <> 'session_meta'"
    before = conn.execute(
        f"SELECT {names} FROM messages WHERE {of_it} AND id <= ? ORDER BY id DESC LIMIT 1",
        (wanted, last, after_row),
    ).fetchall()
    found = conn.execute(
        f"SELECT {names} FROM messages WHERE {of_it} AND id > ? ORDER BY id",
        (wanted, last, after_row),
    ).fetchall()
    return [*before, *found]


def _is_answered_by(rows: Sequence[sqlite3.Row], message_id: str | None) -> bool:
    """Return whether the last reply of a conversation can only answer this message.

    That is so if no message was unanswered when it came, and no user message followed it.
    """
    asked = [at for at, row in enumerate(rows) if _is_message(row, message_id)]
    if not asked or any(row["role"] == "user" for row in rows[asked[-1] + 1 :]):
        return False
    before = rows[asked[-1] - 1] if asked[-1] else None
    return before is None or (before["role"] == "assistant" and not before["tool_calls"])


def _is_overtaken(rows: Sequence[sqlite3.Row], message_id: str | None) -> bool:
    """Return whether a message is stored, but the last reply may answer another one."""
    known = any(_is_message(row, message_id) for row in rows)
    return known and not _is_answered_by(rows, message_id)


def _is_message(row: sqlite3.Row, message_id: str | None) -> bool:
    return message_id is not None and row["platform_message_id"] == clean_text(message_id)


def _chat_has_message(conn: sqlite3.Connection, session_key: str, message_id: str) -> bool:
    row = conn.execute(
        "SELECT 1 FROM (SELECT id FROM sessions WHERE session_key = ? "
        "ORDER BY started_at DESC LIMIT 20) AS latest JOIN messages AS m "
        "ON m.session_id = latest.id AND m.platform_message_id = ? LIMIT 1",
        (clean_text(session_key), clean_text(message_id)),
    ).fetchone()
    return row is not None
