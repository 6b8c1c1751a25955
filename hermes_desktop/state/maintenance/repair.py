"""Repair of what can be repaired without changing other tables: a rebuild of the search index.

It is planned first and executed only on request, after a snapshot, and only when no other process
is connected. Damage of the tables themselves is left to ``hermes sessions repair``.
"""

import functools
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.errors import RefusedError, StateUnavailableError
from hermes_desktop.state.database.holders import Holders, other_holders
from hermes_desktop.state.database.schema import FULL_TEXT
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.maintenance.health import Finding, HealthReport
from hermes_desktop.state.maintenance.index_health import INDEXED_TEXT
from hermes_desktop.state.maintenance.restore import require_no_other_process
from hermes_desktop.state.maintenance.snapshot import SnapshotInfo, take_snapshot
from hermes_desktop.state.records.cancellation import (
    CancelSignal,
    OnProgress,
    Progress,
    silent,
    stop_if,
)
from hermes_desktop.state.search.search_index import layout_of

_ROWS_A_STEP = 2_000
_MENDED = {"index-incomplete", "index-damaged"}


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """The plan of a repair.

    Attributes:
        tables: Search indexes to rebuild; () when nothing can be repaired here.
        reasons: The findings for which they are rebuilt.
        beyond_us: Findings that need something else; their hints say what.
    """

    tables: tuple[str, ...]
    reasons: tuple[Finding, ...]
    beyond_us: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The result of a repair.

    Attributes:
        tables: The indexes that were rebuilt.
        messages: How many messages each has now.
        before: The snapshot taken before.
    """

    tables: tuple[str, ...]
    messages: int
    before: SnapshotInfo


def plan_repair(report: HealthReport) -> RepairPlan:
    """Return what could be repaired; changes nothing."""
    harming = [finding for finding in report.findings if finding.harms]
    tables = tuple(
        index.table
        for index in report.indexes
        if index.layout == "inline"
        and (index.missing or index.surplus or index.stale or index.damage)
        and not index.missing_triggers
    )
    if report.integrity:
        tables = ()
    reasons = tuple(f for f in harming if tables and f.kind in _MENDED)
    return RepairPlan(tables, reasons, tuple(f for f in harming if f not in reasons))


def repair_index(  # noqa: PLR0913 - each is a choice or a wire of the caller
    db: SessionDB,
    snapshots: Path,
    *,
    now: float,
    unseen_ok: bool = False,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
    holders: Callable[[Path], Holders] = other_holders,
) -> RepairReport:
    """Rebuild the search index from the messages, in one transaction, after a snapshot.

    SQLite's own ``rebuild`` is not sufficient: an index that stores its own text is rebuilt from
    that.

    Args:
        db: The store.
        snapshots: Folder for the snapshot.
        now: Epoch seconds.
        unseen_ok: Continue although some processes cannot be inspected.
        on_progress: Called after each step, on this thread.
        cancel: Set from any thread to stop; the index is then unchanged.
        holders: Finds other processes.

    Raises:
        StoreInUseError: Other processes have the store open, or may have
            (``StorePossiblyInUseError``).
        RefusedError: The index of this file is not of the kind that can be rebuilt here.
        CancelledError: It was cancelled.
        StateError: There is no space, or the file cannot be written.
    """
    require_no_other_process(db.db_path, unseen_ok=unseen_ok, holders=holders)
    tables = db.read(_tables_we_can_build)
    before = take_snapshot(
        db.db_path, snapshots, reason="repair", now=now, on_progress=on_progress, cancel=cancel
    )
    build = functools.partial(_build, tables, on_progress=on_progress, cancel=cancel)
    try:
        messages = db._execute_write(functools.partial(build, empty=_empty))
    except StateUnavailableError:
        messages = db._execute_write(functools.partial(build, empty=_empty_damaged))
    return RepairReport(tables, messages, before)


def _tables_we_can_build(conn: sqlite3.Connection) -> tuple[str, ...]:
    triggers = {
        row[0] for row in conn.execute("SELECT name FROM main.sqlite_master WHERE type = 'trigger'")
    }
    for table in FULL_TEXT:
        fed = all(f"{table}_{event}" in triggers for event in ("insert", "delete", "update"))
        if layout_of(conn, table) != "inline" or not fed:
            raise RefusedError(
                "The search index of this store cannot be rebuilt here.",
                f"{table} is missing, incomplete or newer than this version.",
                "Run `hermes sessions list` once, or `hermes sessions optimize`.",
            )
    return tuple(FULL_TEXT)


def _build(
    tables: tuple[str, ...],
    conn: sqlite3.Connection,
    *,
    empty: Callable[[sqlite3.Connection, str], None],
    on_progress: OnProgress,
    cancel: CancelSignal | None,
) -> int:
    top = int(conn.execute("SELECT max(id) FROM messages").fetchone()[0] or 0)
    total, done = top * len(tables), 0
    for table in tables:
        empty(conn, table)
        for low in range(0, top, _ROWS_A_STEP):
            stop_if(cancel, "The repair")
            conn.execute(
                f"INSERT INTO {table} (rowid, content) SELECT m.id, {INDEXED_TEXT} "
                "FROM messages AS m WHERE m.id > ? AND m.id <= ?",
                (low, low + _ROWS_A_STEP),
            )
            done = min(done + _ROWS_A_STEP, total)
            on_progress(Progress("Rebuilding the search index", done, total))
    return int(conn.execute("SELECT count(*) FROM messages").fetchone()[0])


def _empty(conn: sqlite3.Connection, table: str) -> None:
    conn.execute(f"DELETE FROM {table}")
    _reset(conn, table)


def _empty_damaged(conn: sqlite3.Connection, table: str) -> None:
    """Reset a damaged index before it is emptied; emptying alone fails and ends the transaction."""
    _reset(conn, table)
    _empty(conn, table)


def _reset(conn: sqlite3.Connection, table: str) -> None:
    """Discard the index and rebuild it from its own texts; immediate when there are none."""
    conn.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
