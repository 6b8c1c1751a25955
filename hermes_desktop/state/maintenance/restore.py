"""Restore of a snapshot in place of the current store.

Its pages are written into the existing file, in one transaction: no process is left with a file
that has lost its name, and a crash leaves the current store unchanged. A current store that cannot
be read any more is kept unchanged, under another name next to the new one.
"""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.errors import (
    RefusedError,
    StateError,
    StateReadOnlyError,
    StateUnavailableError,
)
from hermes_desktop.state.database.connection import Patience, make_file, open_connection, retrying
from hermes_desktop.state.database.holders import Holders, other_holders
from hermes_desktop.state.database.home_marks import kind_of_home
from hermes_desktop.state.database.store_opening import open_store
from hermes_desktop.state.maintenance.snapshot import SnapshotInfo, copy_pages, take_snapshot
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, silent
from hermes_desktop.state.records.sqlite_errors import to_hermes_error


class StoreInUseError(RefusedError):
    """Other programs have the store open.

    Attributes:
        holders: Which, as far as it can be determined.
    """

    def __init__(self, title: str, detail: str, hint: str, holders: Holders) -> None:
        super().__init__(title, detail, hint)
        self.holders = holders


class StorePossiblyInUseError(StoreInUseError):
    """No process is seen to have the store open, but some processes cannot be inspected."""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The result of a restore.

    Attributes:
        restored: The restored snapshot.
        before: The snapshot of the previous store, None when there was none that can be read.
        set_aside: Path of the unreadable previous file, None when there was none.
    """

    restored: SnapshotInfo
    before: SnapshotInfo | None
    set_aside: Path | None = None


def require_no_other_process(
    path: Path,
    *,
    unseen_ok: bool,
    holders: Callable[[Path], Holders] = other_holders,
) -> None:
    """Verify that no other process has the store open.

    Args:
        path: The store.
        unseen_ok: Continue although some processes cannot be inspected.
        holders: Finds other processes.

    Raises:
        StoreInUseError: Other processes have it open.
        StorePossiblyInUseError: It cannot be determined.
    """
    found = holders(path)
    if found.seen:
        raise StoreInUseError(
            "Other programs use the session database.",
            f"Open in: {found}.",
            "Close them and try again.",
            found,
        )
    if found.hidden and not unseen_ok:
        raise StorePossiblyInUseError(
            "It cannot be determined whether other programs use the session database.",
            f"{found.hidden} processes of other users or of the system cannot be inspected.",
            "Make sure that no other Hermes program is running, then confirm.",
            found,
        )


def require_shared(db_path: Path) -> None:
    """Refuse to replace a store that only another program may write.

    Raises:
        StateReadOnlyError: The message names the program.
    """
    home = kind_of_home(db_path)
    if not home.may_write:
        raise StateReadOnlyError(home.title, home.reason, home.hint)


def restore_snapshot(  # noqa: PLR0913 - each is a choice or a wire of the caller
    snapshot: SnapshotInfo,
    db_path: Path,
    folder: Path,
    *,
    now: float,
    unseen_ok: bool = False,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
    holders: Callable[[Path], Holders] = other_holders,
) -> RestoreReport:
    """Restore a snapshot in place of the store, after a snapshot of the current one.

    Open ``SessionDB`` objects of this process should be reopened afterwards: their knowledge of the
    file's version may be outdated.

    Args:
        snapshot: The snapshot to restore.
        db_path: The store.
        folder: Folder for the snapshot of the current store.
        now: Epoch seconds.
        unseen_ok: Continue although some processes cannot be inspected.
        on_progress: Called after each step, on this thread.
        cancel: Set from any thread to stop; the store is then unchanged.
        holders: Finds other processes.

    Raises:
        StoreInUseError: Other processes have the store open, or may have
            (``StorePossiblyInUseError``).
        SnapshotDiskFullError: There is no space for a snapshot of the current store.
        CancelledError: It was cancelled.
        BusyError: The store is locked.
        StateReadOnlyError: Only another program may write the conversations of this home.
        StateError: The snapshot cannot be read, or the store not written.
    """
    require_shared(db_path)
    require_no_other_process(db_path, unseen_ok=unseen_ok, holders=holders)
    with contextlib.closing(_open_snapshot(snapshot)) as source, contextlib.ExitStack() as aside:
        before = moved = None
        if not _is_nothing(db_path):
            try:
                before = take_snapshot(
                    db_path,
                    folder,
                    reason="restore",
                    now=now,
                    on_progress=on_progress,
                    cancel=cancel,
                )
            except StateUnavailableError:
                if not db_path.is_file():
                    raise
                moved = aside.enter_context(_set_aside(db_path.resolve(), now))
        try:
            _write_over(source, db_path, on_progress, cancel)
        except sqlite3.Error as error:
            raise to_hermes_error(error, db_path) from error
    return RestoreReport(snapshot, before, moved)


def _open_snapshot(snapshot: SnapshotInfo) -> sqlite3.Connection:
    """Open the snapshot, and verify its integrity."""
    why = ""
    try:
        conn = open_store(snapshot.path, read_only=True, patience=Patience()).conn
    except StateUnavailableError as error:
        why = error.detail
    else:
        try:
            why = str(conn.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.Error as error:
            why = str(error)
        if why == "ok":
            return conn
        conn.close()
    raise StateUnavailableError(
        f"The snapshot {snapshot.name} is damaged.",
        f"{why.rstrip('.')}. Nothing was changed.",
        "Choose another one from `hermes-desktop sessions snapshot list`.",
    )


def _is_nothing(path: Path) -> bool:
    return not path.exists() or (path.is_file() and not path.stat().st_size)


@contextlib.contextmanager
def _set_aside(path: Path, now: float) -> Iterator[Path]:
    """Rename an unreadable store for a ``with`` block that creates a new one.

    Its log is renamed first: next to a new file it would be mistaken for that file's log. If the
    block fails, all names are restored.
    """
    stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(now))
    place = path.with_name(f"{path.name}.damaged-{stamp}")
    number = 1
    while place.exists():
        number += 1
        place = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    moves = [(Path(f"{path}{end}"), Path(f"{place}{end}")) for end in ("-wal", "-shm", "")]
    done: list[tuple[Path, Path]] = []
    try:
        for old, new in moves:
            if old.exists():
                old.rename(new)
                done.append((old, new))
        yield place
    except BaseException as error:
        if (path, place) in done:
            for old, _ in reversed(moves):
                old.unlink(missing_ok=True)
        for old, new in reversed(done):
            new.rename(old)
        if isinstance(error, OSError):
            raise StateError(
                "The damaged store could not be set aside.",
                f"{path}: {error.strerror or error}.",
                "Check the permissions of its folder.",
            ) from error
        raise


def _write_over(
    source: sqlite3.Connection, path: Path, on_progress: OnProgress, cancel: CancelSignal | None
) -> None:
    is_new = _is_nothing(path)
    if not path.exists():
        make_file(path)
    with contextlib.closing(open_connection(path, "rw")) as target:
        if is_new:
            retrying(lambda: target.execute("PRAGMA journal_mode=WAL").fetchall(), Patience())
        copy_pages(source, target, "Restoring the snapshot", on_progress, cancel)
