"""Names of who holds a lock: who is gone for certain, and who may live elsewhere."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hermes_desktop
from hermes_desktop.core.files.lock_holder import is_gone, is_ours, new_holder_id, pid_of, runs_here

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="only Linux tells all this")

PROGRAM = """
import sys
from hermes_desktop.core.files.lock_holder import new_holder_id
print(new_holder_id(), flush=True)
sys.stdin.read()
"""


def start() -> "tuple[subprocess.Popen[str], str]":
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(hermes_desktop.__file__).parents[1])},
    )
    assert program.stdout is not None
    return program, program.stdout.readline().strip()


def test_it_has_the_form_that_others_write_and_is_never_twice_the_same() -> None:
    form = r"pid=\d+:tid=\d+:agent=[0-9a-f]{8}:nonce=[0-9a-f]{8}"
    names = {new_holder_id() for _ in range(20)}
    assert len(names) > 1
    assert all(re.fullmatch(form, each) for each in names)
    assert {pid_of(each) for each in names} == {os.getpid()}


def test_who_lives_is_not_gone_and_who_was_killed_is() -> None:
    assert not is_gone(new_holder_id())
    assert is_ours(new_holder_id())
    program, holder = start()
    assert is_ours(holder)
    assert runs_here(holder)
    assert pid_of(holder) == program.pid
    assert not is_gone(holder)
    program.send_signal(signal.SIGSTOP)
    assert not is_gone(holder)
    program.kill()
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(holder)  # nobody has waited for it yet
    program.communicate()
    assert is_gone(holder)
    assert is_ours(holder)
    assert not runs_here(holder)


def test_a_number_that_another_process_has_now_says_nothing() -> None:
    program, holder = start()
    program.communicate("")
    ours = holder.replace(f"pid={program.pid}:", f"pid={os.getpid()}:")
    assert is_gone(ours)


@pytest.mark.parametrize(
    "holder",
    [
        "pid=999999999:tid=1:agent=a:nonce=b",
        "pid=999999999:tid=1:agent=0123abcd:nonce=01234567",
        "pid=99999999999999999999:tid=1:agent=0123abcd:nonce=01234567",
        "somebody",
        "",
    ],
)
def test_of_others_nothing_is_known(holder: str) -> None:
    assert not is_gone(holder)
    assert not is_ours(holder)
    assert not runs_here(holder)


def test_numbers_of_processes() -> None:
    assert pid_of("pid=12:tid=1:agent=a:nonce=b") == 12
    assert pid_of("pid=12") == 12
    assert pid_of("pid=123456789012") is None
    assert pid_of("12") is None
