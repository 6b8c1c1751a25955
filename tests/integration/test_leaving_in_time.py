"""Whatever hangs, both programs are gone in time, and leave no process behind."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.processes.exit_deadline import EXIT_SLACK_S, OVERDUE
from hermes_desktop.gateway.runtime_files.identity_files import (
    PID_FILE,
    STATE_FILE,
    read_json,
    read_record,
)
from hermes_desktop.state import SessionDB
from hermes_desktop.ui.start.desktop_program import DRAIN_S
from tests.fakes.hosting import write_config
from tests.fakes.identity import is_gone
from tests.fakes.model_server import ModelServer, hang
from tests.fakes.socket_platform import ChatProcess, chat_process
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.timeout(300)]
CHECKOUT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "hung_programs.py"
MARGIN_S = 8.0
"""For a busy machine, and for the stacks to be written."""


class Leaving:
    """A program that will not end by itself."""

    def __init__(self, process: "subprocess.Popen[bytes]", home: Path) -> None:
        self.process = process
        self.home = home
        self.children: list[int] = []

    def wait_until_it_hosts(self) -> None:
        def hosts() -> bool:
            state = read_json(self.home / STATE_FILE) or {}
            return state.get("gateway_state") in {"running", "degraded"}

        wait_until(lambda: hosts() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.communicate()
        record = read_record(self.home / PID_FILE)
        assert record is not None
        self.children = children_of(self.process.pid)
        assert record.pid in self.children

    def platform_state(self) -> str:
        """How the one platform does."""
        state = read_json(self.home / STATE_FILE) or {}
        return str(state.get("platforms", {}).get("telegram", {}).get("state"))

    def ended(self, bound_s: float) -> int:
        """Its exit code, after at most the bound and the slack; no child is left."""
        self.process.communicate(timeout=bound_s + EXIT_SLACK_S + MARGIN_S)
        for pid in self.children:
            wait_until(lambda pid=pid: is_gone(pid))
        assert not self.home.joinpath(PID_FILE).exists()
        return self.process.returncode

    @property
    def log(self) -> str:
        return self.home.joinpath("logs", "desktop.log").read_text(encoding="utf-8")


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, task.joinpath("children").read_text().split())
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that begins every reply and ends none."""
    with ModelServer(responder=lambda _: hang("Well,")) as server:
        yield server


@pytest.fixture
def chat() -> Iterator[ChatProcess]:
    with chat_process() as service:
        yield service


@contextlib.contextmanager
def started(home: Path, runtime: Path, kind: str, how: str, last: str) -> Iterator[Leaving]:
    kept = {name: os.environ[name] for name in ("PATH",)}
    environ = {
        **kept,
        "HOME": str(home.parent),
        "HERMES_GATEWAY_LOCK_DIR": str(home.parent / "locks"),
        "XDG_RUNTIME_DIR": str(runtime),
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHONPATH": str(CHECKOUT),
        "LC_ALL": "C.UTF-8",
    }
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), kind, str(home), how, last],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environ,
        cwd=home.parent,
    ) as process:
        try:
            yield Leaving(process, home)
        finally:
            process.kill()


@contextlib.contextmanager
def gateway(
    home: Path, runtime: Path, model: ModelServer, chat: ChatProcess, how: str, drain: str
) -> Iterator[Leaving]:
    write_config(home, model, chat.port)
    with started(home, runtime, "gateway", how, drain) as program:
        program.wait_until_it_hosts()
        wait_until(lambda: program.platform_state() == "connected")  # else there is none to leave
        yield program


@contextlib.contextmanager
def desktop(
    home: Path, runtime: Path, model: ModelServer, how: str, message: str
) -> Iterator[Leaving]:
    home.joinpath("config.yaml").write_text(
        f"model: {{default: fake-model, base_url: '{model.base_url}'}}\n"
    )
    with started(home, runtime, "desktop", how, message) as program:
        program.wait_until_it_hosts()
        yield program


