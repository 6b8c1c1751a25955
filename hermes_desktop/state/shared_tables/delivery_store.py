"""The gateway's outbox and inbox. The conversation store determines which file has the outbox."""

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.state.shared_tables import delivery_table, inbox_table
from hermes_desktop.state.shared_tables.delivery_table import Obligation, ObligationState, Owner
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.shared_tables.inbox_table import InboxRow

if TYPE_CHECKING:
    from hermes_desktop.state.facade.session_db import SessionDB

__all__ = ["DeliveryStore", "InboxRow", "Obligation", "ObligationState", "Owner"]


class DeliveryStore:
    """The persistent outbox and inbox, for recovery if the process is killed.

    They bridge the time between receiving a message and delivering the reply. Blocking; any thread
    may use it. Only the process that holds the gateway's identity does. All methods may raise
    ``BusyError`` and ``StateError``.

    Args:
        db: The conversations. The outbox is stored in their file where that is allowed, so that the
            gateway of the ``hermes`` command finds the replies this program owes, and vice versa.
        own: desktop.db, which contains the inbox, and the outbox where the shared file does not.
        owner: Returns this process, which holds the home's identity.
        clock: The source of times.
    """

    def __init__(
        self,
        db: "SessionDB",
        own: DesktopDatabase,
        owner: Callable[[], Owner],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._db = db
        self._own = own
        self._owner = owner
        self._clock = clock or SystemClock()

    @property
    def owner(self) -> Owner:
        """This process."""
        return self._owner()

    # The outbox

    def owe(self, owed: Obligation) -> None:
        """Store a reply before it is sent."""
        owner = self._owner()
        if self._db.keeps_deliveries:
            self._db.owe_delivery(owed, owner)
        else:
            self._write(lambda conn, now: delivery_table.owe(conn, owed, owner, now))

    def set_state(
        self, obligation_id: str, state: ObligationState, error: str | None = None
    ) -> None:
        """Store the delivery state of a reply."""
        if self._db.keeps_deliveries:
            self._db.set_delivery_state(obligation_id, state, error)
        else:
            self._write(
                lambda conn, now: delivery_table.set_state(conn, obligation_id, state, now, error)
            )

    def owed(self, platforms: Collection[str]) -> list[Obligation]:
        """Return replies for these platforms not known to be delivered, the oldest first."""
        if self._db.keeps_deliveries:
            return self._db.open_deliveries(platforms)
        return self._own.read(lambda conn: delivery_table.open_ones(conn, platforms), default=[])

    def owed_since(self, session_key: str, since: float) -> bool:
        """Return whether a reply to a chat was recorded at or after a time."""
        if self._db.keeps_deliveries:
            return self._db.delivery_owed_since(session_key, since)
        return self._own.read(
            lambda conn: delivery_table.owed_since(conn, session_key, since), default=False
        )

    def take_over(self, owed: Obligation) -> bool:
        """Claim a reply; False when another process was faster."""
        owner = self._owner()
        if self._db.keeps_deliveries:
            return self._db.take_over_delivery(owed, owner)
        return bool(self._write(lambda conn, now: delivery_table.take_over(conn, owed, owner, now)))

    def forgive(self, obligation_id: str) -> None:
        """Subtract an attempt that was certainly never sent."""
        if self._db.keeps_deliveries:
            self._db.forgive_delivery_attempt(obligation_id)
        else:
            self._write(lambda conn, _: delivery_table.forgive(conn, obligation_id))

    # The inbox

    def receive(
        self,
        address: tuple[str, str],
        message_id: str | None,
        session_key: str,
        event: Mapping[str, Any],
    ) -> int | None:
        """Store a received message. None: it is a duplicate that is or was being handled.

        Args:
            address: Platform and chat.
            message_id: The platform's id of it; without one duplicates are not recognized.
            session_key: The chat's routing key.
            event: What is needed to handle it after a restart.
        """
        if message_id is not None and self.is_in_chat(session_key, message_id):
            return None
        text = json.dumps(event)
        owner = self._owner()
        row: int | None = self._write(
            lambda conn, now: inbox_table.add(
                conn,
                address=address,
                message_id=message_id,
                session_key=session_key,
                event=text,
                owner=owner,
                now=now,
            )
        )
        return row

    def is_in_chat(self, session_key: str, message_id: str) -> bool:
        """Return whether a platform's message is stored in one of the latest sessions of a chat."""
        return self._db.chat_has_message(session_key, message_id)

    def begin(self, row_id: int, session_id: str) -> None:
        """Record that a turn of this conversation has started to answer a message."""
        after = self._db.last_message_row()
        self._write(lambda conn, now: inbox_table.begin(conn, row_id, session_id, after, now))

    def finish(self, row_id: int) -> None:
        """Record that a message was handled."""
        self._write(lambda conn, _: inbox_table.finish(conn, row_id))

    def adopt(self, row_id: int) -> None:
        """Become the owner of a message."""
        owner = self._owner()
        self._write(lambda conn, _: inbox_table.adopt(conn, row_id, owner))

    def unhandled_messages(self) -> list[InboxRow]:
        """Return messages that were received and not handled, in the order of receipt."""
        return self._own.read(inbox_table.open_ones, default=[])

    def reply_to(self, row: InboxRow, message_id: str | None) -> str | None:
        """Return the reply of a finished turn that was not recorded in the outbox."""
        return self._db.reply_after(row.session_id, row.after_row, message_id)

    def prompt_is_stored(self, row: InboxRow, message_id: str | None) -> bool:
        """Return whether a message whose turn had started was stored in its conversation."""
        return self._db.prompt_stored_after(row.session_id, row.after_row, message_id)

    def has_other_unanswered(self, row: InboxRow, message_id: str | None) -> bool:
        """Return whether the reply in its conversation may answer another message."""
        return self._db.overtaken_after(row.session_id, row.after_row, message_id)

    def prune(self) -> None:
        """Delete old settled entries."""
        if self._db.keeps_deliveries:
            self._db.prune_deliveries()
        self._write(_prune)

    def _write(self, fn: Callable[[sqlite3.Connection, float], Any]) -> Any:
        now = self._clock.time()
        return self._own.write(lambda conn: fn(conn, now))


def _prune(conn: sqlite3.Connection, now: float) -> None:
    delivery_table.prune(conn, now)
    inbox_table.prune(conn, now)
