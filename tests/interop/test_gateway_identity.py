"""Our identity process beside the real ``hermes gateway …`` commands.

They look for gateways on the whole machine and stop what they find, so that every command of these
tests runs in a process namespace of its own.
"""

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.scheduled_work import ScheduledWork, scheduled_work
from tests.fakes.identity import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]

_SCRIPTS = Path(__file__).parent / "scripts"
_ROOT = Path(__file__).parents[2]
_APART = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]


class Holder:
    """``hold_home.py`` in the namespace; its lines arrive in a queue."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said.put(json.loads(line))

    def tell(self, order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()

    def expect(self, *names: str, seconds: float = 40) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while True:
            said = self._said.get(timeout=max(0.01, until - time.monotonic()))
            if said["name"] in names:
                return said

    def ask(self, order: str, *names: str, seconds: float = 40) -> dict[str, Any]:
        self.tell(order)
        return self.expect(*names, seconds=seconds)

    def hold(self) -> int:
        claimed = self.ask("claim", "Claimed", "HeldByOther", "NotHere")
        assert claimed["name"] == "Claimed", claimed
        return int(claimed["record"][0])

    def state(self) -> str:
        return str(self.ask("state", "state")["value"])

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        finally:
            self.process.kill()
            self._reader.join(10)
            self.process.stdout.close()


class Island:
    """A process namespace with the real program, us, and one home."""

    def __init__(self, init: int, hermes: Any) -> None:
        self._init = init
        self._hermes = hermes
        self.home: Path = hermes.home
        self._stack = contextlib.ExitStack()

    def environment(self, home: Path | None = None) -> dict[str, str]:
        own = self._hermes.environment()
        path = f"{self._hermes.python.parent}:{own.get('PATH', os.defpath)}"
        locks = self.home.parent / "locks"
        return {
            **own,
            "PATH": path,
            "HERMES_HOME": str(home or self.home),
            "HERMES_GATEWAY_LOCK_DIR": str(locks),
            "PYTHONPATH": "",
        }

    def start(self, *words: str, home: Path | None = None, **extra: str) -> "subprocess.Popen[str]":
        inside = ["nsenter", "--target", str(self._init), "--user", "--pid", "--mount"]
        return subprocess.Popen(
            [*inside, "--preserve-credentials", "--", *words],
            env={**self.environment(home), **extra},
            cwd=self.home.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def hermes(self, *words: str, home: Path | None = None) -> tuple[int, str]:
        process = self.start(str(self._hermes.python.parent / "hermes"), *words, home=home)
        out, _ = process.communicate(timeout=50)
        return process.returncode, out

    def script(self, name: str, *words: str) -> Any:
        process = self.start(str(self._hermes.python), str(_SCRIPTS / name), *words)
        out, _ = process.communicate(timeout=50)
        assert process.returncode == 0, out
        return json.loads(out.splitlines()[-1])

    def holder(self, drain: str = "0.2") -> Holder:
        process = self.start(
            sys.executable,
            str(_SCRIPTS / "hold_home.py"),
            str(self.home),
            drain,
            PYTHONPATH=str(_ROOT),
        )
        holder = Holder(process)
        self._stack.callback(holder.close)
        return holder

    @contextlib.contextmanager
    def real_gateway(self, *words: str) -> Iterator["subprocess.Popen[str]"]:
        """``hermes gateway run`` until the block ends; not waited for."""
        name = str(self._hermes.python.parent / "hermes")
        process = self.start(name, "gateway", *(words or ("run",)))
        # Else it would stop when the pipe is full.
        reader = threading.Thread(target=process.stdout.read, daemon=True)  # type: ignore[union-attr]
        reader.start()
        try:
            yield process
        finally:
            for pid in self.pids_of("gateway"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait(10)
            reader.join(10)
            process.stdout.close()  # type: ignore[union-attr]
            process.stdin.close()  # type: ignore[union-attr]

    def pids_of(self, word: str) -> list[int]:
        """Pids, as seen from outside, of what runs the real program with this word."""
        found = []
        mine = Path(f"/proc/{self._init}/ns/pid").readlink()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = folder.joinpath("cmdline").read_bytes().decode().split("\0")
                same = folder.joinpath("ns/pid").readlink() == mine
                if same and word in words and str(self._hermes.python.parent) in words[0]:
                    found.append(int(folder.name))
        return found

    def file(self, name: str) -> Any:
        try:
            return json.loads(self.home.joinpath(name).read_text())
        except (OSError, ValueError):
            return None

    def real_pid(self, *, but: int = 0) -> int | None:
        """The pid of a real gateway that says that it runs. (It keeps keys that we wrote.)"""
        state = self.file("gateway_state.json") or {}
        running = state.get("gateway_state") == "running" and state.get("pid") != but
        return int(state["pid"]) if running and "gateway" in state["argv"] else None

    def inodes(self) -> list[int]:
        return [self.home.joinpath(n).stat().st_ino for n in ("gateway.lock", "gateway.pid")]

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def island(hermes: Any) -> Iterator[Island]:
    command = [*_APART, "sh", "-c", "echo ready; exec cat"]
    outer = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert outer.stdout is not None
    if outer.stdout.readline() != "ready\n":
        _, why = outer.communicate()
        if os.environ.get("CI") == "true":
            pytest.fail(f"No process namespace: {why}")
        pytest.skip(f"this machine gives no process namespace: {why}")
    init = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()[0])
    made = Island(init, hermes)
    try:
        yield made
    finally:
        made.close()
        outer.kill()
        outer.communicate()


def test_every_command_names_our_gateway_and_touches_nothing(island: Island) -> None:
    pid = island.holder().hold()
    before = island.inodes()

    for _ in range(5):
        code, said = island.hermes("gateway", "status")
        assert code == 0
        assert f"Gateway is running (PID: {pid})" in said
    assert re.search(rf"PID\(s\):\s+{pid}\b", island.hermes("status")[1])
    assert f"PID {pid}" in island.hermes("gateway", "list")[1]
    assert "cron jobs will fire automatically" in island.hermes("cron", "status")[1]
    assert island.inodes() == before


def test_claims_survive_those_who_ask_all_the_time(island: Island) -> None:
    holder = island.holder()
    python, script = str(island._hermes.python), str(_SCRIPTS / "ask_for_gateway.py")
    asking = [island.start(python, script, "12") for _ in range(2)]
    for _ in range(4):
        pid = holder.hold()
        wait_until(
            lambda pid=pid: (
                (island.file("gateway.pid") or {}).get("pid") == pid
                and (island.file("gateway.lock") or {}).get("pid") == pid
            )
        )
        time.sleep(1.2)
        assert island.file("gateway.pid")["pid"] == island.file("gateway.lock")["pid"] == pid
        assert holder.ask("release", "released")["value"]
    for process in asking:
        assert int(process.communicate(timeout=50)[0].splitlines()[-1]) > 100


@pytest.mark.parametrize(("drain", "longest"), [("0.5", 6.0), ("never", 14.0)])
def test_stop_ends_our_gateway_and_not_our_program(
    island: Island, drain: str, longest: float
) -> None:
    holder = island.holder(drain)
    pid = holder.hold()
    began = time.monotonic()

    code, said = island.hermes("gateway", "stop")

    assert (code, "Stopped gateway for this profile" in said) == (0, True)
    assert holder.expect("StopRequested")["kind"] == "stop"
    holder.expect("released", "HardStop")
    assert time.monotonic() - began < longest
    state = island.file("gateway_state.json")
    assert (state["pid"], state["gateway_state"], state["platforms"]) == (pid, "stopped", {})
    assert (state["exit_reason"] is None) == (drain != "never")
    assert not island.home.joinpath("gateway.pid").exists()
    assert holder.state() == "free"
    assert holder.ask("claim", "NotHere")["why"] == "recent_stop"
    assert "not running" in island.hermes("gateway", "status")[1]


def test_run_refuses_while_ours_runs(island: Island) -> None:
    pid = island.holder().hold()
    before = island.inodes()

    code, said = island.hermes("gateway", "run")

    assert code == 1
    assert f"already running (PID {pid})" in said
    assert island.inodes() == before


@pytest.mark.parametrize("drain", ["0.5", "never"])
def test_replace_leads_to_attached_mode_and_take_over_back(island: Island, drain: str) -> None:
    holder = island.holder(drain)
    pid = holder.hold()

    with island.real_gateway("run", "--replace"):
        assert holder.expect("StopRequested")["kind"] == "takeover"
        holder.expect("released", "HardStop")
        real = wait_until(lambda: island.real_pid(but=pid))
        assert holder.expect("ForeignChanged")["gateway"]["record"][0] == real
        assert holder.state() == "attached"
        assert island.file("gateway_state.json")["platforms"] == {}
        assert not list(island.home.parent.glob("locks/*.lock"))
        assert holder.ask("claim", "HeldByOther")["gateway"]["record"][0] == real

        # The person wants it back.
        back = holder.ask("take over", "Claimed", "NotHere", "HeldByOther", seconds=90)

        assert back["name"] == "Claimed", back
        assert holder.state() == "hosting"
        assert island.file("gateway.pid")["pid"] == back["record"][0]


def test_restart_starts_the_real_one_and_ours_waits_for_a_person(island: Island) -> None:
    holder = island.holder()
    pid = holder.hold()

    with island.real_gateway("restart"):
        assert holder.expect("StopRequested")["kind"] == "stop"
        wait_until(lambda: island.real_pid(but=pid), seconds=40)
        wait_until(lambda: holder.state() == "attached")
        assert island.hermes("gateway", "stop")[0] == 0
        wait_until(lambda: holder.state() == "free")
        time.sleep(2)
        assert holder.state() == "free"


def test_a_restart_signal_comes_back_with_a_new_process(island: Island) -> None:
    holder = island.holder()
    pid = holder.hold()

    island.start("kill", "-USR1", str(pid)).communicate(timeout=10)

    assert holder.expect("StopRequested")["kind"] == "restart"
    renewed = int(holder.expect("Claimed", seconds=15)["record"][0])
    assert renewed != pid
    assert f"PID: {renewed}" in island.hermes("gateway", "status")[1]


@pytest.mark.parametrize("head_start", [0.0, 0.5, 0.8])
def test_started_together_one_of_both_gets_the_home(island: Island, head_start: float) -> None:
    holder = island.holder()
    with island.real_gateway():
        time.sleep(head_start)
        ours = holder.ask("claim", "Claimed", "HeldByOther")["name"] == "Claimed"
        if ours:
            wait_until(lambda: not island.pids_of("gateway"))
        else:
            wait_until(island.real_pid)
        time.sleep(1.2)
        assert holder.state() == ("hosting" if ours else "attached")


def test_other_homes_do_not_see_it_but_stop_all_does(island: Island) -> None:
    other = island.home.parent / "other"
    other.mkdir()
    holder = island.holder()
    pid = holder.hold()

    assert "not running" in island.hermes("gateway", "status", home=other)[1]
    island.hermes("gateway", "stop", home=other)
    assert holder.state() == "hosting"
    assert island.file("gateway.pid")["pid"] == pid

    island.hermes("gateway", "stop", "--all")
    assert holder.expect("StopRequested")["kind"] == "kill"
    holder.expect("released")


def test_a_token_is_refused_while_ours_uses_it(island: Island) -> None:
    holder = island.holder()
    holder.hold()

    held = island.script("judge_processes.py", json.dumps({"token": "1:abc"}))
    island.hermes("gateway", "stop")
    holder.expect("released")
    free = island.script("judge_processes.py", json.dumps({"token": "1:abc"}))

    assert (held["taken"], free["taken"]) == (False, True)


def test_our_own_command_lines_are_no_gateway(island: Island) -> None:
    lines = [
        "/usr/bin/python3 /usr/bin/hermes-desktop",
        "/opt/venv/bin/python -m hermes_desktop sessions list",
        "/opt/venv/bin/python /opt/venv/bin/hermes-desktop-gui --page settings",
        "/opt/Hermes Desktop/hermes-desktop --profile work",
    ]

    judged = island.script("judge_processes.py", json.dumps({"lines": lines}))

    assert judged["lines"] == dict.fromkeys(lines, False)


def test_what_hermes_scheduled_is_found(hermes: Any) -> None:
    hermes.command("cron", "create", "every 2h", "say hello", "--name", "hello")
    hermes.command("kanban", "create", "a card")
    hermes.command("kanban", "boards", "create", "garden")
    hermes.command("kanban", "--board", "garden", "create", "dig")

    assert scheduled_work(hermes.home, {}) == ScheduledWork(("hello",), ("default", "garden"))