def last_reply(home: Path) -> str:
    db = SessionDB(home / "state.db")
    try:
        (session,) = db.search_sessions()
        return str(db.get_messages(session["id"])[-1]["content"])
    finally:
        db.close()


# ------------------------------------------------------------------------- without a window


def test_a_model_that_hangs_is_interrupted(
    home: Path, short_folder: Path, model: ModelServer, chat: ChatProcess
) -> None:
    with gateway(home, short_folder, model, chat, "nothing", "1") as program:
        chat.call("say", "Hello")
        model.wait_for_requests(1)
        program.process.send_signal(signal.SIGTERM)
        assert program.ended(1) == 0
    assert last_reply(home).startswith("Well,")


def test_asked_twice_it_waits_for_nobody(
    home: Path, short_folder: Path, model: ModelServer, chat: ChatProcess
) -> None:
    with gateway(home, short_folder, model, chat, "nothing", "3600") as program:
        chat.call("say", "Hello")
        model.wait_for_requests(1)
        program.process.send_signal(signal.SIGTERM)
        wait_until(lambda: (read_json(home / STATE_FILE) or {})["gateway_state"] == "draining")
        program.process.send_signal(signal.SIGINT)
        assert program.ended(0) == 0


def test_a_worker_that_hangs_is_left_behind(
    home: Path, short_folder: Path, model: ModelServer, chat: ChatProcess
) -> None:
    """Settings on a file system that does not answer."""
    with gateway(home, short_folder, model, chat, "workers", "1") as program:
        home.joinpath("hang").touch()
        chat.call("say", "Hello")
        wait_until(home.joinpath("hangs").exists)
        program.process.send_signal(signal.SIGTERM)
        assert program.ended(1) in {0, OVERDUE}


@pytest.mark.parametrize("how", ["loop", "thread"])
def test_what_nothing_can_end_is_told_and_left(
    home: Path, short_folder: Path, model: ModelServer, chat: ChatProcess, how: str
) -> None:
    with gateway(home, short_folder, model, chat, how, "1") as program:
        assert len(program.children) == 2
        program.process.send_signal(signal.SIGTERM)
        assert program.ended(1) == OVERDUE
    assert "Closing took more than 11 s" in program.log
    assert "in hang_here" in program.log


# ---------------------------------------------------------------------------- with a window


def test_the_window_interrupts_a_model_that_hangs(
    home: Path, short_folder: Path, model: ModelServer
) -> None:
    with desktop(home, short_folder, model, "nothing", "Hello") as program:
        model.wait_for_requests(1)
        program.process.send_signal(signal.SIGTERM)
        assert program.ended(DRAIN_S) == 0
    assert last_reply(home).startswith("Well,")


def test_asked_twice_the_window_waits_for_nobody(
    home: Path, short_folder: Path, model: ModelServer
) -> None:
    with desktop(home, short_folder, model, "nothing", "Hello") as program:
        model.wait_for_requests(1)
        program.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            program.process.wait(1.0)
        program.process.send_signal(signal.SIGTERM)
        assert program.ended(0) == 0


@pytest.mark.parametrize("how", ["loop", "thread"])
def test_the_window_tells_what_nothing_can_end(
    home: Path, short_folder: Path, model: ModelServer, how: str
) -> None:
    with desktop(home, short_folder, model, how, "") as program:
        # Whether a sandbox works may still be being tried.
        wait_until(lambda: len(children_of(program.process.pid)) == 2)
        program.process.send_signal(signal.SIGTERM)
        assert program.ended(1) == OVERDUE
    assert "Closing took more than 11 s" in program.log
    assert "in hang_here" in program.log


def test_the_window_leaves_workers_that_hang(
    home: Path, short_folder: Path, model: ModelServer
) -> None:
    home.joinpath("hang").touch()
    with desktop(home, short_folder, model, "workers", "Hello") as program:
        wait_until(home.joinpath("hangs").exists)
        for _ in range(2):
            program.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.process.wait(1.0)
        assert program.ended(0) in {0, OVERDUE}
