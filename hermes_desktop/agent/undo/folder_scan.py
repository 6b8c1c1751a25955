"""The files of a folder at one moment, compared by their status."""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.agent.undo.content_store import ContentStore
from hermes_desktop.core.files.beneath import OpenFolder

Kind = Literal["file", "link", "folder", "other"]
_KINDS: tuple[Kind, ...] = ("file", "link", "folder", "other")
_REBUILT = frozenset(
    {
        "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache",
        ".ruff_cache", ".tox", ".nox", "target", ".gradle", ".next", ".cache",
    }
)  # fmt: skip
"""Folders that tools can make again: their files are kept last."""
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_TICK_NS = 50_000_000
"""A file that changed this long before a snapshot may change again with the same status."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a snapshot.

    Attributes:
        entries: Files and folders; with more there is no snapshot.
        file_bytes: The size of one file whose content is kept.
        folder_bytes: The size of all contents that are kept of one folder.
        seconds: How long looking and copying may take.
        free_bytes: What must stay free on the disk.
    """

    entries: int = 100_000
    file_bytes: int = 64 << 20
    folder_bytes: int = 512 << 20
    seconds: float = 20.0
    free_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, link or folder.

    Attributes:
        size: In bytes.
        mtime: When the content changed, in nanoseconds since the epoch.
        ctime: When the status changed, likewise.
        content: The digest of a file's content, or the target of a link; "" if it is not kept.
    """

    kind: Kind
    mode: int
    size: int = 0
    mtime: int = 0
    ctime: int = 0
    inode: int = 0
    content: str = ""

    @classmethod
    def of(cls, status: os.stat_result) -> "Entry":
        """Return the entry of a status, without content."""
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            return cls("folder", mode)
        kinds: tuple[tuple[Callable[[int], bool], Kind], ...] = (
            (stat.S_ISREG, "file"),
            (stat.S_ISLNK, "link"),
        )
        kind: Kind = next((kind for test, kind in kinds if test(status.st_mode)), "other")
        times = status.st_mtime_ns, status.st_ctime_ns
        return cls(kind, mode, status.st_size, *times, status.st_ino)

    @classmethod
    def read(cls, values: Any) -> "Entry":
        """Decode a stored entry.

        Raises:
            ValueError: It is none.
        """
        kind, *numbers, content = values
        if kind not in _KINDS or not isinstance(content, str):
            raise ValueError("no entry")
        mode, size, mtime, ctime, inode = map(int, numbers)
        return cls(kind, mode, size, mtime, ctime, inode, content)

    def stored(self) -> list[Any]:
        """Return the entry for JSON."""
        return [
            self.kind, self.mode, self.size, self.mtime, self.ctime, self.inode, self.content,
        ]  # fmt: skip

    def looks_like(self, other: "Entry") -> bool:
        """Return whether the status is the same, apart from the content."""
        return replace(self, content="") == replace(other, content="")

    def same(self, other: "Entry | None") -> bool:
        """Return whether content and mode are the same, as far as they are known."""
        if other is None or (self.kind, self.mode) != (other.kind, other.mode):
            return False
        if self.kind == "folder":
            return True
        if self.content and other.content:
            return self.content == other.content
        return self.looks_like(other)


class TooMuchError(Exception):
    """The folder is too large for a snapshot; the message says why."""


Entries = dict[str, Entry]
"""Entries by path, relative to the folder."""


def scan(folder: OpenFolder, limits: Limits, given_up: Callable[[], bool]) -> Entries:
    """Return the entries of a folder, without contents. Other file systems in it are left out.

    A folder inside that cannot be read is an entry of the kind ``other``.

    Raises:
        TooMuchError: It is too large, it took too long, or it was given up.
        OSError: The folder itself cannot be read.
    """
    until = time.monotonic() + limits.seconds
    entries: Entries = {}
    waiting = [""]
    device: int | None = None
    while waiting:
        path = waiting.pop()
        try:
            descriptor = folder.open(path or ".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except OSError:
            if not path:
                raise
            entries[path] = replace(entries[path], kind="other")
            continue
        try:
            device = os.fstat(descriptor).st_dev if device is None else device
            listed = descriptor if os.scandir in os.supports_fd else folder.path / path
            with os.scandir(listed) as found:
                for each in found:
                    name = f"{path}/{each.name}" if path else each.name
                    status = _status(each)
                    if status is None or (status.st_dev != device and device):
                        continue
                    entry = entries[name] = Entry.of(status)
                    if entry.kind == "folder":
                        waiting.append(name)
        finally:
            os.close(descriptor)
        if len(entries) > limits.entries:
            raise TooMuchError(f"It has more than {limits.entries:,} files.")
        if time.monotonic() > until or given_up():
            raise TooMuchError("Looking at all of its files took too long.")
    return entries


def _status(each: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return each.stat(follow_symlinks=False)
    except OSError:
        return None  # it is gone by now


def keep_contents(
    folder: OpenFolder,
    entries: Entries,
    known: Mapping[str, Entry],
    store: ContentStore,
    limits: Limits,
    given_up: Callable[[], bool],
) -> Entries:
    """Return the entries with their contents, as far as they can be kept.

    Contents of unchanged files are known; the others are copied, those of the user's own files
    before those that tools can make again, and small ones before large ones.

    Args:
        folder: The folder.
        entries: Its files.
        known: The entries of an earlier snapshot.
        store: Where contents are kept.
        limits: Files beyond them have no content.
        given_up: Ends the copying.
    """
    until = time.monotonic() + limits.seconds
    kept, total = dict(entries), 0
    for path, entry in entries.items():
        if entry.kind == "link":
            kept[path] = replace(entry, content=_target(folder, path))
    files = ((path, each) for path, each in entries.items() if each.kind == "file")
    for path, entry in sorted(files, key=_order):
        total += entry.size
        if entry.size > limits.file_bytes or total > limits.folder_bytes:
            total -= entry.size
            continue
        before = known.get(path)
        is_known = before is not None and before.content and before.looks_like(entry)
        if is_known and before is not None and store.has(before.content):
            kept[path] = before
        elif time.monotonic() <= until and not given_up():
            kept[path] = keep_file(folder, path, entry, store, given_up)
    return kept


def keep_file(
    folder: OpenFolder,
    path: str,
    entry: Entry,
    store: ContentStore,
    given_up: Callable[[], bool] = lambda: False,
) -> Entry:
    """Return the entry of a file with its content; without it where it cannot be kept."""
    try:
        descriptor = folder.open(path, READING)
    except OSError:
        return entry
    try:
        now = Entry.of(os.fstat(descriptor))
        if now.kind != "file" or now.size != entry.size:
            return entry
        digest = store.keep(descriptor, now.size, given_up)
        unchanged = Entry.of(os.fstat(descriptor)) == now
        return replace(now, content=digest) if unchanged else entry
    except OSError:
        return entry
    finally:
        os.close(descriptor)


def entry_of(folder: OpenFolder, path: str, *, digest: bool = False) -> Entry | None:
    """Return the present entry of a path; None where there is nothing.

    Args:
        folder: The folder.
        path: Relative to it.
        digest: Compute the digest of a file, of any size.

    Raises:
        OSError: Its path contains a link, or it cannot be read.
    """
    try:
        with folder.parent(path) as (descriptor, name):
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    entry = Entry.of(status)
    if entry.kind == "link":
        return replace(entry, content=_target(folder, path))
    if entry.kind == "file" and digest:
        return replace(entry, content=_digest(folder, path))
    return entry


def changed_paths(
    folder: OpenFolder, before: Mapping[str, Entry], now: Mapping[str, Entry], taken_ns: int
) -> tuple[Entries, dict[str, Entry | None]]:
    """Return the entries that differ: as they were, and as they are (None: gone).

    Args:
        folder: The folder.
        before: The snapshot, with contents.
        now: The present entries, without contents.
        taken_ns: When the snapshot began, in nanoseconds since the epoch.

    Returns:
        The earlier entries of the paths that differ, without new ones; and the present entries.
    """
    old: Entries = {}
    new: dict[str, Entry | None] = {}
    for path in before.keys() | now.keys():
        was, entry = before.get(path), now.get(path)
        if entry is not None and was is not None:
            is_settled = was.ctime < taken_ns - _TICK_NS
            if was.kind == entry.kind == "folder" and was.mode == entry.mode:
                continue
            if was.kind != "link" and was.looks_like(entry) and is_settled:
                continue
        if entry is not None and entry.kind in {"file", "link"}:
            entry = _with_content(folder, path, entry)
        if was is not None and was.same(entry):
            continue
        if was is not None:
            old[path] = was
        new[path] = entry
    return old, new


def _with_content(folder: OpenFolder, path: str, entry: Entry) -> Entry:
    try:
        if entry.kind == "link":
            return replace(entry, content=_target(folder, path))
        return replace(entry, content=_digest(folder, path))
    except OSError:
        return entry


def _digest(folder: OpenFolder, path: str) -> str:
    with os.fdopen(folder.open(path, READING), "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _target(folder: OpenFolder, path: str) -> str:
    try:
        with folder.parent(path) as (descriptor, name):
            return os.readlink(name, dir_fd=descriptor)
    except OSError:
        return ""


def _order(named: tuple[str, Entry]) -> tuple[bool, int]:
    path, entry = named
    return not _REBUILT.isdisjoint(path.split("/")), entry.size


def relative_to(folder: Path, path: Path) -> str | None:
    """Return a path beneath a folder as the key of its entry; None for one outside."""
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return None
