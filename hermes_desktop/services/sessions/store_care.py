"""Maintenance of the shared file: snapshots before risky operations, and compacting. Blocking."""

import contextlib
from dataclasses import dataclass

from hermes_desktop.core.errors import BusyError, NotFoundError
from hermes_desktop.core.files.atomic_files import make_private_folder
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.holders import Holders, other_holders
from hermes_desktop.state.maintenance.restore import RestoreReport, restore_snapshot
from hermes_desktop.state.maintenance.snapshot import (
    SnapshotInfo,
    list_snapshots,
    prune_snapshots,
    take_snapshot,
)
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, silent, stop_if

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class TakenSnapshot:
    """The result of taking a snapshot.

    Attributes:
        snapshot: The new snapshot.
        dropped: Names of old snapshots that were deleted in exchange.
    """

    snapshot: SnapshotInfo
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Optimised:
    """The result of an optimization. Sizes in bytes.

    Attributes:
        indexes: The number of search indexes that were optimized.
        holders: Other programs that have the file open; no space is reclaimed then.
        before: The snapshot taken before the file was rewritten, None if it was not rewritten.
        size_before: The size of the file before.
        size_after: The size of the file after.
    """

    indexes: int
    holders: Holders
    before: SnapshotInfo | None
    size_before: int
    size_after: int


def guard(
    paths: HermesPaths,
    reason: str,
    *,
    now: float,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> TakenSnapshot:
    """Take a snapshot of the store and drop old ones: five are kept, none older than 30 days.

    Args:
        paths: The home.
        reason: One word for the list.
        now: Epoch seconds.
        on_progress: Called after each step.
        cancel: Set to stop; nothing remains then.

    Raises:
        SnapshotDiskFullError: There is no room.
        CancelledError: It was cancelled.
        BusyError: Another program keeps the file locked.
        StateError: The store cannot be read, or the copy cannot be written.
    """
    if paths.state_db.exists():
        _make_folder(paths)
    taken = take_snapshot(
        paths.state_db,
        paths.snapshots_dir,
        reason=reason,
        now=now,
        on_progress=on_progress,
        cancel=cancel,
    )
    return TakenSnapshot(taken, prune_snapshots(paths.snapshots_dir, now=now))


def optimise(
    db: SessionDB,
    paths: HermesPaths,
    *,
    now: float,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> Optimised:
    """Optimize the search index, and reclaim unused space unless another program has the file open.

    Raises:
        CancelledError: It was cancelled before the file was rewritten.
        StateError: There is no room for a snapshot, or the file cannot be written.
    """
    size = db.db_path.stat().st_size
    holders = other_holders(db.db_path)
    before = None
    if not holders.seen:
        before = guard(paths, "optimize", now=now, on_progress=on_progress, cancel=cancel).snapshot
        stop_if(cancel, "Optimizing")
    indexes = 0
    try:
        indexes = db.optimize_fts() if holders.seen else db.vacuum()
    except BusyError:
        # Another program has opened it; the index can still be optimized.
        holders = other_holders(db.db_path)
        if not holders.seen:
            raise
        indexes = db.optimize_fts()
    return Optimised(indexes, holders, before, size, db.db_path.stat().st_size)


def find(paths: HermesPaths, name: str) -> SnapshotInfo:
    """Return a snapshot by its name, or the latest one.

    Raises:
        NotFoundError: There is none.
    """
    snapshots = list_snapshots(paths.snapshots_dir)
    for info in snapshots:
        if name in {info.name, LATEST}:
            return info
    raise NotFoundError(
        f"There is no snapshot “{name}”." if snapshots else "There is no snapshot.",
        str(paths.snapshots_dir),
        "List them with `hermes-desktop sessions snapshot list`.",
    )


def restore(
    paths: HermesPaths,
    snapshot: SnapshotInfo,
    *,
    now: float,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> RestoreReport:
    """Replace the store with a snapshot, after taking a snapshot of the present state.

    Only call this after the user agreed, because some processes may not be visible to us.

    Raises:
        StoreInUseError: Other programs are known to have the store open.
        CancelledError: It was cancelled; the store is unchanged.
        StateError: There is no room, or something cannot be read or written.
    """
    _make_folder(paths)
    done = restore_snapshot(
        snapshot,
        paths.state_db,
        paths.snapshots_dir,
        now=now,
        unseen_ok=True,
        on_progress=on_progress,
        cancel=cancel,
    )
    prune_snapshots(paths.snapshots_dir, now=now)
    return done


def _make_folder(paths: HermesPaths) -> None:
    """Create our private folder; errors are reported when the snapshot is written."""
    with contextlib.suppress(OSError):
        make_private_folder(paths.desktop_dir, parents=False)
