"""The routing index ``sessions.json``: its format, its note to readers, and its updates.

The file is shared. It is therefore updated by difference: only our own members are set or removed;
all others stay in the file byte for byte, whether or not they can be parsed.
"""

import contextlib
import json
import logging
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hermes_desktop.core.files.atomic_files import write_text_atomic
from hermes_desktop.core.files.private_files import make_private_folder
from hermes_desktop.gateway.runtime_files.identity_files import read_plain_file

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
        """Remove partial copies left by a process of ours that was killed while saving."""
        for left in self.path.parent.glob(f".{self.path.name}.*.tmp"):
            with contextlib.suppress(OSError):
                left.unlink()

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
