"""All that a program has started is found and ended, wherever it went."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hermes_desktop.core.processes import process_tree
from hermes_desktop.core.processes.child_process import run_bounded
from tests.support.waiting import wait_until

ENVIRON = {"PATH": "/usr/bin:/bin"}
PATIENCE_S = 60.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux only")


def gone(pid: int) -> bool:
    """Whether a process is over, within the patience of the test."""
    end = time.monotonic() + PATIENCE_S
    stat = Path(f"/proc/{pid}/stat")
    while time.monotonic() < end:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] in {"Z", "X"}:
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def pids(folder: Path) -> list[int]:
    """The numbers that programs of a test have written down."""
    end = time.monotonic() + PATIENCE_S
    while not list(folder.glob("pid-*")) and time.monotonic() < end:
        time.sleep(0.02)
    return [int(each.read_text()) for each in folder.glob("pid-*") if each.read_text().strip()]


LEAVING = {
    "a group of its own": "set -m; sleep 60 & echo $! > pid-a",
    "a session of its own": "setsid sh -c 'echo $$ > pid-a; exec sleep 60' & sleep 0.3",
    "twice forked": "(setsid sh -c 'echo $$ > pid-a; exec sleep 60' &) & sleep 0.3",
    "nohup and disowned": "nohup sh -c 'echo $$ > pid-a; exec sleep 60' >/dev/null 2>&1 & disown; "
    "sleep 0.3",
    "many": 'for i in 1 2 3 4 5; do setsid sh -c "echo \\$\\$ > pid-$i; exec sleep 60" & done; '
    "sleep 0.5",
}


@pytest.mark.parametrize("how", LEAVING)
def test_nothing_outlives_a_run(how: str, tmp_path: Path) -> None:
    ended = run_bounded(
        ["bash", "-c", LEAVING[how]],
        environ=ENVIRON,
        cwd=tmp_path,
        timeout_s=PATIENCE_S,
        most_bytes=1000,
    )
    assert ended.code == 0
    started = pids(tmp_path)
    assert len(started) == (5 if how == "many" else 1)
    assert all(gone(pid) for pid in started)


def test_without_its_environment_it_is_found_by_its_parents(tmp_path: Path) -> None:
    command = "env -i setsid sh -c 'echo $$ > pid-a; exec sleep 60' & sleep 60"
    run_bounded(
        ["bash", "-c", command], environ=ENVIRON, cwd=tmp_path, timeout_s=1.0, most_bytes=1000
    )
    started = pids(tmp_path)
    assert started
    assert all(gone(pid) for pid in started)


def test_what_forks_all_the_time_is_ended(tmp_path: Path) -> None:
    command = "f() { setsid sleep 60 & sleep 0.01; f; }; f"
    mark = process_tree.new_mark()
    with subprocess.Popen(
        ["bash", "-c", command],
        env=process_tree.marked(ENVIRON, mark),
        cwd=tmp_path,
        start_new_session=True,
    ) as running:
        time.sleep(0.3)
        assert process_tree.end_all(mark, running.pid) > 1
        assert process_tree.members(mark) == ()
        running.wait(PATIENCE_S)


def test_other_programs_are_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], env=ENVIRON) as other:
        try:
            run_bounded(
                ["bash", "-c", "sleep 60 & true"],
                environ=ENVIRON,
                cwd=tmp_path,
                timeout_s=PATIENCE_S,
                most_bytes=100,
            )
            assert other.poll() is None
        finally:
            other.kill()


def test_marks_of_programs_around_are_kept() -> None:
    outer = process_tree.marked(ENVIRON, "aa")
    both = process_tree.marked(outer, "bb")
    assert both[process_tree.MARK] == "aa:bb"
    with subprocess.Popen(["sleep", "60"], env=both) as running:
        try:
            assert running.pid in process_tree.members("aa")
            assert running.pid in process_tree.members("bb")
            assert process_tree.members("a") == ()
        finally:
            running.kill()


def test_a_program_is_found_in_the_moment_in_which_it_starts() -> None:
    """The kernel reports the environment a little later than the parent learns of the start."""
    environ = process_tree.marked(ENVIRON, "aa")
    missed = 0
    for _ in range(100):
        with subprocess.Popen(["sleep", "60"], env=environ) as running:
            try:
                missed += running.pid not in process_tree.members("aa")
            finally:
                running.kill()
    assert missed == 0


def test_an_empty_environment_is_no_reason_to_wait() -> None:
    with subprocess.Popen(["sleep", "60"], env={}) as running:
        try:
            wait_until(lambda: Path(f"/proc/{running.pid}/cmdline").read_bytes())
            assert running.pid not in process_tree.members("aa")
            assert running.pid in process_tree.members("aa", running.pid)
        finally:
            running.kill()
