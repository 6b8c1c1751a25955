"""A file is the old one or the new one."""

import os
from pathlib import Path

import pytest

from hermes_desktop.core.files.atomic_files import (
    remove_leftovers,
    write_bytes_atomic,
    write_text_atomic,
)
from tests.fakes.another_user import give_away


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def test_a_new_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"

    write_text_atomic(file, "größer\r\nkleiner\n")

    assert file.read_bytes() == "größer\r\nkleiner\n".encode()
    assert file.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["a.yaml"]


def test_an_old_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("old")
    file.chmod(0o640)

    write_text_atomic(file, "new")

    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.yaml"
    target.write_text("old")
    link = tmp_path / "a.yaml"
    link.symlink_to(target)

    write_text_atomic(link, "new")

    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("old")

    with pytest.raises(UnicodeEncodeError):
        write_text_atomic(file, "new \ud800")

    assert file.read_text() == "old"
    assert names(tmp_path) == ["a.yaml"]


def test_a_missing_folder_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_text_atomic(tmp_path / "gone" / "a.yaml", "new")

    assert names(tmp_path) == []


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").mkdir()

    with pytest.raises(OSError, match=r"a\.yaml"):
        write_text_atomic(tmp_path / "a.yaml", "new")

    assert names(tmp_path) == ["a.yaml"]


def test_who_looks_last_may_keep_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("old")

    def refuse() -> None:
        raise ValueError("somebody else was here")

    with pytest.raises(ValueError, match="somebody else"):
        write_bytes_atomic(file, b"new", last_look=refuse)

    assert file.read_text() == "old"
    assert names(tmp_path) == ["a.yaml"]


def test_what_root_changes_stays_its_owners(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("old")
    file.chmod(0o640)
    give_away(file)
    owner = (file.stat().st_uid, file.stat().st_gid)

    write_text_atomic(file, "new")

    assert (file.stat().st_uid, file.stat().st_gid) == owner
    assert file.stat().st_mode & 0o777 == 0o640


def test_what_killed_writers_left_is_taken_away_once_it_is_old(tmp_path: Path) -> None:
    file, other = tmp_path / ".env", tmp_path / ".env.backup.tmp"
    old, fresh = tmp_path / "..env.ab12_xyz.tmp", tmp_path / "..env.cd34_xyz.tmp"
    for each in (file, other, old, fresh):
        each.write_text("A_TOKEN=1")
    for each in (file, other, old):
        os.utime(each, (1_000_000_000, 1_000_000_000))

    remove_leftovers(file)

    assert sorted(names(tmp_path)) == sorted(each.name for each in (file, other, fresh))
