"""What the gateway's outbox and inbox ask of the conversation store, as methods of it."""

import sqlite3
from collections.abc import Callable, Collection
from typing import Any

from hermes_desktop.state import delivery_table, lineage
from hermes_desktop.state.content_codec import clean_text, decode_content
from hermes_desktop.state.delivery_table import Obligation, ObligationState, Owner
from hermes_desktop.state.schema import SCHEMA_VERSION
from hermes_desktop.state.store_face import StoreFace, WritingFace


class DeliveryReads(StoreFace):
    """The part of ``SessionDB`` that looks for replies and for messages that came before."""

    @property
    def keeps_deliveries(self) -> bool:
        """Whether the outbox may stand in this file.

        It can be written, is of no newer kind, and nobody gave the table other columns.
        """
        version = self.layout.version
        if not self.condition.writable or version is None or version > SCHEMA_VERSION:
            return False
        return self.read(delivery_table.fits)

    def open_deliveries(self, platforms: Collection[str]) -> list[Obligation]:
        """Replies for these platforms that did not surely arrive, the oldest first."""
        return self.read(lambda conn: delivery_table.open_ones(conn, platforms))

    def delivery_owed_since(self, session_key: str, since: float) -> bool:
        """Whether a reply to a chat was noted at or after a moment."""
        return self.read(lambda conn: delivery_table.owed_since(conn, session_key, since))

    def last_message_row(self) -> int:
        """The greatest row of all messages, 0 when there are none."""
        return int(
            self.read(lambda conn: conn.execute("SELECT max(id) FROM messages").fetchone()[0]) or 0
        )

    def reply_after(self, session_id: str, after_row: int) -> str | None:
        """The finished reply that a conversation ends with, if it came after a row."""
        return self.read(lambda conn: _reply_after(conn, session_id, after_row))

    def prompt_stored_after(self, session_id: str, after_row: int) -> bool:
        """Whether somebody said something in a conversation after a row."""
        return self.read(lambda conn: _prompt_after(conn, session_id, after_row))

    def chat_has_message(self, session_key: str, message_id: str) -> bool:
        """Whether a platform's message is stored in one of the latest sessions of a chat."""
        return self.read(lambda conn: _chat_has_message(conn, session_key, message_id))


class DeliveryFace(WritingFace, DeliveryReads):
    """The part of ``SessionDB`` that writes the outbox."""

    def owe_delivery(self, owed: Obligation, owner: Owner) -> None:
        """Note a reply before it is sent."""
        now = self._clock.time()
        self._on_deliveries(lambda conn: delivery_table.owe(conn, owed, owner, now))

    def set_delivery_state(
        self, obligation_id: str, state: ObligationState, error: str | None = None
    ) -> None:
        """Note how far a reply got."""
        now = self._clock.time()
        self._on_deliveries(
            lambda conn: delivery_table.set_state(conn, obligation_id, state, now, error)
        )

    def take_over_delivery(self, owed: Obligation, owner: Owner) -> bool:
        """Become the one who sees to a reply; False when somebody else was faster."""
        now = self._clock.time()
        return bool(
            self._on_deliveries(lambda conn: delivery_table.take_over(conn, owed, owner, now))
        )

    def forgive_delivery_attempt(self, obligation_id: str) -> None:
        """Take back the count of an attempt that surely did not leave."""
        self._on_deliveries(lambda conn: delivery_table.forgive(conn, obligation_id))

    def prune_deliveries(self) -> None:
        """Forget old settled replies."""
        now = self._clock.time()
        self._on_deliveries(lambda conn: delivery_table.prune(conn, now))

    def _on_deliveries(self, fn: Callable[[sqlite3.Connection], Any]) -> Any:
        def run(conn: sqlite3.Connection) -> Any:
            delivery_table.ensure(conn)
            return fn(conn)

        return self._execute_write(run)


def _reply_after(conn: sqlite3.Connection, session_id: str, after_row: int) -> str | None:
    wanted = clean_text(session_id)
    last = lineage.compression_tip(conn, wanted) or wanted
    row = conn.execute(
        "SELECT role, content, tool_calls FROM messages WHERE session_id IN (?, ?) AND active = 1 "
        "AND id > ? ORDER BY id DESC LIMIT 1",
        (wanted, last, after_row),
    ).fetchone()
    if row is None or row["role"] != "assistant" or row["tool_calls"]:
        return None
    content = decode_content(row["content"])
    return content if isinstance(content, str) and content.strip() else None


def _prompt_after(conn: sqlite3.Connection, session_id: str, after_row: int) -> bool:
    wanted = clean_text(session_id)
    last = lineage.compression_tip(conn, wanted) or wanted
    row = conn.execute(
        "SELECT 1 FROM messages WHERE session_id IN (?, ?) AND role = 'user' AND id > ? LIMIT 1",
        (wanted, last, after_row),
    ).fetchone()
    return row is not None


def _chat_has_message(conn: sqlite3.Connection, session_key: str, message_id: str) -> bool:
    row = conn.execute(
        "SELECT 1 FROM (SELECT id FROM sessions WHERE session_key = ? "
        "ORDER BY started_at DESC LIMIT 20) AS latest JOIN messages AS m "
        "ON m.session_id = latest.id AND m.platform_message_id = ? LIMIT 1",
        (clean_text(session_key), clean_text(message_id)),
    ).fetchone()
    return row is not None
