"""Files beneath a folder: by the call of the kernel, and folder by folder."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.files import beneath
from hermes_desktop.core.files.beneath import OpenFolder


@pytest.fixture(params=["kernel", "walk"])
def folder(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OpenFolder]:
    if request.param == "walk":
        monkeypatch.setattr(beneath, "_openat2", lambda: None)
    (tmp_path / "work" / "a" / "b").mkdir(parents=True)
    (tmp_path / "work" / "a" / "b" / "file").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    with OpenFolder(tmp_path / "work") as opened:
        yield opened


def text_of(folder: OpenFolder, path: str) -> str:
    with os.fdopen(folder.open(path, os.O_RDONLY)) as stream:
        return stream.read()


def test_opening_and_creating(folder: OpenFolder) -> None:
    assert text_of(folder, "a/b/file") == "inside"
    assert text_of(folder, "./a//b/file") == "inside"
    os.close(folder.open("a/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640))
    assert (folder.path / "a" / "new").stat().st_mode & 0o777 == 0o640
    descriptor = folder.open(".", os.O_RDONLY)
    with os.scandir(descriptor) as found:
        assert [each.name for each in found] == ["a"]
    os.close(descriptor)


@pytest.mark.parametrize("path", ["..", "../secret", "a/../../secret", "/etc/hostname", "a\0"])
def test_paths_that_lead_out(folder: OpenFolder, path: str) -> None:
    with pytest.raises(OSError, match="not") as caught:
        folder.open(path, os.O_RDONLY)
    assert caught.value.errno == errno.EXDEV


def test_links_are_not_followed(folder: OpenFolder) -> None:
    (folder.path / "link").symlink_to("../secret")
    (folder.path / "a" / "up").symlink_to("../..")
    (folder.path / "inner").symlink_to("a")
    (folder.path / "self").symlink_to("/proc/self/root")
    for path in ("link", "a/up/secret", "inner/b/file", "self/etc/hostname"):
        with pytest.raises(OSError) as caught:  # noqa: PT011 - the number is what counts
            folder.open(path, os.O_RDONLY)
        assert caught.value.errno in {errno.ELOOP, errno.ENOTDIR}, path


def test_the_folder_of_a_file(folder: OpenFolder) -> None:
    with folder.parent("a/b/file") as (descriptor, name):
        assert os.stat(name, dir_fd=descriptor).st_size == len("inside")
    with folder.parent("top") as (descriptor, name):
        os.mkdir(name, dir_fd=descriptor)
    assert (folder.path / "top").is_dir()
    (folder.path / "a" / "up").symlink_to("../..")
    with pytest.raises(OSError), folder.parent("a/up/secret"):  # noqa: PT011 - any number will do
        pass


def test_it_stays_the_same_folder(folder: OpenFolder) -> None:
    moved = folder.path.with_name("moved")
    folder.path.rename(moved)
    folder.path.mkdir()
    assert text_of(folder, "a/b/file") == "inside"


def open_descriptors() -> int:
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.exists() else 0


def test_no_descriptor_is_left_open(folder: OpenFolder) -> None:
    before = open_descriptors()
    for _ in range(5):
        assert text_of(folder, "a/b/file") == "inside"
        with folder.parent("a/b/file"):
            pass
        with pytest.raises(FileNotFoundError):
            folder.open("a/b/none", os.O_RDONLY)
    after = open_descriptors()
    assert after == before
