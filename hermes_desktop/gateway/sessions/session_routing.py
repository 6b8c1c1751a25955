"""The routing entries on disk: rows of ``gateway_routing``, and their mirror sessions.json.

Both are shared with other programs and are therefore updated by difference: what we did not change
stays byte for byte, and so does unreadable content. The table is written first and takes precedence
on loading; the mirror supplies what the table lacks.
"""

import contextlib
import json
import logging
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_desktop.core.errors import BusyError, HermesError
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.gateway.config.config_platforms import Platform
from hermes_desktop.gateway.runtime_files.identity_files import read_plain_file
from hermes_desktop.gateway.sessions.session_records import SessionEntry

if TYPE_CHECKING:
    from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

README_KEY = "_README"
README = (
    "This file only says which conversation each chat is in at the moment. It is not the list of "
    "your conversations: all of them are kept in state.db, and `hermes sessions list` shows them."
)
_BLANK = re.compile(r"[ \t\r\n]*")


class UnreadableIndexError(ValueError):
    """The file is not one JSON object; it is left as it is."""


def index_path(sessions_dir: Path) -> Path:
    """Return the path of a sessions folder's index."""
    return sessions_dir / "sessions.json"


def read_members(path: Path) -> dict[str, str]:
    """Read the raw text of every member, including notes; empty if there is no file.

    Raises:
        OSError: The file cannot be read.
        UnreadableIndexError: It is not a JSON object.
    """
    try:
        text = read_plain_file(path)
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise UnreadableIndexError(str(error)) from error
    return split_members(text)


def split_members(text: str) -> dict[str, str]:
    """Split a JSON object into its members without changing a byte of them.

    Raises:
        UnreadableIndexError: The text is not one JSON object.
    """
    decoder = json.JSONDecoder()
    members: dict[str, str] = {}
    try:
        position = _expect(text, 0, "{")
        separator = "" if text[position] == "}" else ","
        while separator == ",":
            name, position = decoder.raw_decode(text, _skip(text, position))
            start = _expect(text, position, ":")
            _, position = decoder.raw_decode(text, start)
            members[str(name)] = text[start:position]
            position = _skip(text, position)
            separator = text[position]
            position += separator == ","
        _expect(text, position, "}")
    except (IndexError, ValueError, RecursionError) as error:
        raise UnreadableIndexError(str(error)) from error
    return members


def _skip(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _expect(text: str, position: int, sign: str) -> int:
    position = _skip(text, position)
    if text[position] != sign:
        raise ValueError(f"{sign} expected at {position}")
    return _skip(text, position + 1)


def decode_entries(members: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    """Return the members that are entries: no notes (``_…``), and mappings only."""
    rows = {key: json.loads(raw) for key, raw in members.items() if not key.startswith("_")}
    return {key: row for key, row in rows.items() if isinstance(row, dict)}


def render_entry(row: Mapping[str, Any]) -> str:
    """Return an entry as it is written to the file."""
    return json.dumps(row, indent=2).replace("\n", "\n  ")


class IndexFile:
    """The index of one sessions folder. Read again only when another process changed it.

    Not thread-safe.
    """

    def __init__(self, sessions_dir: Path) -> None:
        self.path = index_path(sessions_dir)
        self._seen: tuple[int, int, int] | None = None
        self._members: dict[str, str] = {}

    def members(self) -> Mapping[str, str]:
        """Return the raw text of every member, including notes; empty if there is no file.

        Raises:
            OSError: The file cannot be read.
            UnreadableIndexError: It is not a JSON object.
        """
        seen = self._look()
        if seen is None or seen != self._seen:
            self._members = read_members(self.path)
            self._seen = seen
        return self._members

    def write_changes(self, changed: Mapping[str, str], removed: Collection[str]) -> None:
        """Set and remove members of the file's current content, in one atomic step.

        Args:
            changed: Rendered entries by key (:func:`render_entry`); a missing folder is created.
            removed: Keys to remove.

        Raises:
            OSError: It cannot be read or written.
            UnreadableIndexError: The file is not an index; nothing was changed.
        """
        make_private_folder(self.path.parent)
        members = {key: raw for key, raw in self.members().items() if key not in removed}
        members.update(changed)
        members.pop(README_KEY, None)
        members = {README_KEY: json.dumps(README), **members}
        lines = [f"  {json.dumps(key)}: {raw}" for key, raw in members.items()]
        write_text_atomic(self.path, "{\n" + ",\n".join(lines) + "\n}\n")
        self._members = members
        self._seen = self._look()

    def clear_leftovers(self) -> None:
        """Remove partial copies left by a process of this program that was killed while saving."""
        for left in self.path.parent.glob(f".{self.path.name}.*.tmp"):
            with contextlib.suppress(OSError):
                left.unlink()

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


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
        self._index = IndexFile(sessions_dir)
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
            return decode_entries(self._index.members())
        except (OSError, UnreadableIndexError) as error:
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
                {key: render_entry(entries[key].to_dict()) for key in changed},
                removed,
            )
        except (OSError, UnreadableIndexError) as error:
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
        # Desktop chats are never stored, so another program owns this entry.
        if entry.platform is not Platform.DESKTOP:
            entries[key] = entry
    if strange > _MOST_NAMED:
        log.warning("%d entries of %s cannot be used", strange, place)
    return entries


def _fingerprints(entries: Entries) -> Known:
    return {key: entry.fingerprint() for key, entry in entries.items()}
