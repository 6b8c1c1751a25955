"""The routing entries on disk: rows of ``gateway_routing``, and their mirror sessions.json.

Both are shared with other programs and are therefore updated by difference: what we did not change
stays byte for byte, and so does unreadable content. The table is written first and takes precedence
on loading; the mirror supplies what the table lacks.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_desktop.core.errors import BusyError, HermesError
from hermes_desktop.gateway.config.config_platforms import Platform
from hermes_desktop.gateway.sessions import session_index
from hermes_desktop.gateway.sessions.session_records import SessionEntry

if TYPE_CHECKING:
    from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

_MOST_NAMED = 5
Entries = Mapping[str, SessionEntry]
Known = dict[str, tuple[Any, ...]]
"""Fingerprints by key: our entries as a storage location is known to hold them."""


class RoutingFiles:
    """Loads and saves the entries of one sessions folder.

    Not thread-safe: the store admits one caller at a time, which takes its snapshot then, so that
    an older snapshot never overwrites a newer one.
    """

    def __init__(self, sessions_dir: Path) -> None:
        self._folder = sessions_dir
        self._index = session_index.IndexFile(sessions_dir)
        self._table: Known = {}
        self._mirror: Known = {}

    @property
    def scope(self) -> str:
        """The scope of this folder's rows in the table."""
        return str(self._folder.resolve())

    def load(self, db: "SessionDB | None") -> dict[str, SessionEntry]:
        """Load the table, then the mirror for keys that the table lacks. For the gateway only.

        Raises:
            BusyError: Another program keeps state.db locked; an older mirror must not take
                precedence.
        """
        self._index.clear_leftovers()
        rows = self._table_rows(db)
        entries = _readable(rows, "gateway_routing")
        self._table = _fingerprints(entries)
        mirrored = _readable(self._mirror_rows(), "sessions.json")
        self._mirror = _fingerprints(mirrored)
        for key, entry in mirrored.items():
            if key in entries:
                continue
            entries[key] = entry
            if key in rows:  # an unreadable row is overwritten only by actual changes
                self._table[key] = entry.fingerprint()
        return entries

    def look(self, db: "SessionDB | None") -> dict[str, SessionEntry]:
        """Return the same entries for read-only use: nothing is cleaned up or remembered.

        Raises:
            BusyError: Another program keeps state.db locked.
        """
        mirrored = _readable(self._mirror_rows(), "sessions.json")
        return {**mirrored, **_readable(self._table_rows(db), "gateway_routing")}

    def _table_rows(self, db: "SessionDB | None") -> dict[str, Any]:
        if db is None:
            return {}
        try:
            texts = db.load_gateway_routing_entries(scope=self.scope)
        except BusyError:
            raise
        except HermesError as error:
            log.warning("gateway_routing cannot be read: %s", error)
            return {}
        return {key: _decoded(text) for key, text in texts.items()}

    def _mirror_rows(self) -> Mapping[str, Any]:
        try:
            return session_index.decode_entries(self._index.members())
        except (OSError, session_index.UnreadableIndexError) as error:
            log.warning("sessions.json cannot be read and is left as it is: %s", error)
            return {}

    def save(self, entries: Entries, db: "SessionDB | None", *, mirror: bool) -> None:
        """Store what changed since the last load or save. Failures are logged and retried.

        Args:
            entries: All our entries.
            db: The database with the table.
            mirror: Whether sessions.json is written; it always is when the table fails.
        """
        now = {key: entry.fingerprint() for key, entry in entries.items()}
        stored = db is not None and self._save_table(entries, now, db)
        if mirror or not stored:
            self._save_mirror(entries, now)

    def _save_table(self, entries: Entries, now: Known, db: "SessionDB") -> bool:
        changed = [key for key, value in now.items() if self._table.get(key) != value]
        removed = self._table.keys() - now.keys()
        if not changed and not removed:
            return True
        try:
            db.save_routing_changes(
                scope=self.scope,
                changed={key: entries[key].to_dict() for key in changed},
                removed=removed,
            )
        except HermesError as error:
            log.error("gateway_routing cannot be written: %s", error)  # noqa: TRY400 - expected
            return False
        self._table = now
        return True

    def _save_mirror(self, entries: Entries, now: Known) -> None:
        known = self._mirror if self._index.path.exists() else {}
        changed = [key for key, value in now.items() if known.get(key) != value]
        removed = known.keys() - now.keys()
        if not changed and not removed and known:
            return
        try:
            self._index.write_changes(
                {key: session_index.render_entry(entries[key].to_dict()) for key in changed},
                removed,
            )
        except (OSError, session_index.UnreadableIndexError) as error:
            log.error("sessions.json cannot be written: %s", error)  # noqa: TRY400 - expected
            return
        self._mirror = now


def _decoded(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _readable(rows: Mapping[str, Any], place: str) -> dict[str, SessionEntry]:
    """Return the valid rows; an invalid row does not affect the others."""
    entries = {}
    strange = 0
    for key, row in rows.items():
        if key.startswith("_"):
            continue
        try:
            entry = SessionEntry.from_dict(row)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            strange += 1
            if strange <= _MOST_NAMED:
                log.warning("The entry %.80r of %s cannot be used: %.200r", key, place, error)
            continue
        # Desktop chats are never stored, so this entry is not one of ours.
        if entry.platform is not Platform.DESKTOP:
            entries[key] = entry
    if strange > _MOST_NAMED:
        log.warning("%d entries of %s cannot be used", strange, place)
    return entries


def _fingerprints(entries: Entries) -> Known:
    return {key: entry.fingerprint() for key, entry in entries.items()}
