"""Methods of SessionDB that delete, prune and archive sessions, and maintain the file.

The first parameter of each is the open store; ``SessionDB`` takes them as its methods.

``sessions_dir``, if given, is the folder with transcripts of older releases and error dumps: those
of deleted sessions are deleted, too. ``routing_scope`` is this program's own scope of the routing
table: its rows for deleted sessions are deleted, those of other scopes stay.
"""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hermes_desktop.core.errors import BusyError, HermesError
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.conversations.trash_rows import ConversationScope
from hermes_desktop.state.database import holders
from hermes_desktop.state.facade import long_sessions
from hermes_desktop.state.facade.session_methods import own_pins, own_pins_if_readable
from hermes_desktop.state.facade.store import Store, reads, writes
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.records.stored_rows import marks
from hermes_desktop.state.sessions import (
    bulk_selection,
    deletion,
    lineage,
    maintenance,
    pins,
    sessions_table,
)
from hermes_desktop.state.sessions.bulk_selection import DAY_S, Candidate, Selection, SessionFilter
from hermes_desktop.state.sessions.deletion import DeletionScope

log = logging.getLogger(__name__)

Still = Callable[[sqlite3.Connection], tuple[str, Sequence[object]]]
"""Returns a condition on the session ``s`` as SQL, with its values."""


@reads
def lineage_ids_for_delete(db: Store, session_id: str) -> DeletionScope:
    """Return the whole conversation a session belongs to, and its subagents."""
    return db.read(lambda conn: deletion.conversation_scope(conn, session_id))


@reads
def selection(db: Store, choice: SessionFilter, *, for_archive: bool = False) -> Selection:
    """Return what pruning (or archiving) with this filter would affect and what it spares."""
    pinned_here = own_pins(db)
    return db.read(
        lambda conn: bulk_selection.select(conn, choice, pinned_here, spare_parts=not for_archive)
    )


@reads
def candidates(db: Store, choice: SessionFilter) -> list[Candidate]:
    """Return the sessions that :meth:`prune` with this filter would delete, oldest first."""
    return list(selection(db, choice).candidates)


@reads
def ended_session_of(
    db: Store, choice: SessionFilter
) -> Callable[[sqlite3.Connection, str], ConversationScope | None]:
    """Return :func:`trash_rows.ended_session`, limited to sessions that still match."""

    def taking(conn: sqlite3.Connection, session_id: str) -> ConversationScope | None:
        where, values = choice.where(conn)
        if not choice.include_pinned:
            if session_id in own_pins(db):
                return None
            where += f" AND {pins.not_pinned_sql(conn)}"
        still = deletion.ids_where(conn, f"s.id = ? AND {where}", session_id, *values)
        return trash_rows.ended_session(conn, session_id) if still else None

    return taking


@reads
def prune_selection(db: Store, older_than_days: float) -> Selection:
    """Return what :meth:`prune` would delete with this age, and what it spares."""
    return selection(db, _unused_for(older_than_days, db._clock.time()))


@writes
def delete_sessions(
    db: Store,
    session_ids: Sequence[str | None],
    sessions_dir: Path | None = None,
    *,
    routing_scope: str | None = None,
) -> int:
    """Delete sessions with their subagents, in short transactions. Returns how many.

    Subagents are not counted; unknown ids and None are ignored.
    """
    wanted = db.read(lambda conn: deletion.existing(conn, session_ids))
    return _delete(
        db, wanted, _whatever, sessions_dir, spare_pinned=False, routing_scope=routing_scope
    )


