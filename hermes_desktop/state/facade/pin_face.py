"""The methods of SessionDB for pinned sessions."""

import logging
import sqlite3

from hermes_desktop.core.errors import BusyError, StateError
from hermes_desktop.state.facade.store_face import StoreReader, WritingFace
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.sessions import archiving, deletion, pins

log = logging.getLogger(__name__)


class PinReads(StoreReader):
    """The part of ``SessionDB`` that reads which sessions are pinned."""

    _pins_failing = False

    @property
    def shares_pins(self) -> bool:
        """Whether the shared file stores pins, so that `hermes` sees them, too."""
        return "pinned" in self.layout.columns["sessions"]

    def pinned_ids(self) -> frozenset[str]:
        """Return every segment of every pinned conversation.

        Raises:
            StateError: desktop.db cannot be read; then it is unknown what is pinned.
        """
        own_pins = self._own_pins()
        return self.read(lambda conn: pins.pinned_conversations(conn, own_pins))

    def _own_pins(self) -> frozenset[str]:
        return self._own.read(pins.in_own_store, default=frozenset[str]())

    def own_pins_if_readable(self) -> frozenset[str]:
        """Return the pins of desktop.db for a list; empty when they cannot be read.

        A list without pins is better than none.
        """
        try:
            found = self._own_pins()
        except (BusyError, StateError) as error:
            if not self._pins_failing:
                log.warning("Pins are not shown: %s %s", error.title, error.detail)
            self._pins_failing = True
            return frozenset()
        self._pins_failing = False
        return found


class PinFace(WritingFace, PinReads):
    """The part of ``SessionDB`` that pins sessions."""

    def set_session_pinned(self, session_id: str, *, pinned: bool) -> bool:
        """Pin or unpin a conversation, all its segments.

        Returns:
            Whether that changed anything; False for an unknown session.
        """
        wanted = clean_text(session_id)
        if self.shares_pins:
            return self._pin_in_shared_file(wanted, pinned=pinned)
        members = self.read(lambda conn: _members(conn, wanted))
        if pinned:
            now = self._clock.time()
            return bool(members) and bool(self._own.write(lambda own: pins.add(own, members, now)))
        return bool(self._own_pins().intersection(members)) and bool(
            self._own.write(lambda own: pins.remove(own, members))
        )

    def _pin_in_shared_file(self, session_id: str, *, pinned: bool) -> bool:
        """Set the shared column, and move pins there from the time before the file had it."""
        own_pins = self._own_pins()

        def change(conn: sqlite3.Connection) -> bool:
            members = _members(conn, session_id)
            moved = deletion.existing(conn, own_pins)
            pins.set_column(conn, moved, pinned=True)
            return bool(pins.set_column(conn, members, pinned=pinned))

        changed = self._execute_write(change)
        if own_pins:
            self._own.write(lambda own: pins.remove(own, own_pins))
        return changed


def _members(conn: sqlite3.Connection, session_id: str) -> list[str]:
    return deletion.existing(conn, archiving.families(conn, [session_id]))
