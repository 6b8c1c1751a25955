"""Which processes count as running."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hermes_desktop.core.processes.liveness import is_running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signal 0 ends processes there")


@pytest.mark.parametrize("if_unknown", [False, True])
def test_a_running_and_an_ended_process(if_unknown: bool) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(os.getpid(), if_unknown=if_unknown)
    assert is_running(child.pid, if_unknown=if_unknown)
    child.communicate(b"\n")
    assert not is_running(child.pid, if_unknown=if_unknown)


@pytest.mark.parametrize("pid", [0, -1])
def test_a_pid_of_no_single_process_is_unknown(pid: int) -> None:
    assert is_running(pid, if_unknown=True)
    assert not is_running(pid, if_unknown=False)


def test_a_pid_beyond_all_numbers() -> None:
    assert is_running(2**70, if_unknown=True)
    assert not is_running(2**70, if_unknown=False)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_an_ended_process_whose_parent_does_not_know() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    deadline = time.monotonic() + 60
    while is_running(child.pid, if_unknown=True) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child.pid, if_unknown=True)
    assert not is_running(child.pid, if_unknown=False)
    assert is_running(child.pid, if_unknown=True, zombies=True)
    child.wait()
