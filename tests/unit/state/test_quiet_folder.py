"""One look at the folder tells that the file is still the same; nothing escapes it."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.core.errors import StateUnavailableError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database.connection import FolderChangeCheck


@pytest.fixture
def settled(db: SessionDB, path: Path) -> SessionDB:
    """A store whose folder has not changed for a long time, which the store knows."""
    db.create_session("a", "cli")
    os.utime(path.parent, (1.0, 1.0))
    db.append_message("a", "user", "first")
    assert len(db.get_messages("a")) == 1
    assert db._file._folder.is_unchanged()
    return db


def put_another(path: Path) -> None:
    other = path.parent.parent / "other.db"
    made = SessionDB(other)
    made.create_session("a", "cli")
    made.close()
    shutil.move(other, path)


def move_the_folder_away(path: Path) -> None:
    path.parent.rename(path.parent.parent / "gone")
    path.parent.mkdir()
    put_another(path)


@pytest.mark.parametrize("change", [put_another, move_the_folder_away])
def test_another_file(settled: SessionDB, path: Path, change: Callable[[Path], None]) -> None:
    change(path)
    settled.append_message("a", "user", "after")
    assert [row["content"] for row in settled.get_messages("a")] == ["after"]


def test_the_file_goes_while_only_reading(settled: SessionDB, path: Path) -> None:
    path.unlink()
    os.utime(path.parent, (2.0, 2.0))
    for _ in range(2):
        assert len(settled.get_messages("a")) == 1
        with pytest.raises(StateUnavailableError):
            settled.append_message("a", "user", "after")


def test_a_folder_that_has_just_changed_is_not_trusted(tmp_path: Path) -> None:
    folder = FolderChangeCheck(tmp_path / "state.db")
    os.utime(tmp_path, (time.time(), time.time()))
    folder.trust(folder.look())
    assert not folder.is_unchanged()
    os.utime(tmp_path, (1.0, 1.0))
    folder.trust(folder.look())
    assert folder.is_unchanged()
    (tmp_path / "new").touch()
    assert not folder.is_unchanged()


def test_a_link_is_looked_at_itself(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state.db").symlink_to(tmp_path / "elsewhere" / "state.db")
    os.utime(tmp_path, (1.0, 1.0))
    folder = FolderChangeCheck(tmp_path / "state.db")
    folder.trust(folder.look())
    assert not folder.is_unchanged()
