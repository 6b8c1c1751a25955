"""A settings file of several programs: nobody's writing is cut off, what is read-only stays."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.core.errors import BusyError, ConfigError
from hermes_desktop.settings.config_patch import Edit
from hermes_desktop.settings.config_store import ConfigStore
from hermes_desktop.settings.env_file import set_env_line, set_env_lines
from hermes_desktop.settings.last_valid_config import EMPTY_S, SETTLE_S
from hermes_desktop.settings.safe_replacement import ConcurrentWriteError, SharedFile
from tests.fakes.another_user import folder_for_others, give_away, not_root
from tests.fakes.clock import MovableClock

WHOLE = "a: 1\nb: 2\nlast: 3\n"


class Editor:
    """Somebody who writes in its place: emptied, then piece by piece while others wait."""

    def __init__(self, file: Path, pieces: list[str]) -> None:
        self.file, self.clock, self.pieces = file, MovableClock(), pieces
        self.waited: list[float] = []
        self.write("")

    def write(self, text: str) -> None:
        self.file.write_text(text)
        now = int(self.clock.time() * 1e9)
        os.utime(self.file, ns=(now, now))

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.clock.advance(seconds + 0.001)
        if self.pieces:
            self.write(self.pieces.pop(0))


@pytest.mark.parametrize("pieces", [[WHOLE], ["a: 1\n", "a: 1\nb: 2\n", WHOLE]])
def test_what_is_being_written_is_waited_for_and_changed_then(
    tmp_path: Path, pieces: list[str]
) -> None:
    editor = Editor(tmp_path / "config.yaml", pieces)
    store = ConfigStore(editor.file, tmp_path / "desktop", editor.clock, wait=editor.wait)
    store.save([Edit(("a",), 9)])
    assert editor.file.read_text() == WHOLE.replace("1", "9")
    assert editor.waited[0] == pytest.approx(EMPTY_S)
    assert editor.waited[-1] == pytest.approx(SETTLE_S)


def test_a_file_that_is_meant_to_be_empty_is_waited_for_once(tmp_path: Path) -> None:
    editor = Editor(tmp_path / "config.yaml", [])
    store = ConfigStore(editor.file, tmp_path / "desktop", editor.clock, wait=editor.wait)
    store.save([Edit(("a",), 9)])
    store.save([Edit(("a",), remove=True)])
    store.save([Edit(("a",), 8)])
    assert editor.file.read_text() == "a: 8\n"
    assert len(editor.waited) == 1


def test_what_was_written_after_reading_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("one")
    file = SharedFile(path, MovableClock())
    before = file.read()
    path.write_text("theirs")
    with pytest.raises(ConcurrentWriteError):
        file.replace(b"ours", before)
    path.unlink()
    with pytest.raises(ConcurrentWriteError):
        file.replace(b"ours", before)
    file.replace(b"ours", None)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["ours"]


class Restless(SharedFile):
    """Somebody writes after every reading."""

    def read(self) -> bytes | None:
        found = super().read()
        self.path.write_bytes((found or b"") + b"#")
        return found


def test_who_never_gets_at_it_says_so(tmp_path: Path) -> None:
    store = ConfigStore(tmp_path / "config.yaml", tmp_path / "desktop", MovableClock())
    store._careful = Restless(store.file, MovableClock())
    with pytest.raises(BusyError, match="changed 5 times"):
        store.save([Edit(("a",), 9)])
    assert store.file.read_text() == "#####"
    assert store.versions() == []


def save_config(home: Path) -> None:
    ConfigStore(home / "config.yaml", home / "desktop", MovableClock()).save([Edit(("a",), 9)])


def save_env(home: Path) -> None:
    set_env_line(home / ".env", "A", "9")


@pytest.mark.parametrize(("save", "name"), [(save_config, "config.yaml"), (save_env, ".env")])
@pytest.mark.parametrize("read_only", ["file", "folder"])
def test_what_is_read_only_stays_for_who_is_not_root(
    save: Callable[[Path], None], name: str, read_only: str
) -> None:
    with folder_for_others() as home:
        (home / name).write_text("A=1\n" if name == ".env" else "a: 1\n")
        (home / "desktop").mkdir(mode=0o700)
        for each in (home / name, home / "desktop"):
            give_away(each)
        (home / name).chmod(0o444 if read_only == "file" else 0o644)
        home.chmod(0o555 if read_only == "folder" else 0o755)
        before = (home / name).read_bytes()
        with not_root(), pytest.raises(ConfigError) as caught:
            save(home)
        home.chmod(0o755)
        assert (home / name).read_bytes() == before
        assert f"{name} cannot be written." in caught.value.title
        assert ("read-only" in caught.value.detail) is (read_only == "file")
        assert sorted(each.name for each in home.iterdir()) == sorted([name, "desktop"])
        (home / name).chmod(0o644)
        with not_root():
            save(home)
        assert (home / name).read_bytes() == before.replace(b"1", b"9")


def test_several_variables_change_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("HOME_CHANNEL=1\nOTHER=x\nHOME_CHANNEL_NAME=old\n")
    set_env_lines(path, {"HOME_CHANNEL": "2", "HOME_CHANNEL_NAME": None, "NEW": "3"})
    assert path.read_text() == "HOME_CHANNEL=2\nOTHER=x\nNEW=3\n"
    with pytest.raises(ValueError, match="not a plain word"):
        set_env_lines(path, {"HOME_CHANNEL": "4", "NEW": "two words"})
    assert path.read_text() == "HOME_CHANNEL=2\nOTHER=x\nNEW=3\n"
