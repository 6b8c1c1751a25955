"""Keeping what a turn is about to change, and comparing afterwards."""

import contextlib
import hashlib
import itertools
import logging
import math
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hermes_desktop.agent.undo.content_store import ContentStore
from hermes_desktop.agent.undo.folder_scan import (
    READING,
    Entries,
    Entry,
    Limits,
    TooMuchError,
    changed_paths,
    entry_of,
    keep_contents,
    keep_file,
    relative_to,
    scan,
)
from hermes_desktop.agent.undo.record_files import RecordFiles
from hermes_desktop.agent.undo.reviews import Review, pending_reviews
from hermes_desktop.agent.undo.runs_later import RunsLater, runs_later
from hermes_desktop.agent.undo.turn_record import (
    TurnRecord,
    began_of,
    new_record,
    read_entries,
    turn_records,
    write_entries,
)
from hermes_desktop.agent.undo.undo_record import undo_records
from hermes_desktop.core.files.beneath import OpenFolder

log = logging.getLogger(__name__)

KEPT_S = 14 * 24 * 3600.0
"""How long a turn can be undone."""
MOST_BYTES = 2 << 30
"""The size of all kept contents of a home; the earliest turns go first."""
_TIDY_S = 3600.0
_LONGEST_END_S = 30.0
"""How long a tool may need to end after its turn was stopped."""
_ROOT = Path("/")
MOST_TEXT = 1 << 20


def _never() -> bool:
    return False