@writes
def prune(
    db: Store,
    choice: SessionFilter,
    sessions_dir: Path | None = None,
    *,
    routing_scope: str | None = None,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> int:
    """Delete what a filter selects; children are detached, also subagents. Returns how many.

    A session that was reopened, used or pinned in the meantime stays, and so do the remaining
    ones once ``cancel`` is set.
    """
    ids = [candidate.id for candidate in candidates(db, choice)]
    return _delete(
        db,
        ids,
        choice.where,
        sessions_dir,
        cascade=False,
        spare_pinned=not choice.include_pinned,
        routing_scope=routing_scope,
        on_progress=on_progress,
        cancel=cancel,
    )


@writes
def prune_empty_ghost_sessions(db: Store, sessions_dir: Path | None = None) -> int:
    """Delete terminal sessions older than a day that never had a message."""
    latest = db._clock.time() - DAY_S
    ids = db.read(lambda conn: deletion.ids_where(conn, maintenance.GHOST, latest))
    return _delete(db, ids, lambda _: (maintenance.GHOST, (latest,)), sessions_dir, cascade=False)


@writes
def finish_what_was_cut_short(db: Store) -> int:
    """Finish deletions and undo copies that a crash interrupted. Returns how many."""
    return long_sessions.finish(db, db._clock.time())


@writes
def archive(db: Store, choice: SessionFilter) -> int:
    """Archive the conversations that a filter selects, all their segments.

    Returns:
        How many selected sessions were not archived before.
    """
    selected = selection(db, choice, for_archive=True).candidates
    fresh = [found.id for found in selected if not found.archived]
    members = db.read(lambda conn: lineage.families(conn, fresh))
    for start in range(0, len(members), deletion.MOST_SESSIONS):
        portion = members[start : start + deletion.MOST_SESSIONS]
        db._execute_write(
            lambda conn, portion=portion: sessions_table.set_archived(  # type: ignore[misc]
                conn, portion, archived=True
            )
        )
    return len(fresh)


def _delete(  # noqa: PLR0913 - each is needed
    db: Store,
    ids: Sequence[str],
    still: Still,
    sessions_dir: Path | None,
    *,
    cascade: bool = True,
    spare_pinned: bool = True,
    routing_scope: str | None = None,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> int:
    """Delete those sessions for which a condition still holds when their portion is processed.

    Unless ``spare_pinned`` is False, sessions pinned in the meantime are kept.
    """
    started = (lambda conn: deletion.subagents_of_each(conn, ids)) if cascade else _nobody
    agents = db.read(started)
    portions = db.read(lambda conn: list(deletion.portions(conn, ids, agents)))
    total = sum(len(portion.agents) for portion in portions)
    deleted = done = 0
    for portion in portions:
        if cancel is not None and cancel.is_set():
            break
        count, gone = _delete_portion(db, portion, still, routing_scope, spare_pinned=spare_pinned)
        deleted += count
        _forget_pins(db, gone)
        if sessions_dir is not None:
            deletion.remove_files(sessions_dir, gone)
        done += len(portion.agents)
        on_progress(Progress("Deleting", done, total))
    return deleted


def _delete_portion(
    db: Store,
    portion: deletion.Portion,
    still: Still,
    routing_scope: str | None,
    *,
    spare_pinned: bool,
) -> tuple[int, list[str]]:
    """Return how many of the named sessions were deleted, and the ids of all deleted ones."""
    named: list[str] = []

    def choose(conn: sqlite3.Connection) -> list[str]:
        kept = own_pins(db) if spare_pinned else frozenset()
        ids = [each for each in portion.agents if each not in kept]
        also, values = still(conn)
        condition = f"s.id IN ({marks(ids)}) AND ({also})"
        if spare_pinned:
            condition += f" AND {pins.not_pinned_sql(conn)}"
        named[:] = deletion.ids_where(conn, condition, *ids, *values)
        family = [*named, *(agent for each in named for agent in portion.agents[each])]
        present = deletion.existing(conn, family)
        if routing_scope is not None:
            deletion.forget_routes(conn, routing_scope, present)
        return present

    if portion.is_long:
        gone = long_sessions.remove_long(db, choose, db._clock.time())
    else:
        gone = db._execute_write(lambda conn: deletion.remove(conn, choose(conn)))
    return len(set(named).intersection(gone)), gone


def _forget_pins(db: Store, gone: Sequence[str]) -> None:
    pinned = own_pins_if_readable(db).intersection(gone)
    if pinned:
        db._own.write(lambda own: pins.remove(own, pinned))


def _that(condition: str, *values: object) -> Still:
    return lambda _: (condition, values)


def _nobody(_: sqlite3.Connection) -> dict[str, list[str]]:
    return {}


@writes
def finalize_orphaned_compression_sessions(db: Store) -> int:
    """End abandoned continuations; see :data:`maintenance.ORPHAN`."""
    now = db._clock.time()
    latest = now - maintenance.ORPHAN_AGE_S
    ids = db.read(lambda conn: deletion.ids_where(conn, maintenance.ORPHAN, latest))
    done = 0
    for start in range(0, len(ids), deletion.MOST_SESSIONS):
        portion = ids[start : start + deletion.MOST_SESSIONS]
        done += db._execute_write(
            lambda conn, portion=portion: maintenance.finalize_orphans(conn, portion, now)  # type: ignore[misc]
        )
    return done


@writes
def maybe_auto_prune_and_vacuum(
    db: Store,
    retention_days: float = 90,
    min_interval_hours: float = 24,
    vacuum: bool = True,  # noqa: FBT001, FBT002 - positional in programs that use this class
    sessions_dir: Path | None = None,
    cancel: CancelSignal | None = None,
) -> dict[str, Any]:
    """Prune at most once per interval. Never raises: maintenance must not prevent a start.

    Only one of the processes that share the file prunes at a time. When ``cancel`` is set in
    the middle, the rest is due immediately.

    Returns:
        ``skipped`` (done recently), ``pruned``, ``vacuumed`` and, if it failed, ``error``.
    """
    result: dict[str, Any] = {"skipped": False, "pruned": 0, "vacuumed": False}
    try:
        now, before = db._clock.time(), last_auto_prune(db)
        interval_s = min_interval_hours * 3600
        if not db._execute_write(lambda conn: maintenance.claim_prune(conn, now, interval_s)):
            return {**result, "skipped": True}
        choice = _unused_for(retention_days, now)
        result["pruned"] = prune(db, choice, sessions_dir, cancel=cancel)
        if cancel is not None and cancel.is_set():
            db._execute_write(lambda conn: maintenance.release_claim(conn, now, before))
        elif result["pruned"] and vacuum:
            result["vacuumed"] = _vacuum_if_alone(db)
    except Exception as error:  # noqa: BLE001 - see above
        log.warning("Old sessions were not pruned: %s", error)
        result["error"] = str(error)
    return result


@reads
def last_auto_prune(db: Store) -> float:
    """Return when any program last pruned old sessions, epoch seconds; 0: unknown."""
    return db.read(maintenance.last_prune)


@reads
def auto_prune_due_at(db: Store, min_interval_hours: float = 24) -> float:
    """Return when :meth:`maybe_auto_prune_and_vacuum` is due, epoch seconds; 0: any time."""
    last = last_auto_prune(db)
    return last + min_interval_hours * 3600 if last else 0.0


def _vacuum_if_alone(db: Store) -> bool:
    try:
        vacuum(db)
    except HermesError as error:
        log.info("The store was not made smaller: %s", error.title)
        return False
    return True


@writes
def optimize_fts(db: Store) -> int:
    """Merge the search indexes in short steps. Returns how many there are.

    0 for a file of a newer layout, which is not modified.
    """
    tables = maintenance.indexes(db.layout)
    for table in tables:
        first = True
        while db._execute_write(
            lambda conn, table=table, first=first: maintenance.merge_step(  # type: ignore[misc]
                conn, table, first=first
            )
        ):
            first = False
    return len(tables)


@writes
def rebuild_fts(db: Store) -> int:
    """Rebuild the search indexes from the messages. Returns how many there are.

    Done in portions, so that other processes can write in between and the index stays usable.
    0 for a file of a newer layout, where that would damage it.
    """
    tables = maintenance.indexes(db.layout)
    if not tables:
        return 0
    for low, high in db.read(lambda conn: list(maintenance.portions(conn))):
        for table in tables:
            db._execute_write(
                lambda conn, table=table, low=low, high=high: maintenance.reindex(  # type: ignore[misc]
                    conn, table, low, high
                )
            )
    return len(tables)


@writes
def vacuum(db: Store) -> int:
    """Optimize the indexes and return unused space to the disk.

    Returns:
        How many search indexes there are.

    Raises:
        BusyError: Another program has the store open; it is named.
    """
    others = holders.other_holders(db.db_path)
    if others.seen:
        raise BusyError(
            "The store cannot be compacted now.",
            f"It is open in {others}.",
            "Close that program and try again.",
        )
    done = optimize_fts(db)
    db._file.outside(lambda conn: conn.execute("VACUUM").fetchall())
    return done


def _unused_for(days: float, now: float) -> SessionFilter:
    return SessionFilter(idle_before=now - days * DAY_S)


_whatever = _that("1")
