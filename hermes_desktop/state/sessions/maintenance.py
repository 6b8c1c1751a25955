"""Maintenance of the store: unused sessions, sessions never ended, and the search index."""

import contextlib
import math
import sqlite3
from collections.abc import Iterator, Sequence

from hermes_desktop.state.database.schema import FULL_TEXT, FileLayout, indexed_text_sql
from hermes_desktop.state.records import meta_table
from hermes_desktop.state.sessions.deletion import NEVER_USED

DAY_S = 86_400.0
ORPHAN_AGE_S = 7 * DAY_S
LAST_AUTO_PRUNE = "last_auto_prune"
_PORTION = 1_000
_MERGE_PAGES = 500

GHOST = f"s.source = 'tui' AND s.ended_at IS NOT NULL AND s.started_at < ? AND {NEVER_USED}"
"""Terminal sessions without any message; the one value is the latest start."""

ORPHAN = (
    "coalesce(s.api_call_count, 0) = 0 AND s.end_reason IS NULL AND s.ended_at IS NULL "
    "AND s.started_at < ? "
    "AND EXISTS (SELECT 1 FROM sessions AS p WHERE p.id = s.parent_session_id "
    "AND p.end_reason = 'compression' AND p.ended_at IS NOT NULL) "
    "AND EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id)"
)
"""Abandoned continuations that never had a reply of a model.

All must hold: no call counted, no reason and no time of an end, started before a time (the one
value: a week ago), the parent ended by compression, and at least one message.
"""


def last_prune(conn: sqlite3.Connection) -> float:
    """Return when any program last deleted old sessions; 0 if unknown."""
    with contextlib.suppress(ValueError, TypeError):
        found = float(meta_table.get(conn, LAST_AUTO_PRUNE) or 0)
        if math.isfinite(found) and found > 0:
            return found
    return 0.0


def claim_prune(conn: sqlite3.Connection, now: float, interval_s: float) -> bool:
    """Claim the next deletion of old sessions for this process, if it is due.

    The check and the record are one transaction, so that only one of several processes deletes. A
    record in the future was written when the clock was wrong, or the clock is wrong now: then
    nothing is deleted, and the interval starts now.
    """
    last = last_prune(conn)
    is_due = now >= last + interval_s
    if is_due or last > now:
        meta_table.put(conn, LAST_AUTO_PRUNE, str(now))
    return is_due


def release_claim(conn: sqlite3.Connection, claimed_at: float, before: float) -> None:
    """Undo :func:`claim_prune`, unless another program has deleted old sessions since."""
    if meta_table.get(conn, LAST_AUTO_PRUNE) == str(claimed_at):
        meta_table.put(conn, LAST_AUTO_PRUNE, str(before))


def finalize_orphans(conn: sqlite3.Connection, ids: Sequence[str], now: float) -> int:
    """End those of these sessions that (still) are orphans. Nothing is deleted."""
    marks = ", ".join("?" * len(ids))
    orphans = f"SELECT s.id FROM sessions AS s WHERE s.id IN ({marks}) AND {ORPHAN}"
    return conn.execute(
        "UPDATE sessions SET ended_at = ?, end_reason = 'orphaned_compression' "
        f"WHERE id IN ({orphans})",
        (now, *ids, now - ORPHAN_AGE_S),
    ).rowcount


def indexes(layout: FileLayout) -> list[str]:
    """Return the search indexes this program maintains: none in an unknown layout."""
    if not layout.has_inline_full_text:
        return []
    return [table for table in FULL_TEXT if table in layout.objects]


def merge_step(conn: sqlite3.Connection, table: str, *, first: bool) -> bool:
    """Merge a part of an index, a bounded amount of work. False: nothing is left to do.

    Many small steps have the effect of one long 'optimize' command, during which no process could
    write.
    """
    before = conn.total_changes
    pages = -_MERGE_PAGES if first else _MERGE_PAGES
    conn.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))
    return conn.total_changes - before >= 2  # noqa: PLR2004 - the command itself counts as one


def portions(conn: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """Yield ranges of message ids that cover every possible id, each with about a thousand rows."""
    low = -(2**63)
    while True:
        row = conn.execute(
            "SELECT id FROM messages WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?", (low, _PORTION)
        ).fetchone()
        if row is None:
            yield low, 2**63 - 1
            return
        yield low, row[0] - 1
        low = row[0]


def reindex(conn: sqlite3.Connection, table: str, low: int, high: int) -> None:
    """Rebuild one range of an inline index from the messages, in the caller's transaction."""
    conn.execute(f"DELETE FROM {table} WHERE rowid BETWEEN ? AND ?", (low, high))
    conn.execute(
        f"INSERT INTO {table} (rowid, content) SELECT m.id, {indexed_text_sql('m')} "
        "FROM messages AS m WHERE m.id BETWEEN ? AND ?",
        (low, high),
    )
