"""A lock that processes share: one holder, fair, freed by a kill, no files left behind."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_desktop.core.files.shared_lock import LockOwner, SharedLock, owner_of, remove_leftovers

_ROOT = Path(__file__).parents[3]
_HOLDER = """
import sys, time
from pathlib import Path
from hermes_desktop.core.files.shared_lock import SharedLock
lock = SharedLock(Path(sys.argv[1]), "a", "another program")
while not lock.try_now():
    time.sleep(0.01)
print("held", flush=True)
sys.stdin.readline()
lock.give_back()
"""


def lock(folder: Path, name: str = "a", program: str = "a test") -> SharedLock:
    return SharedLock(folder, name, program)


def holder(folder: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_one_at_a_time_and_nothing_is_left_behind(tmp_path: Path) -> None:
    folder = tmp_path / "turns"
    first, second, other = lock(folder), lock(folder), lock(folder, "b")
    assert first.try_now()
    assert first.try_now()
    assert not second.try_now()
    assert other.try_now()
    first.give_back()
    assert not first.try_now()
    assert second.try_now()
    second.give_back()
    other.give_back()
    assert list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o777 == 0o700


def test_others_may_not_look_whatever_the_umask(tmp_path: Path) -> None:
    folder = tmp_path / "desktop" / "turns"
    before = os.umask(0)
    try:
        mine = lock(folder)
        mine.try_now()
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (folder.parent, folder, folder / "a.turn")]
    assert modes == [0o700, 0o700, 0o600]
    mine.give_back()


def test_the_holder_is_named(tmp_path: Path) -> None:
    held = lock(tmp_path)
    assert owner_of(tmp_path, "a") is None
    held.try_now()
    assert owner_of(tmp_path, "a") == held.owner() == LockOwner(os.getpid(), "a test")
    (tmp_path / "a.turn").write_text("no JSON")
    assert str(owner_of(tmp_path, "a")) == "another program"
    held.give_back()
    assert held.owner() is None
    (tmp_path / "a.turn").write_text(json.dumps({"pid": 1, "program": "gone"}))
    assert owner_of(tmp_path, "a") is None, "a file that nobody has locked"


def test_who_comes_back_at_once_lets_in_who_waited(tmp_path: Path) -> None:
    first, waiting = lock(tmp_path), lock(tmp_path)
    first.try_now()
    assert not waiting.try_now()
    first.give_back()
    again = lock(tmp_path)
    assert not again.try_now()
    assert waiting.try_now()
    assert not again.try_now()
    waiting.give_back()
    assert again.try_now()
    again.give_back()


def test_who_gives_up_lets_others_in(tmp_path: Path) -> None:
    first, waiting, third = lock(tmp_path), lock(tmp_path), lock(tmp_path)
    first.try_now()
    waiting.try_now()
    waiting.give_back()
    first.give_back()
    assert third.try_now()
    third.give_back()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.two_processes
def test_a_killed_holder_frees_it_and_its_files_are_tidied_away(tmp_path: Path) -> None:
    process = holder(tmp_path)
    mine = lock(tmp_path)
    assert not mine.try_now()
    assert mine.owner() == LockOwner(process.pid, "another program")
    mine.give_back()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert [file.name for file in tmp_path.iterdir()] == ["a.turn"]
    again = lock(tmp_path)
    assert again.try_now()
    remove_leftovers(tmp_path)
    assert owner_of(tmp_path, "a") == LockOwner(os.getpid(), "a test"), "one that is held stays"
    again.give_back()
    (tmp_path / "b.turn").touch()
    (tmp_path / "c.next").touch()
    (tmp_path / "notes.txt").touch()
    remove_leftovers(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_that_was_opened_and_removed_is_no_second_lock(tmp_path: Path) -> None:
    """Many threads that open, lock and remove the same names: never two at once."""
    inside, most, rounds = 0, 0, 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most, rounds
        for _ in range(60):
            mine = lock(tmp_path)
            while not mine.try_now():
                pass
            with guard:
                inside += 1
                most = max(most, inside)
            with guard:
                inside -= 1
                rounds += 1
            mine.give_back()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most, rounds) == (1, 360)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed there")
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    folder = tmp_path / "turns"
    folder.mkdir()
    (folder / "a.next").symlink_to(target)
    with pytest.raises(OSError, match=r"a\.next"):
        lock(folder).try_now()
    assert target.read_text() == "precious"
