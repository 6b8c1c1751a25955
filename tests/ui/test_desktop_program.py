"""The program as a process, drawing into memory: pictures, signals, one at a time, bad homes."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]
BAD_LINE = re.compile(r" (ERROR|CRITICAL) ")
CHECKOUT = Path(__file__).parents[2]


class Sandbox:
    """A home, a runtime folder, and the program started in them.

    Args:
        folder: Where home and temporary files are.
        runtime: For lock and socket; a short path, as sockets allow no other.
    """

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.home = folder / "h" / ".hermes"
        self.runtime = runtime
        self.temporary = folder / "tmp"
        for each in (self.home.parent, self.temporary):
            each.mkdir(mode=0o700)
        self.started: list[subprocess.Popen[str]] = []

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home.parent),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "TMPDIR": str(self.temporary),
            "QT_QPA_PLATFORM": "offscreen",
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONWARNINGS": "error",
            "LC_ALL": "C.UTF-8",
        }

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes_desktop", *arguments],
            env=self.environment | environment,
            cwd=self.home.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        return process.returncode, out + err

    def wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for path in self.runtime.glob("*.socket"):
                with socket.socket(socket.AF_UNIX) as probe:
                    if probe.connect_ex(str(path)) == 0:
                        return
            time.sleep(0.05)
        raise AssertionError("the program does not listen")

    def gateway_when(self, *, running: bool) -> dict[str, Any]:
        """What ``gateway status`` says once there is one that runs, or none."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            code, output = self.run("gateway", "status", "--json")
            (found,) = json.loads(output)
            assert code == (0 if found["running"] else 1)
            if found["running"] == running and found["state"] != "starting":
                return dict(found)
        raise AssertionError(found)

    def wait_until_it_takes_signals(self, process: "subprocess.Popen[str]") -> None:
        """Before that a signal ends Python, not the program."""
        status = Path(f"/proc/{process.pid}/status")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            caught = re.search(r"^SigCgt:\s*(\w+)$", status.read_text(), re.MULTILINE)
            if caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
                return
            time.sleep(0.05)
        raise AssertionError("the program does not take signals")


@pytest.fixture
def sandbox(tmp_path: Path, short_folder: Path):
    sandbox = Sandbox(tmp_path, short_folder)
    yield sandbox
    for process in sandbox.started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_self_test(sandbox: Sandbox) -> None:
    code, output = sandbox.run("--self-test")
    assert code == 0, output
    assert "self-test passed: Hermes Desktop" in output
    assert not sandbox.home.exists()


def test_the_demonstration_paints_itself_and_leaves_nothing(sandbox: Sandbox) -> None:
    picture = sandbox.home.parent / "demo.png"
    code, output = sandbox.run("--demo", "--screenshot", str(picture), OPENAI_API_KEY="sk-unused")
    assert code == 0, output
    header = picture.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", header[16:24]) == (1120, 720)
    assert not sandbox.home.exists()
    assert list(sandbox.runtime.iterdir()) == []
    assert list(sandbox.temporary.iterdir()) == []


def test_a_picture_that_cannot_be_saved_is_said(sandbox: Sandbox) -> None:
    code, output = sandbox.run("--demo", "--screenshot", "no/such/folder/demo.png")
    assert code == 1
    assert "The picture cannot be saved." in output
    assert list(sandbox.temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(sandbox: Sandbox, number: signal.Signals) -> None:
    process = sandbox.start()
    sandbox.wait_until_it_listens()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out + err) == (0, "")
    assert (sandbox.home / "state.db").is_file()
    assert (sandbox.home / "desktop" / "window.ini").is_file()
    assert not list(sandbox.runtime.glob("*.socket"))
    log = sandbox.home / "logs" / "desktop.log"
    assert not log.exists() or not BAD_LINE.search(log.read_text(encoding="utf-8"))


def test_a_second_start_only_shows_the_first(sandbox: Sandbox) -> None:
    first = sandbox.start("--hidden")
    sandbox.wait_until_it_listens()
    assert sandbox.run() == (0, "")
    assert first.poll() is None
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=60)
    assert first.returncode == 0


def test_a_home_that_cannot_be_opened_is_explained_and_not_touched(sandbox: Sandbox) -> None:
    sandbox.home.mkdir()
    store = sandbox.home / "state.db"
    store.write_bytes(b"this is no database, and somebody may still want it" * 50)
    before = store.read_bytes()
    process = sandbox.start()
    sandbox.wait_until_it_takes_signals(process)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.0)  # the window with the explanation stands
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert store.read_bytes() == before


def test_the_command_line_sees_its_gateway_and_stops_that_alone(sandbox: Sandbox) -> None:
    process = sandbox.start()
    sandbox.wait_until_it_listens()
    found = sandbox.gateway_when(running=True)
    assert (found["kind"], found["windowed"]) == ("hermes-desktop", True)
    assert found["program_pid"] == process.pid

    code, output = sandbox.run("gateway", "stop", "--yes")

    assert code == 0, output
    assert "its window stays open" in output
    assert sandbox.gateway_when(running=False)["exit_reason"] is None
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_without_a_display_it_says_so(sandbox: Sandbox) -> None:
    code, output = sandbox.run(QT_QPA_PLATFORM="")
    assert code == 3
    assert "There is no display" in output
    assert not sandbox.home.exists()
