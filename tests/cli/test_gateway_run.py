"""``gateway run``: the gateway as a process without a window, seen from outside."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.gateway.runtime_files.identity_files import (
    LOCK_FILE,
    PID_FILE,
    STATE_FILE,
    read_json,
    read_record,
)
from tests.fakes.identity import gateway_lookalike, is_gone, write_record
from tests.fakes.program import PROGRAM, Program, files_of
from tests.fakes.terminal import at_terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]
TOKEN = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


class Running:
    """A gateway in the foreground, and what it said so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", home: Path) -> None:
        self.process = process
        self.home = home
        self.said = ""

    def wait_for(self, words: str) -> None:
        while words not in self.said:
            line = self._read_line()
            assert line, f"it ended with {self.process.wait(60)} after saying: {self.said}"

    @property
    def identity_pid(self) -> int:
        record = read_record(self.home / PID_FILE)
        assert record is not None
        return record.pid

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        # Read to the end where it was read so far: what is buffered here, communicate() skips.
        reader = threading.Thread(target=self._read_rest, daemon=True)
        reader.start()
        code = self.process.wait(timeout=60)
        reader.join(60)
        return code

    def _read_line(self) -> str:
        assert self.process.stderr is not None
        line = self.process.stderr.readline().decode()
        self.said += line
        return line

    def _read_rest(self) -> None:
        while self._read_line():
            pass


@contextlib.contextmanager
def running(program: Program, *words: str, ignored: bool = False) -> Iterator[Running]:
    """Start it and wait until it serves."""
    with subprocess.Popen(
        [*(["nohup"] if ignored else []), *PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=program.environment(),
        cwd=program.home.parent,
    ) as process:
        try:
            started = Running(process, program.home)
            started.wait_for("Press Ctrl-C to stop.")
            yield started
        finally:
            if process.poll() is None:
                process.kill()


@pytest.fixture
def gateway(program: Program) -> Iterator[Running]:
    with running(program, "gateway", "run") as started:
        yield started


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(gateway: Running, number: signal.Signals) -> None:
    identity = gateway.identity_pid

    assert gateway.end(number) == 0

    assert gateway.said.endswith("Stopping …\n")
    assert "No platform is set up yet" in gateway.said
    assert is_gone(identity)
    assert not gateway.home.joinpath(PID_FILE).exists()
    state = read_json(gateway.home / STATE_FILE)
    assert (state["gateway_state"], state["exit_reason"]) == ("stopped", None)


def test_others_see_it_and_it_loads_no_window(gateway: Running, program: Program) -> None:
    done = program.run("gateway", "status", "--json")
    (found,) = json.loads(done.out)

    assert done.code == 0
    assert (found["kind"], found["windowed"]) == ("hermes-desktop", False)
    assert (found["pid"], found["program_pid"]) == (gateway.identity_pid, gateway.process.pid)
    maps = Path(f"/proc/{gateway.process.pid}/maps").read_text()
    assert not re.search("PySide6|libQt6", maps)
    assert gateway.end() == 0


def test_a_second_one_is_refused_and_told_by_whom(gateway: Running, program: Program) -> None:
    before = gateway.home.joinpath(PID_FILE).read_bytes()

    second = program.run("gateway", "run")

    assert second.code == 1
    assert "A gateway is already running for this home." in second.err
    said = rf"It is hermes-desktop gateway run, process {gateway.identity_pid}, running for \d+ s"
    assert re.search(said, second.err)
    assert "To stop it, use `hermes-desktop gateway stop`." in second.err
    assert gateway.home.joinpath(PID_FILE).read_bytes() == before
    assert gateway.end() == 0


def test_beside_a_gateway_of_hermes_nothing_is_even_opened(program: Program, home: Path) -> None:
    with gateway_lookalike() as record:
        write_record(home / PID_FILE, record)
        before = files_of(home)

        done = program.run("gateway", "run", "--insist")

    assert done.code == 1
    assert f"It is hermes gateway, process {record.pid}, running for" in done.err
    assert files_of(home) == before


def test_stop_of_the_command_line_ends_it(gateway: Running, program: Program) -> None:
    stopped = program.run("gateway", "stop", "--yes")

    assert (stopped.code, stopped.out) == (0, "hermes-desktop gateway run has stopped.\n")
    assert gateway.ended() == 0
    assert gateway.said.count("The gateway was stopped by the command line.") == 1
    assert read_json(gateway.home / STATE_FILE)["exit_reason"] is None


def test_a_home_that_goes_away_ends_it_as_a_failure(gateway: Running) -> None:
    gateway.home.rename(gateway.home.with_name("elsewhere"))

    assert gateway.ended() == 1
    assert "The home no longer exists." in gateway.said
    assert not gateway.home.exists()


def test_a_home_that_is_not_there_is_not_made(program: Program, home: Path) -> None:
    home.rmdir()

    done = program.run("gateway", "run")

    assert done.code == 3
    assert "This home does not exist yet." in done.err
    assert not home.exists()


def test_what_would_not_run_is_named_before_somebody_insists(program: Program, home: Path) -> None:
    home.joinpath("config.yaml").write_text(
        f"platforms: {{mattermost: {{enabled: true, token: '{TOKEN}'}}}}\n"
    )

    refused = program.run("gateway", "run")
    with running(program, "gateway", "run", "--insist") as started:
        code = started.end()

    assert refused.code == 1
    assert "- Messages from Mattermost" in refused.err
    assert "Add --insist to start it anyway." in refused.err
    assert TOKEN not in refused.err
    assert not home.joinpath(PID_FILE).exists()
    assert code == 0
    assert "mattermost: unavailable" in started.said


def test_settings_that_do_not_count_are_named(program: Program, home: Path) -> None:
    home.joinpath("config.yaml").write_text("a: [1, 2\nb: {")

    with running(program, "gateway", "run") as started:
        assert started.end() == 0

    assert started.said.count("Some gateway settings are invalid and are ignored.") == 1
    assert "config.yaml, line 2" in started.said


@pytest.mark.parametrize("name", [PID_FILE, LOCK_FILE])
def test_what_is_in_the_way_is_named(program: Program, home: Path, name: str) -> None:
    home.joinpath(name).mkdir()

    refused = program.run("gateway", "run")

    assert refused.code == 1
    assert f"{home / name}: Is a directory" in refused.err
    state = read_json(home / STATE_FILE)
    assert state is None or state["gateway_state"] == "stopped"


def test_of_two_that_start_together_one_serves(program: Program, home: Path) -> None:
    started = [program.start("gateway", "run") for _ in range(2)]
    try:
        wait_until(lambda: any(each.poll() is not None for each in started))
        (loser,) = [each for each in started if each.poll() is not None]
        (winner,) = [each for each in started if each is not loser]
        _, err = loser.communicate(timeout=60)
        assert loser.returncode == 1
        refusals = (b"A gateway is already running", b"The gateway was not started")
        assert any(each in err for each in refusals), err
        wait_until(lambda: read_json(home / STATE_FILE)["gateway_state"] == "running")
        winner.send_signal(signal.SIGTERM)
        winner.communicate(timeout=60)
        assert winner.returncode == 0
    finally:
        for each in started:
            each.kill()
            each.communicate()


def test_a_signal_while_it_starts_is_heard(program: Program) -> None:
    process = program.start("gateway", "run")
    assert process.stderr is not None
    assert process.stderr.readline() == b"Reading the settings.\n"

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)

    assert process.returncode == 0
    assert not program.home.joinpath(PID_FILE).exists()


