"""Snapshots: copies of the whole store, made while other processes write to it.

One read transaction is held while the copy is made in steps: without it SQLite would restart after
each commit, and on a busy store never finish. A snapshot is a folder with one self-contained
database and a manifest; it gets its name only when it is complete.
"""

import contextlib
import json
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import BusyError, StateError
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.state.database.connection import Patience, make_file, open_connection
from hermes_desktop.state.database.store_opening import open_store
from hermes_desktop.state.records.cancellation import (
    CancelSignal,
    OnProgress,
    Progress,
    silent,
    stop_if,
)
from hermes_desktop.state.records.sqlite_errors import to_hermes_error

KEPT = 5
MAX_AGE_S = 30 * 86_400.0
PAGES_A_STEP = 1_000
_ROOM_TO_SPARE = 16 * 1024 * 1024
_PART = ".part-"
_STALE_PART_S = 3_600.0
_MANIFEST = "manifest.json"


class SnapshotDiskFullError(StateError):
    """The disk has no space for a copy of the store; nothing was done."""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One snapshot.

    Attributes:
        name: Name of its folder: local time and reason.
        path: The database in it.
        reason: Why it was taken, one word.
        created_at: Epoch seconds.
        bytes: Size of the database.
        schema_version: As stored in it.
    """

    name: str
    path: Path
    reason: str
    created_at: float
    bytes: int
    sessions: int
    messages: int
    schema_version: int | None
    sqlite_version: str


def take_snapshot(  # noqa: PLR0913 - each is a choice or a wire of the caller
    db_path: Path,
    folder: Path,
    *,
    reason: str,
    now: float,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
    free: Callable[[Path], int] | None = None,
) -> SnapshotInfo:
    """Copy the store.

    Args:
        db_path: The store.
        folder: The folder of snapshots; created (0700) if necessary.
        reason: One word for the list: ``repair``, ``restore``, ``person``, …
        now: Epoch seconds.
        on_progress: Called after each step of some megabytes, on this thread.
        cancel: Set from any thread to stop; nothing remains then.
        free: Returns the free bytes on the disk of a folder.

    Raises:
        SnapshotDiskFullError: There is no space.
        CancelledError: It was cancelled.
        BusyError: Another program keeps the file locked.
        StateError: It cannot be read, or the copy not written.
    """
    opened = open_store(db_path, read_only=True, patience=Patience())
    part = folder / f"{_PART}{secrets.token_hex(4)}"
    try:
        with contextlib.closing(opened.conn) as source:
            _make_folder(folder)
            _sweep_parts(folder, now)
            source.execute("BEGIN")
            _need_room(source, folder, free or _disk_free)
            part.mkdir(mode=0o700)
            facts = _facts(source)
            _copy_into(source, part / "state.db", on_progress, cancel)
        version = opened.layout.version
        return _finish(folder, part, reason, now, {**facts, "schema_version": version})
    except sqlite3.Error as error:
        raise to_hermes_error(error, db_path) from error
    except OSError as error:
        raise StateError(
            "The snapshot could not be written.", f"{folder}: {error.strerror}.", "Check the disk."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _make_folder(folder: Path) -> None:
    make_private_folder(folder)


def _sweep_parts(folder: Path, now: float) -> None:
    """Remove partial snapshots that a crash left; one still in progress is younger."""
    for part in folder.glob(f"{_PART}*"):
        with contextlib.suppress(OSError):
            if part.stat().st_mtime < min(now, time.time()) - _STALE_PART_S:
                shutil.rmtree(part, ignore_errors=True)


def _disk_free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _need_room(conn: sqlite3.Connection, folder: Path, free: Callable[[Path], int]) -> None:
    pages, size = (conn.execute(f"PRAGMA {n}").fetchone()[0] for n in ("page_count", "page_size"))
    needed, there = pages * size + _ROOM_TO_SPARE, free(folder)
    if there < needed:
        raise SnapshotDiskFullError(
            "There is not enough space for a snapshot.",
            f"It needs {needed / 1e6:.0f} MB; {there / 1e6:.0f} MB are free at {folder}.",
            "Free some space, or delete old snapshots.",
        )


def _facts(conn: sqlite3.Connection) -> dict[str, Any]:
    return {
        "sessions": conn.execute("SELECT count(*) FROM main.sessions").fetchone()[0],
        "messages": conn.execute("SELECT count(*) FROM main.messages").fetchone()[0],
        "sqlite_version": sqlite3.sqlite_version,
    }


def _copy_into(
    source: sqlite3.Connection, path: Path, on_progress: OnProgress, cancel: CancelSignal | None
) -> None:
    make_file(path)
    with contextlib.closing(open_connection(path, "rw")) as target:
        copy_pages(source, target, "Copying the store", on_progress, cancel)
        # One file without companions, which can be stored and moved as it is.
        target.execute("PRAGMA journal_mode=DELETE").fetchall()


def copy_pages(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    step: str,
    on_progress: OnProgress,
    cancel: CancelSignal | None,
    *,
    most_waits: int = 16,
) -> None:
    """Copy a database page by page; the target is unchanged if this ends early.

    Raises:
        BusyError: One of them stayed locked; each wait takes at most a second and a quarter.
        CancelledError: It was cancelled.
        sqlite3.Error: One of them cannot be read or written.
    """
    waited = 0

    def after_step(status: int, remaining: int, total: int) -> None:
        nonlocal waited
        stop_if(cancel, step)
        waited = waited + 1 if status in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} else 0
        if waited > most_waits:
            raise BusyError(
                "The session database is busy.",
                f"{step}: another program keeps a file locked.",
                "Try again in a moment.",
            )
        on_progress(Progress(step, total - remaining, total))

    stop_if(cancel, step)
    source.backup(target, pages=PAGES_A_STEP, progress=after_step)


def _finish(
    folder: Path, part: Path, reason: str, now: float, facts: dict[str, Any]
) -> SnapshotInfo:
    stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(now))
    size = (part / "state.db").stat().st_size
    number = 1
    while True:
        name = f"{stamp}-{reason}" + (f"-{number}" if number > 1 else "")
        manifest = {"name": name, "reason": reason, "created_at": now, "bytes": size, **facts}
        write_text_atomic(part / _MANIFEST, json.dumps(manifest, indent=2) + "\n")
        try:
            part.rename(folder / name)
        except OSError:
            if not (folder / name).exists():
                raise
            number += 1
        else:
            return SnapshotInfo(path=folder / name / "state.db", **manifest)


def list_snapshots(folder: Path) -> tuple[SnapshotInfo, ...]:
    """Return all complete snapshots, the latest first."""
    found = [info for path in folder.glob(f"*/{_MANIFEST}") if (info := _read(path)) is not None]
    return tuple(sorted(found, key=lambda info: (info.created_at, info.name), reverse=True))


def _read(manifest: Path) -> SnapshotInfo | None:
    database = manifest.parent / "state.db"
    if manifest.parent.name.startswith(_PART) or not database.is_file():
        return None
    try:
        values = json.loads(manifest.read_text(encoding="utf-8"))
        known = {name: values[name] for name in asdict(_EMPTY) if name not in {"path", "name"}}
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return SnapshotInfo(name=manifest.parent.name, path=database, **known)


_EMPTY = SnapshotInfo("", Path(), "", 0.0, 0, 0, 0, None, "")


def prune_snapshots(
    folder: Path, *, now: float, keep: int = KEPT, max_age_s: float = MAX_AGE_S
) -> tuple[str, ...]:
    """Delete all but the latest few, and of those the old ones; the latest one always stays.

    Returns:
        The names of the deleted snapshots.
    """
    gone: list[str] = []
    for place, info in enumerate(list_snapshots(folder)):
        if place >= max(keep, 1) or (place and info.created_at < now - max_age_s):
            shutil.rmtree(info.path.parent, ignore_errors=True)
            gone.append(info.name)
    return tuple(gone)
