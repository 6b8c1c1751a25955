"""Mending what can be mended without touching anybody's tables: the search index built anew.

Planned first and done only when asked for, after a snapshot, and only when nobody else is
connected. Damage of the tables themselves is the business of ``hermes sessions repair``.
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
from hermes_desktop.state.maintenance.health_records import Finding, HealthReport
from hermes_desktop.state.maintenance.index_health import INDEXED_TEXT
from hermes_desktop.state.maintenance.restore import require_alone
from hermes_desktop.state.maintenance.snapshot import SnapshotInfo, take_snapshot
from hermes_desktop.state.records.stopping import (
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
    """What a repair would do.

    Attributes:
        tables: Search indexes to build anew; () when there is nothing we can mend.
        reasons: The findings they are built anew for.
        beyond_us: Findings that need something else; their hints say what.
    """

    tables: tuple[str, ...]
    reasons: tuple[Finding, ...]
    beyond_us: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did.

    Attributes:
        tables: The indexes that were built anew.
        messages: How many messages each has now.
        before: The snapshot taken before.
    """

    tables: tuple[str, ...]
    messages: int
    before: SnapshotInfo


def plan_repair(report: HealthReport) -> RepairPlan:
    """Say what could be mended; does nothing."""
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
    """Build the search index anew from the messages, in one transaction, after a snapshot.

    SQLite's own ``rebuild`` would not do: an index that keeps its own text is rebuilt from that.

    Args:
        db: The store.
        snapshots: Folder for the snapshot.
        now: Epoch seconds.
        unseen_ok: Go on although some processes are not visible to us.
        on_progress: Called after each step, on this thread.
        cancel: Set from any thread to stop; the index is as it was then.
        holders: How to look for other processes.

    Raises:
        HeldError: Other processes have the store open, or (``PerhapsHeldError``) may have.
        RefusedError: The index of this file is not of the kind we can build.
        CancelledError: It was cancelled.
        StateError: There is no room, or the file cannot be written.
    """
    require_alone(db.db_path, unseen_ok=unseen_ok, holders=holders)
    tables = db.read(_tables_we_can_build)
    before = take_snapshot(
        db.db_path, snapshots, reason="repair", now=now, on_progress=on_progress, cancel=cancel
    )
    build = functools.partial(_build, tables, on_progress=on_progress, cancel=cancel)
    try:
        messages = db._execute_write(functools.partial(build, empty=_empty))  # noqa: SLF001
    except StateUnavailableError:
        messages = db._execute_write(functools.partial(build, empty=_empty_damaged))  # noqa: SLF001
    return RepairReport(tables, messages, before)


def _tables_we_can_build(conn: sqlite3.Connection) -> tuple[str, ...]:
    triggers = {
        row[0] for row in conn.execute("SELECT name FROM main.sqlite_master WHERE type = 'trigger'")
    }
    for table in FULL_TEXT:
        fed = all(f"{table}_{event}" in triggers for event in ("insert", "delete", "update"))
        if layout_of(conn, table) != "inline" or not fed:
            raise RefusedError(
                "The search index of this store is not built anew here.",
                f"{table} is missing, incomplete or of a newer kind.",
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
            on_progress(Progress("Building the search index", done, total))
    return int(conn.execute("SELECT count(*) FROM messages").fetchone()[0])


def _empty(conn: sqlite3.Connection, table: str) -> None:
    conn.execute(f"DELETE FROM {table}")
    _reset(conn, table)


def _empty_damaged(conn: sqlite3.Connection, table: str) -> None:
    """A damaged index cannot be emptied, and the attempt ends the transaction; reset it can be."""
    _reset(conn, table)
    _empty(conn, table)


def _reset(conn: sqlite3.Connection, table: str) -> None:
    """Throw the index away and make it anew from its own texts; at once when there are none."""
    conn.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
