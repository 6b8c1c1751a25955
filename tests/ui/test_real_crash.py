"""The real program crashes, and offers a report when it is started again."""

import signal
from pathlib import Path
from subprocess import Popen

import pytest

from hermes_desktop.services.diagnosis.crash_trace import FATAL_NAME, REPORT_NAME, TRACE_NAME
from hermes_desktop.state import SessionDB
from tests.support.waiting import wait_until
from tests.ui.test_desktop_program import CHECKOUT, Sandbox, sandbox

__all__ = ["sandbox"]
pytestmark = [pytest.mark.slow, pytest.mark.two_processes]

TITLE, MESSAGE, SECRET = "Surprise for Paula", "where the presents are", "planted-secret-1"
_CRASH = """\
import os, threading
def crash_when_told():
    pause = threading.Event()
    while not os.path.exists(os.environ["CRASH_WHEN"]):
        pause.wait(0.05)
    import ctypes
    ctypes.string_at(0)
threading.Thread(target=crash_when_told, daemon=True).start()
"""


def end(process: Popen[str], number: signal.Signals) -> int:
    process.send_signal(number)
    process.communicate(timeout=60)
    return process.returncode


def prepare(sandbox: Sandbox) -> Path:
    sandbox.home.mkdir(mode=0o700)
    database = SessionDB(sandbox.home / "state.db")
    database.create_session("s1", "cli")
    database.append_message("s1", "user", MESSAGE)
    database.set_session_title("s1", TITLE)
    database.close()
    return sandbox.home / "desktop"


def test_a_crash_is_reported_at_the_next_start(sandbox: Sandbox) -> None:
    folder = prepare(sandbox)
    crashing, told = sandbox.temporary / "crashing", sandbox.temporary / "now"
    crashing.mkdir()
    (crashing / "sitecustomize.py").write_text(_CRASH)
    first = sandbox.start(
        PYTHONPATH=f"{crashing}:{CHECKOUT}", CRASH_WHEN=str(told), WORK_API_KEY=SECRET
    )
    sandbox.wait_until_it_listens()
    told.touch()
    first.communicate(timeout=60)
    assert first.returncode == -signal.SIGSEGV
    assert (folder / TRACE_NAME).is_file()

    second = sandbox.start(WORK_API_KEY=SECRET)
    wait_until((folder / REPORT_NAME).exists)
    assert end(second, signal.SIGTERM) == 0

    report = (folder / REPORT_NAME).read_text()
    assert "Fatal Python error: Segmentation fault" in report
    assert "in crash_when_told" in report
    assert not [words for words in (TITLE, MESSAGE, SECRET) if words in report]
    assert not (folder / TRACE_NAME).exists()


def test_a_killed_program_has_not_crashed(sandbox: Sandbox) -> None:
    folder = prepare(sandbox)
    first = sandbox.start()
    sandbox.wait_until_it_listens()
    assert end(first, signal.SIGKILL) == -signal.SIGKILL
    assert (folder / TRACE_NAME).is_file()

    second = sandbox.start()
    wait_until(lambda: str(second.pid) in (folder / TRACE_NAME).read_text())
    sandbox.wait_until_it_takes_signals(second)
    assert end(second, signal.SIGTERM) == 0

    assert not (folder / FATAL_NAME).exists()
    assert not (folder / REPORT_NAME).exists()
