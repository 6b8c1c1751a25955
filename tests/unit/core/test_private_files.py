"""Private folders and files under any umask."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.files.atomic_files import make_private_folder, open_private

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_folders_and_their_parents_are_private(tmp_path: Path, umask: int) -> None:
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert [_mode(tmp_path / each) for each in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    make_private_folder(folder)
    assert _mode(folder) == 0o755


def test_without_parents_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make_private_folder(tmp_path / "a" / "b", parents=False)
    assert not (tmp_path / "a").exists()


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "a")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        make_private_folder(tmp_path / "a" / "b")


def test_files_are_private_and_keep_what_they_are(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "f"
    os.close(open_private(path, os.O_RDWR))
    assert _mode(path) == 0o600
    path.chmod(0o640)
    os.close(open_private(path, os.O_RDWR))
    assert _mode(path) == 0o640
    with pytest.raises(FileExistsError):
        open_private(path, os.O_RDWR | os.O_EXCL)