class UndoStore:
    """What is kept of a home's turns. Blocking; thread-safe.

    Args:
        folder: The folder of its files, ``desktop/undo`` of the home.
        user_home: The user's home folder, of which no snapshot is taken.
        home: The Hermes home, likewise.
        limits: Limits of a snapshot.

    Attributes:
        contents: The kept contents.
        records: The records of the turns.
        undos: The records of undos, by which these can be reverted.
        reviews: The files that run later and that the user has not looked at yet.
    """

    def __init__(
        self, folder: Path, user_home: Path, home: Path, limits: Limits | None = None
    ) -> None:
        self.contents = ContentStore(folder / "contents")
        self.records = turn_records(folder / "turns")
        self.undos = undo_records(folder / "undos")
        self.reviews = pending_reviews(folder / "reviews")
        self.limits = limits or Limits()
        self._folder = folder
        self._homes = (user_home.resolve(), home.resolve())
        self._lock = threading.Lock()

    def why_no_snapshot(self, folder: Path) -> str:
        """Return why no snapshot is taken of a folder, "" if one may be."""
        user_home, home = self._homes
        if folder in (user_home, *user_home.parents):
            return "It is your home folder, or contains it, and not a folder for work."
        if folder in (home, *home.parents) or home in folder.parents:
            return "It contains the files of Hermes."
        return ""

    def snapshot(self, folder: OpenFolder, given_up: Callable[[], bool]) -> Entries:
        """Return what is in a folder, with contents.

        Raises:
            TooMuchError: It is too large, or it was given up.
            OSError: It cannot be read, or the store cannot be written.
        """
        name = hashlib.sha256(str(folder.path).encode("utf-8", "replace")).hexdigest()[:32]
        latest = self._folder / "folders" / f"{name}.json"
        with self._lock:
            entries = scan(folder, self.limits, given_up)
            known = read_entries(latest)
            limits = self._fitting(entries, known)
            kept = keep_contents(folder, entries, known, self.contents, limits, given_up)
            if kept != known:
                write_entries(latest, kept)
        return kept

    def _fitting(self, entries: Entries, known: Entries) -> Limits:
        """Return the limits, with less to copy where the disk is nearly full."""
        there = next(each for each in (self._folder, *self._folder.parents) if each.exists())
        free = shutil.disk_usage(there).free - self.limits.free_bytes
        old = sum(
            each.size
            for path, each in entries.items()
            if path in known and known[path].looks_like(each)
        )
        return replace(self.limits, folder_bytes=min(self.limits.folder_bytes, max(free, 0) + old))

    def tidy(self, now: float) -> None:
        """Delete what is too old, or too much; at most once an hour. Never raises."""
        mark = self._folder / "tidied"
        with self._lock:
            try:
                if mark.exists() and 0 <= now - mark.stat().st_mtime < _TIDY_S:
                    return
                mark.touch(mode=0o600)
                self._remove_old(now)
            except OSError as error:
                log.warning("Kept files of earlier turns were not tidied: %s", error)

    def _remove_old(self, now: float) -> None:
        for each in (self.records, self.undos, self.reviews):
            _remove_earliest(each, before=now - KEPT_S)
        for path in self._latest(before=now - KEPT_S):
            path.unlink(missing_ok=True)
        self.contents.remove_unused(self._used(), now)
        while self.contents.size() > MOST_BYTES:
            removed = [
                _remove_earliest(each, before=now - _TIDY_S, half=True)
                for each in (self.records, self.undos)
            ]
            stale = self._latest(before=now - _TIDY_S)
            for path in stale[: len(stale) // 2 + 1]:
                path.unlink(missing_ok=True)
            self.contents.remove_unused(self._used(), now)
            if not any(removed) and not stale:
                return

    def _latest(self, before: float = math.inf) -> list[Path]:
        """Return the latest snapshots of folders that were taken before a time, in their order."""
        folder = self._folder / "folders"
        found = [(each.stat().st_mtime, each) for each in folder.glob("*.json")]
        return [path for taken, path in sorted(found) if taken < before]

    def _used(self) -> set[str]:
        used = {each.content for path in self._latest() for each in read_entries(path).values()}
        undone = (record for undo in self.undos.all() for record in undo.folders)
        for record in itertools.chain(self.records.all(), undone):
            used |= {each.content for each in record.before.values()}
            used |= {each.content for each in record.after.values() if each is not None}
        return used


def _remove_earliest(records: RecordFiles[Any], *, before: float, half: bool = False) -> int:
    """Delete the records from before a time, or the earlier half of them; return how many."""
    names = [name for name in records.names() if began_of(name) < before]
    names = names[: len(names) // 2 + 1] if half else names
    for name in names:
        records.remove(name)
    return len(names)


@dataclass(frozen=True, slots=True)
class TurnChanges:
    """What a turn changed.

    Attributes:
        record_id: The name of its record.
        paths: The changed files, relative to the folder.
        lost: Those of them whose earlier content was not kept.
        runs_later: Those of them that other programs run automatically later.
    """

    record_id: str
    folder: Path
    paths: tuple[str, ...]
    lost: tuple[str, ...] = ()
    runs_later: tuple[RunsLater, ...] = ()


class TurnUndo:
    """What one turn is about to change. Called by its tools, on their threads; thread-safe.

    Nothing is read or written before the first change.

    Args:
        store: Where it is kept.
        session_id: The session.
        message_id: The row of the user's message.
    """

    def __init__(self, store: UndoStore, session_id: str, message_id: int) -> None:
        self._store = store
        self._session_id = session_id
        self._message_id = message_id
        self._lock = threading.Lock()
        self._idle = threading.Condition()
        self._working = 0
        self._records: dict[Path, TurnRecord] = {}
        self._over = False

    @property
    def began(self) -> bool:
        """Whether anything was kept, or may still be, by a tool of a stopped turn."""
        return bool(self._records or self._working)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Mark that a tool runs, which may still change files after the turn was stopped."""
        with self._idle:
            self._working += 1
        try:
            yield
        finally:
            with self._idle:
                self._working -= 1
                self._idle.notify_all()

    def ended_within(self, seconds: float) -> bool:
        """Wait until no tool runs; return whether that is so."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._working, seconds)

    def before_command(self, folder: Path, given_up: Callable[[], bool] = _never) -> None:
        """Take a snapshot of a folder, before the first command that may change anything in it.

        Where none can be taken, the record says why; the command may run all the same.

        Args:
            folder: The working folder.
            given_up: Ends the snapshot, because the turn is stopped.
        """
        with self._lock:
            folder = folder.resolve()
            record = self._record(folder)
            if self._over or record.whole or record.why_not:
                return
            record = self._snapshot(record, given_up)
            self._write(record)

    def before_write(self, path: Path, folder: Path) -> None:
        """Keep one file, before a tool changes it.

        Args:
            path: The file; it may be missing.
            folder: The working folder; the file may be outside.
        """
        with self._lock:
            if self._over:
                return
            folder, path = folder.resolve(), path.resolve()
            inside = relative_to(folder, path)
            if inside is None:
                folder, inside = _ROOT, str(path)[1:]
                if not path.is_relative_to(_ROOT):
                    return
            record = self._record(folder)
            if record.whole or inside in record.before or inside in record.after:
                return
            try:
                self._write(self._with_file(record, inside))
            except OSError as error:
                log.warning("A file was not kept for undo: %s", error.strerror)

    def finish(self, session_id: str, message_id: int) -> tuple[TurnChanges, ...]:
        """Compare what is there with what was, at the end of the turn. Never raises.

        If a tool of a stopped turn still runs, its end is awaited, within limits.

        Args:
            session_id: The session that the conversation continues in.
            message_id: The row of the user's message in it.
        """
        self.ended_within(_LONGEST_END_S)
        with self._lock:
            self._over = True
            changes: list[TurnChanges] = []
            for record in self._records.values():
                try:
                    compared = compare(
                        replace(record, session_id=session_id, message_id=message_id)
                    )
                    if compared.after or compared.why_not:
                        self._store.records.write(compared)
                    else:
                        self._store.records.remove(record.id)
                except (OSError, TooMuchError) as error:
                    log.warning("The changes of a turn are not known: %s", error)
                    continue
                if compared.after:
                    changes.append(self._told(compared))
            if self._records:
                self._store.tidy(time.time())
            return tuple(changes)

    def _told(self, record: TurnRecord) -> TurnChanges:
        """Return the changes; what runs later waits until the user has looked at it."""
        changes = changes_of(record, self._store.contents)
        if changes.runs_later:
            review = Review(record.id, record.session_id, changes.runs_later)
            self._store.reviews.write(review)
        return changes

    def _record(self, folder: Path) -> TurnRecord:
        known = self._records.get(folder)
        if known is None:
            known = new_record(self._session_id, self._message_id, folder, time.time_ns())
        return known

    def _write(self, record: TurnRecord) -> None:
        self._records[record.folder] = record
        try:
            self._store.records.write(record)
        except OSError as error:
            log.warning("The changes of a turn cannot be kept for undo: %s", error)

    def _snapshot(self, record: TurnRecord, given_up: Callable[[], bool]) -> TurnRecord:
        why = self._store.why_no_snapshot(record.folder)
        if why:
            return replace(record, why_not=why)
        try:
            with OpenFolder(record.folder) as opened:
                entries = self._store.snapshot(opened, given_up)
        except TooMuchError as error:
            return replace(record, why_not=str(error))
        except OSError as error:
            log.warning("No snapshot of the folder was taken: %s", error)
            return replace(record, why_not=f"It could not be read or kept ({error.strerror}).")
        # What single files were before counts, and not what tools made of them since.
        created = {path for path in record.after if path not in record.before}
        before = {path: each for path, each in entries.items() if path not in created}
        return replace(record, whole=True, before={**before, **record.before}, after={})

    def _with_file(self, record: TurnRecord, path: str) -> TurnRecord:
        """Return the record with a file, and with the folders above that do not exist yet."""
        with OpenFolder(record.folder) as opened:
            above = [str(each) for each in reversed(Path(path).parents[:-1])]
            missing: dict[str, Entry | None] = {}
            for each in above:
                if entry_of(opened, each) is None:
                    missing[each] = None
            entry = entry_of(opened, path)
            if entry is None:
                return replace(record, after={**record.after, **missing, path: None})
            if entry.kind == "file" and entry.size <= self._store.limits.file_bytes:
                entry = keep_file(opened, path, entry, self._store.contents)
        return replace(record, before={**record.before, path: entry})


def compare(record: TurnRecord) -> TurnRecord:
    """Return a record of what changed since it was begun.

    Raises:
        TooMuchError: The folder is too large by now.
        OSError: It cannot be read.
    """
    with OpenFolder(record.folder) as opened:
        if record.whole:
            limits = Limits(entries=2 * Limits().entries, seconds=2 * Limits().seconds)
            now = scan(opened, limits, _never)
        else:
            now = {}
            for path in record.before.keys() | record.after.keys():
                entry = entry_of(opened, path)
                if entry is not None:
                    now[path] = entry
        old, new = changed_paths(opened, record.before, now, record.began)
    return replace(record, state="done", before=old, after=new)


def changes_of(record: TurnRecord, contents: ContentStore) -> TurnChanges:
    """Return what a finished record says. Blocking: reads some of the files.

    Raises:
        OSError: The folder cannot be read.
    """
    paths = tuple(sorted(record.after))
    lost = tuple(path for path in paths if not is_kept(record.before.get(path)))
    with OpenFolder(record.folder) as opened:
        later = runs_later(
            record.before,
            record.after,
            lambda entry: text_before(contents, entry),
            lambda path: text_now(opened, path),
        )
    return TurnChanges(record.id, record.folder, paths, lost, later)


def is_kept(entry: Entry | None) -> bool:
    """Return whether what was there before can be put back."""
    return entry is None or entry.kind == "folder" or bool(entry.content)


def text_before(contents: ContentStore, entry: Entry) -> str:
    """Return the text of a file as it was.

    Raises:
        ValueError: It is no text, or too large.
        OSError: It was not kept.
    """
    if entry.size > MOST_TEXT:
        raise ValueError("too large")
    return _as_text(contents.read(entry.content))


def text_now(opened: OpenFolder, path: str) -> str:
    """Return the text of a file as it is. Raises as :func:`text_before`."""
    with os.fdopen(opened.open(path, READING), "rb") as stream:
        return _as_text(stream.read(MOST_TEXT + 1))


def _as_text(data: bytes) -> str:
    if len(data) > MOST_TEXT or b"\0" in data:
        raise ValueError("no text, or too large")
    return data.decode("utf-8", "replace")