def test_a_restart_from_outside_happens_inside(gateway: Running) -> None:
    before = gateway.identity_pid

    os.kill(before, signal.SIGUSR1)

    def comes_back() -> bool:
        record = read_record(gateway.home / PID_FILE)
        return record is not None and record.pid != before

    wait_until(comes_back)
    wait_until(lambda: read_json(gateway.home / STATE_FILE)["gateway_state"] == "running")
    assert gateway.process.poll() is None
    assert gateway.end() == 0
    assert "The gateway was asked to restart." in gateway.said


def test_at_a_terminal_ctrl_c_ends_it(program: Program) -> None:
    done = at_terminal(program, "gateway", "run", interrupt_at="Press Ctrl-C to stop.", columns=300)

    assert done.code == 0
    assert done.out.rstrip().endswith("Stopping …")


def test_a_history_that_cannot_be_opened_is_explained(program: Program, home: Path) -> None:
    store = home / "state.db"
    store.write_bytes(b"this is no database, and somebody may still want it" * 50)
    before = store.read_bytes()

    done = program.run("gateway", "run")

    assert done.code == 1
    assert "Traceback" not in done.err
    assert str(store) in done.err
    assert store.read_bytes() == before
    assert not home.joinpath(PID_FILE).exists()


def test_nohup_leaves_it_running(program: Program) -> None:
    with running(program, "gateway", "run", ignored=True) as started:
        started.process.send_signal(signal.SIGHUP)
        wait_until(lambda: program.run("gateway", "status").code == 0)
        assert started.process.poll() is None
        assert started.end() == 0


def test_it_runs_for_a_profile(program: Program, home: Path) -> None:
    work = home / "profiles" / "work"
    work.mkdir(parents=True)
    with running(program, "-p", "work", "gateway", "run"):
        assert program.run("gateway", "status", "-p", "work").code == 0
        assert program.run("gateway", "status").code == 1


def test_killed_it_leaves_no_process_behind(gateway: Running, program: Program) -> None:
    identity = gateway.identity_pid

    gateway.process.kill()
    gateway.process.wait(60)

    wait_until(lambda: is_gone(identity))
    assert program.run("gateway", "status").code == 1
    assert read_json(gateway.home / STATE_FILE)["exit_reason"] == "app ended"


@pytest.mark.parametrize("seconds", ["-1", "nan", "x", "3601"])
def test_a_drain_that_makes_no_sense(program: Program, seconds: str) -> None:
    assert program.run("gateway", "run", "--drain", seconds).code == 2
