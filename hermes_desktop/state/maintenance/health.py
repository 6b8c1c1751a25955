"""Health check of the shared file: size, integrity, index, holders, location. Changes nothing."""

import contextlib
import dataclasses
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import CancelledError
from hermes_desktop.state.database.connection import Access, Patience, may_write
from hermes_desktop.state.database.file_systems import FileSystem, file_system_of
from hermes_desktop.state.database.holders import Holders, other_holders
from hermes_desktop.state.database.home_marks import HomeMarkReader
from hermes_desktop.state.database.store_opening import OpenStore, judge, open_store
from hermes_desktop.state.maintenance.index_health import IndexHealth, check_indexes
from hermes_desktop.state.records.cancellation import (
    CancelSignal,
    OnProgress,
    Progress,
    StoppedError,
    silent,
    stop_if,
    stoppable,
)
from hermes_desktop.state.records.records import StoreCondition
from hermes_desktop.state.records.sqlite_errors import primary_code, to_hermes_error
from hermes_desktop.state.sessions import transit_rows

SQLITE_VERSION = sqlite3.sqlite_version

Check: TypeAlias = Literal["none", "quick", "full"]
FindingKind: TypeAlias = Literal[
    "damaged",
    "index-damaged",
    "index-missing",
    "index-incomplete",
    "trigger-missing",
    "foreign-keys",
    "network-file-system",
    "read-only",
    "disk-nearly-full",
    "large-log",
    "sqlite-defect",
    "holders-unseen",
    "cut-short",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding for the user.

    Attributes:
        kind: A stable identifier.
        text: The finding as a sentence.
        hint: What to do, "" when nothing must be done.
        harms: Whether data or search results are at risk.
    """

    kind: FindingKind
    text: str
    hint: str = ""
    harms: bool = False


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The result of a health check. Sizes are bytes.

    Attributes:
        log_size: The size of the write-ahead log.
        free_pages: Unused pages; optimizing returns them to the disk.
        integrity: Output of the check, () without errors, None when there was no check.
        indexes: The full-text tables, () when there was no check.
        cut_short: Sessions that are hidden because a program ended in the middle of an operation.
        broken_links: Rows that refer to a missing row, by table.
        holders: Other processes that have the file open, and how many cannot be inspected.
        findings: The findings as text; empty without problems.
    """

    path: Path
    size: int
    log_size: int
    page_size: int
    free_pages: int
    journal_mode: str
    condition: StoreCondition
    sessions: int
    messages: int
    integrity: tuple[str, ...] | None
    indexes: tuple[IndexHealth, ...]
    broken_links: tuple[tuple[str, int], ...]
    holders: Holders
    file_system: FileSystem
    disk_free: int
    sqlite_version: str
    cut_short: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether no finding is harmful."""
        return not any(finding.harms for finding in self.findings)


_LARGE_LOG = 256 * 1024 * 1024
_LITTLE_ROOM = 512 * 1024 * 1024
_REINDEX = "Close other Hermes programs and rebuild the search index."
_REPAIR = (
    "Close other Hermes programs, then run `hermes sessions repair --check-only`, or restore "
    "a snapshot with `hermes-desktop sessions restore latest`."
)
_TRIGGERS = "Run `hermes sessions list` once; this creates the missing parts."


_MENDED = (((3, 44, 6), (3, 45)), ((3, 50, 7), (3, 51)), ((3, 51, 3), (4,)))


def findings_of(report: HealthReport) -> Iterator[Finding]:
    """Yield the findings, the worst first."""
    if report.integrity:
        yield Finding(
            "damaged",
            f"The store is damaged: {report.integrity[0]}"
            + (f" (and {len(report.integrity) - 1} more)." if len(report.integrity) > 1 else "."),
            _REPAIR,
            harms=True,
        )
    for index in report.indexes:
        yield from _about_index(index)
    if report.broken_links:
        tables = ", ".join(f"{count} in {table}" for table, count in report.broken_links)
        yield Finding("foreign-keys", f"Rows refer to missing rows: {tables}.", harms=True)
    if report.cut_short:
        yield Finding(
            "cut-short",
            f"A deletion, restore or copy was interrupted; {report.cut_short} session(s) are "
            "hidden from all lists.",
            "Run `hermes-desktop sessions trash list` once; this completes or undoes it.",
            harms=True,
        )
    yield from _about_place(report)
    if has_wal_defect(report.sqlite_version):
        yield Finding(
            "sqlite-defect",
            f"SQLite {report.sqlite_version} has a rare bug when several programs empty the "
            "log at the same time.",
            "Fixed in SQLite 3.51.3, 3.50.7 and 3.44.6, and later releases of each series.",
        )


def _about_index(index: IndexHealth) -> Iterator[Finding]:
    if index.layout is None:
        yield Finding("index-missing", f"The search index {index.table} is missing.", _TRIGGERS)
    elif index.damage:
        yield Finding(
            "index-damaged",
            f"The index {index.table} is damaged: {index.damage}.",
            _REINDEX,
            harms=True,
        )
    if index.missing_triggers:
        names = ", ".join(index.missing_triggers)
        yield Finding(
            "trigger-missing",
            f"The search index is not updated: {names}.",
            _TRIGGERS,
            harms=True,
        )
    counts = (
        (index.missing, "missing"),
        (index.surplus, "left over"),
        (index.stale, "out of date"),
    )
    wrong = ", ".join(f"{count} {word}" for count, word in counts if count)
    if wrong:
        yield Finding("index-incomplete", f"Rows of {index.table}: {wrong}.", _REINDEX, harms=True)


def _about_place(report: HealthReport) -> Iterator[Finding]:
    if report.file_system.network:
        yield Finding(
            "network-file-system",
            f"The store is on a network file system ({report.file_system.kind}), where locks "
            "between machines are unreliable.",
            "Keep the home on a disk of this machine.",
            harms=True,
        )
    if not report.condition.writable:
        yield Finding("read-only", report.condition.reason, report.condition.hint)
    if report.disk_free < max(_LITTLE_ROOM, report.size // 10):
        yield Finding(
            "disk-nearly-full",
            f"Only {report.disk_free / 1e6:.0f} MB are free on the disk of the store.",
            "Free some space.",
        )
    if report.log_size > _LARGE_LOG:
        yield Finding(
            "large-log",
            f"The log of the store has {report.log_size / 1e6:.0f} MB: a program keeps "
            "a read open.",
            f"Restart the programs that use it{_named(report)}.",
        )
    if report.holders.hidden:
        yield Finding(
            "holders-unseen",
            f"{report.holders.hidden} other processes may use the store; they are not visible "
            "to this program.",
        )


def _named(report: HealthReport) -> str:
    return f": {report.holders}" if report.holders.seen else ""


def has_wal_defect(version: str) -> bool:
    """Return whether this SQLite can lose a commit when two programs reset the log together."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    mended = any(low <= numbers < high for low, high in _MENDED)
    return numbers >= (3, 7, 0) and not mended


_MOST_LINES = 20


def _open_for_reading(path: Path) -> OpenStore:
    return open_store(path, read_only=True, patience=Patience())


def health_report(  # noqa: PLR0913 - ways to look are choices of tests
    db_path: Path,
    *,
    check: Check = "quick",
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
    holders: Callable[[Path], Holders] = other_holders,
    file_system: Callable[[Path], FileSystem] = file_system_of,
    clock: Clock | None = None,
    opening: Callable[[Path], OpenStore] = _open_for_reading,
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
        opening: Opens the file; ``open_undisturbed`` creates no log.

    Raises:
        CancelledError: It was cancelled.
        BusyError: The file is locked.
        StateError: It cannot be opened; the message says why.
    """
    opened = opening(db_path)
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
        name: conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "journal_mode")
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
