"""Health check of the shared file: size, integrity, index, holders, location. Changes nothing."""

import contextlib
import dataclasses
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import CancelledError
from hermes_desktop.state.database.connection import Access, Patience, may_write
from hermes_desktop.state.database.file_systems import FileSystem, file_system_of
from hermes_desktop.state.database.holders import Holders, other_holders
from hermes_desktop.state.database.home_marks import HomeMarkReader
from hermes_desktop.state.database.store_opening import OpenStore, judge, open_store
from hermes_desktop.state.maintenance.health_findings import findings_of
from hermes_desktop.state.maintenance.health_records import Check, HealthReport
from hermes_desktop.state.maintenance.index_health import check_indexes
from hermes_desktop.state.records.cancellation import (
    CancelSignal,
    OnProgress,
    Progress,
    StoppedError,
    silent,
    stop_if,
    stoppable,
)
from hermes_desktop.state.records.sqlite_errors import primary_code, to_hermes_error
from hermes_desktop.state.sessions import transit_rows

_MOST_LINES = 20


def health_report(  # noqa: PLR0913 - ways to look are choices of tests
    db_path: Path,
    *,
    check: Check = "quick",
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
    holders: Callable[[Path], Holders] = other_holders,
    file_system: Callable[[Path], FileSystem] = file_system_of,
    clock: Clock | None = None,
) -> HealthReport:
    """Check the store.

    Args:
        db_path: The store.
        check: How thoroughly: sizes only, SQLite's quick check and the index, or everything.
        on_progress: Called before each step, on this thread.
        cancel: Set from any thread to stop.
        holders: Finds other processes that have the file open.
        file_system: Finds the file system of a path.
        clock: Determines how long an operation has been in progress.

    Raises:
        CancelledError: It was cancelled.
        BusyError: The file is locked.
        StateError: It cannot be opened; the message says why.
    """
    opened = open_store(db_path, read_only=True, patience=Patience())
    try:
        with contextlib.closing(opened.conn):
            # Judged with write access: the report says whether this program could write.
            access: Access = "rw" if may_write(db_path) else "ro"
            condition = judge(
                opened.conn, db_path, opened.layout, access, HomeMarkReader(db_path).marks()
            )
            found = _look(opened, check, on_progress, cancel)
            found["cut_short"] = _cut_short(opened.conn, (clock or SystemClock()).time())
    except StoppedError:
        raise CancelledError("The check was cancelled.", "Nothing was changed.") from None
    except sqlite3.Error as error:
        raise to_hermes_error(error, db_path) from error
    report = HealthReport(
        path=db_path,
        size=_size(db_path),
        log_size=_size(Path(f"{db_path}-wal")),
        condition=condition,
        holders=holders(db_path),
        file_system=file_system(db_path),
        disk_free=shutil.disk_usage(db_path.parent).free,
        sqlite_version=sqlite3.sqlite_version,
        **found,
    )
    return dataclasses.replace(report, findings=tuple(findings_of(report)))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _look(
    opened: OpenStore, check: Check, on_progress: OnProgress, cancel: CancelSignal | None
) -> dict[str, Any]:
    conn = opened.conn
    found: dict[str, Any] = {
        name: conn.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_size", "page_count", "journal_mode")
    }
    found["free_pages"] = conn.execute("PRAGMA freelist_count").fetchone()[0]
    found.update(integrity=None, indexes=(), broken_links=(), sessions=0, messages=0)
    if check == "none":
        found.update(stoppable(conn, _counts, cancel))
        return found
    pragma = "integrity_check" if check == "full" else "quick_check"
    steps: list[tuple[str, str, Callable[[sqlite3.Connection], Any]]] = [
        ("Checking the file", "integrity", lambda c: _integrity(c, pragma)),
        ("Counting", "", _counts),
        ("Checking links between rows", "broken_links", _broken_links),
    ]
    total = len(steps) + 1
    for place, (words, name, look) in enumerate(steps):
        stop_if(cancel, "The check")
        on_progress(Progress(words, place, total))
        try:
            result = stoppable(conn, look, cancel)
        except sqlite3.DatabaseError:
            if not found["integrity"]:
                raise
            continue  # the damage is known; the rest of the report is still useful
        found.update({name: result} if name else result)
    on_progress(Progress("Comparing the search index", total - 1, total))
    found["indexes"] = check_indexes(conn, opened.layout, compare=check == "full", cancel=cancel)
    on_progress(Progress("Done", total, total))
    return found


def _counts(conn: sqlite3.Connection) -> dict[str, int]:
    return {
        table: int(conn.execute(f"SELECT count(*) FROM main.{table}").fetchone()[0])
        for table in ("sessions", "messages")
    }


def _integrity(conn: sqlite3.Connection, pragma: str) -> tuple[str, ...]:
    try:
        lines = [str(row[0]) for row in conn.execute(f"PRAGMA {pragma}({_MOST_LINES})").fetchall()]
    except sqlite3.DatabaseError as error:
        if primary_code(error) not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise
        lines = [str(error)]
    return () if lines == ["ok"] else tuple(lines)


def _cut_short(conn: sqlite3.Connection, now: float) -> int:
    """Return the number of abandoned sessions in transit; 0 if damage prevents reading."""
    try:
        return sum(mark.is_abandoned(now) for _, mark in transit_rows.on_their_way(conn))
    except sqlite3.DatabaseError:
        return 0


def _broken_links(conn: sqlite3.Connection) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for row in conn.execute("PRAGMA foreign_key_check"):
        counts[str(row[0])] = counts.get(str(row[0]), 0) + 1
    return tuple(sorted(counts.items()))
