"""Copies of the store and their way back."""

import contextlib
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from hermes_desktop.core.errors import CancelledError, StateUnavailableError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.holders import Holder, Holders
from hermes_desktop.state.maintenance.restore import (
    RestoreReport,
    StoreInUseError,
    StorePossiblyInUseError,
    restore_snapshot,
)
from hermes_desktop.state.maintenance.snapshot import (
    SnapshotDiskFullError,
    SnapshotInfo,
    list_snapshots,
    prune_snapshots,
    take_snapshot,
)

DAY = 86_400.0


def nobody(_: Path) -> Holders:
    return Holders(())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "desktop" / "snapshots"


@pytest.fixture
def filled(db: SessionDB) -> SessionDB:
    db.create_session("a", "cli")
    for number in range(50):
        db.append_message("a", "user", f"text {number} " + "x" * 2_000)
    return db


def take(db: SessionDB, folder: Path, **choices) -> SnapshotInfo:
    return take_snapshot(db.db_path, folder, **{"reason": "person", "now": 1_000.0, **choices})


def grow(db: SessionDB) -> None:
    """Add several steps' worth of pages."""
    rows = [{"role": "user", "content": f"{number} " + "y" * 4_000} for number in range(1_000)]
    db.replace_messages("a", rows)


def restore(snapshot: SnapshotInfo, path: Path, folder: Path, **choices) -> RestoreReport:
    return restore_snapshot(
        snapshot, path, folder, **{"now": 2_000.0, "holders": nobody, **choices}
    )


def contents(path: Path) -> list[str]:
    with contextlib.closing(SessionDB(path, read_only=True)) as db:
        return [row["content"] for row in db.get_messages("a")]


def test_copy_is_complete_private_and_by_itself(filled: SessionDB, folder: Path) -> None:
    info = take(filled, folder)
    assert (info.sessions, info.messages, info.schema_version) == (1, 50, 22)
    assert info.name.endswith("-person")
    assert sorted(p.name for p in info.path.parent.iterdir()) == ["manifest.json", "state.db"]
    assert {p.stat().st_mode & 0o777 for p in info.path.parent.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert contents(info.path) == contents(filled.db_path)
    assert list_snapshots(folder) == (info,)


def test_writers_go_on_and_the_copy_ends(filled: SessionDB, folder: Path) -> None:
    """Each step sees a commit; the copy is that of the beginning."""
    steps: list[int] = []

    def write(progress: object) -> None:
        steps.append(1)
        filled.append_message("a", "user", "meanwhile")

    grow(filled)
    before = filled.message_count()
    info = take(filled, folder, on_progress=write)
    assert len(steps) > 3
    assert info.messages == before
    assert len(contents(info.path)) == before
    assert filled.message_count() == before + len(steps)


def test_cancelled_leaves_nothing(filled: SessionDB, folder: Path) -> None:
    cancel = threading.Event()
    with pytest.raises(CancelledError):
        take(filled, folder, on_progress=lambda _: cancel.set() or None, cancel=cancel) and take(
            filled, folder, cancel=cancel
        )
    cancel.set()
    with pytest.raises(CancelledError):
        take(filled, folder, cancel=cancel)
    assert not list(folder.glob(".part*"))


def test_no_room(filled: SessionDB, folder: Path) -> None:
    with pytest.raises(SnapshotDiskFullError) as caught:
        take(filled, folder, free=lambda _: 1_000)
    assert "MB" in caught.value.detail
    assert list_snapshots(folder) == ()


def test_two_in_one_second_and_half_made_ones(filled: SessionDB, folder: Path) -> None:
    first, second = take(filled, folder), take(filled, folder)
    assert second.name == f"{first.name}-2"
    stale = folder / ".part-00"
    stale.mkdir()
    os.utime(stale, (10.0, 10.0))
    (folder / "strange").mkdir()
    (folder / "strange" / "manifest.json").write_text("{", encoding="utf-8")
    take(filled, folder, now=90_000.0)
    assert not stale.exists()
    assert len(list_snapshots(folder)) == 3


def test_pruned_by_count_and_age(filled: SessionDB, folder: Path) -> None:
    names = [take(filled, folder, now=day * DAY).name for day in (1, 10, 38, 39, 40)]
    assert set(prune_snapshots(folder, now=41 * DAY, keep=4)) == set(names[:2])
    assert set(prune_snapshots(folder, now=400 * DAY)) == set(names[2:4])
    assert [info.name for info in list_snapshots(folder)] == names[4:]


def test_no_store_no_snapshot(path: Path, folder: Path) -> None:
    with pytest.raises(StateUnavailableError):
        take_snapshot(path, folder, reason="x", now=1.0)
    assert not folder.exists()


# ---------------------------------------------------------------------------------- the way back


def test_restore_keeps_the_present_and_the_file(filled: SessionDB, folder: Path) -> None:
    path = filled.db_path
    info = take(filled, folder)
    filled.append_message("a", "user", "newer")
    inode = path.stat().st_ino
    report = restore(info, path, folder)
    assert path.stat().st_ino == inode
    assert len(contents(path)) == 50
    assert report.before is not None
    assert contents(report.before.path)[-1] == "newer"
    filled.append_message("a", "user", "written by the one that was open")
    assert contents(path)[-1] == "written by the one that was open"
    assert filled._conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert filled._conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_restore_where_nothing_is(filled: SessionDB, folder: Path, tmp_path: Path) -> None:
    info = take(filled, folder)
    other = tmp_path / "other" / "state.db"
    report = restore(info, other, folder)
    assert report.before is None
    assert len(contents(other)) == 50
    assert other.stat().st_mode & 0o777 == 0o600


def test_restore_refused_while_others_use_it(filled: SessionDB, folder: Path) -> None:
    info = take(filled, folder)
    with pytest.raises(StoreInUseError) as caught:
        restore(info, filled.db_path, folder, holders=lambda _: Holders((Holder(7, "hermes"),)))
    assert "hermes (process 7)" in caught.value.detail
    with pytest.raises(StorePossiblyInUseError) as unsure:
        restore(info, filled.db_path, folder, holders=lambda _: Holders((), hidden=3))
    assert "cannot be determined" in unsure.value.title
    assert restore(
        info, filled.db_path, folder, holders=lambda _: Holders((), hidden=3), unseen_ok=True
    ).before


def test_cancelled_restore_changes_nothing(filled: SessionDB, folder: Path) -> None:
    info = take(filled, folder)
    grow(filled)
    large = take(filled, folder)
    restore(info, filled.db_path, folder)
    cancel = threading.Event()

    def stop_while_restoring(progress) -> None:
        if progress.step.startswith("Restoring"):
            cancel.set()

    with pytest.raises(CancelledError):
        restore(large, filled.db_path, folder, on_progress=stop_while_restoring, cancel=cancel)
    assert len(contents(filled.db_path)) == 50
    assert filled._conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_restore_of_something_else_is_refused(filled: SessionDB, folder: Path) -> None:
    info = take(filled, folder)
    with contextlib.closing(sqlite3.connect(info.path)) as conn:
        conn.execute("DROP TABLE messages")
    before = contents(filled.db_path)
    with pytest.raises(StateUnavailableError):
        restore(info, filled.db_path, folder)
    assert contents(filled.db_path) == before
    shutil.rmtree(info.path.parent)
    with pytest.raises(StateUnavailableError):
        restore(info, filled.db_path, folder)
