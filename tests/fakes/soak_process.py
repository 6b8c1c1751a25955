"""The gateway of a soak test as a process: start, inspect, stop, kill, restart."""

import asyncio
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.hosting import TOKEN
from tests.fakes.program import CHECKOUT, Program

FURTHER_S = 70.0
"""The clock is advanced by this at each start, so that restarts do not look like a crash loop."""


@dataclass(frozen=True)
class Sample:
    """A measurement of the gateway. ``at`` in monotonic seconds, ``rss_mib`` without its child."""

    at: float
    rss_mib: float
    files: int
    threads: int
    children: int
    cpu_s: float


@dataclass
class SoakHome:
    """One home, and the gateway processes that run on it one after the other.

    Attributes:
        people: The ids of authorized senders, separated by commas.
        later_s: How far its clock is put forward.
        codes: Exit codes of earlier processes.
        was_interruptible: Whether in some run a new message interrupted the answer to the previous
            one.
    """

    home: Path
    model_url: str
    port: int
    people: str
    busy_mode: str = "queue"
    later_s: float = 0.0
    process: "subprocess.Popen[bytes] | None" = None
    codes: list[int] = field(default_factory=list)
    lives: int = 0
    was_interruptible: bool = False

    @property
    def _program(self) -> Program:
        locks = self.home.parent / "locks"
        return Program(self.home, {"HERMES_GATEWAY_LOCK_DIR": str(locks)})

    def write_settings(self) -> None:
        """Write settings with a model, one bot, and sessions that expire within ten minutes."""
        extra = {"port": self.port, "allow_from": self.people, "expected_silence_s": 1.5}
        config = {
            "model": {"default": "fake-model", "base_url": self.model_url},
            "platforms": {"telegram": {"enabled": True, "token": TOKEN, "extra": extra}},
            "session_reset": {"mode": "idle", "idle_minutes": 10},
            "display": {"busy_input_mode": self.busy_mode},
            "approvals": {"destructive_slash_confirm": False},
        }
        self.home.joinpath("config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")

    # Start and end

    def start(self, *, later_s: float = FURTHER_S) -> None:
        """Start a process whose clock is put forward by this much against the last one."""
        self.later_s += later_s
        self.lives += 1
        self.was_interruptible = self.was_interruptible or self.busy_mode == "interrupt"
        self.write_settings()
        with self.home.parent.joinpath(f"life-{self.lives}.txt").open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fakes.soak_program", self.home, str(self.later_s)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=self._program.environment(),
                cwd=CHECKOUT,
            )

    def kill(self, *, identity_too: bool = False) -> None:
        """Send SIGKILL; its identity process ends automatically, or is killed, too."""
        process = self._running
        children = self._children() if identity_too else []
        for pid in (*children, process.pid):
            os.kill(pid, signal.SIGKILL)

    def terminate(self) -> None:
        """Request the end, as Ctrl-C does."""
        self._running.terminate()

    def restart_inside(self) -> None:
        """Signal the identity process to restart, as an update of hermes-agent does."""
        for pid in self._children():
            os.kill(pid, signal.SIGUSR1)

    async def ask_to_stop(self, hermes: Path | None = None) -> None:
        """Stop it from another process: by Hermes Desktop's command, or hermes-agent's."""
        ours = [sys.executable, "-m", "hermes_desktop", "gateway", "stop", "--yes"]
        done = await asyncio.to_thread(
            subprocess.run,
            [str(hermes), "gateway", "stop"] if hermes else ours,
            env=self._program.environment(),
            cwd=CHECKOUT,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()

    async def ended(self) -> int:
        """Wait for the end of the process; return its exit code."""
        process = self._running
        while (code := process.poll()) is None:
            await asyncio.sleep(0.02)
        self.codes.append(code)
        self.process = None
        return code

    async def close(self) -> None:
        """Kill the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            await self.ended()

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        assert self.process is not None, "no gateway runs"
        return self.process

    # Measurements

    def sample(self) -> Sample | None:
        """Measure the process; None if it has ended."""
        if self.process is None:
            return None
        here = Path(f"/proc/{self.process.pid}")
        try:
            facts = (here / "stat").read_text().rpartition(")")[2].split()
            pages = int((here / "statm").read_text().split()[1])
            return Sample(
                time.monotonic(),
                pages * resource.getpagesize() / 2**20,
                len(list((here / "fd").iterdir())),
                len(list((here / "task").iterdir())),
                len(self._children()),
                (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK"),
            )
        except OSError:
            return None

    def _children(self) -> list[int]:
        found = []
        for task in Path(f"/proc/{self._running.pid}/task").glob("*/children"):
            with contextlib.suppress(FileNotFoundError):  # a thread may end at any time
                found += [int(pid) for pid in task.read_text().split()]
        return found

    def wake_ups(self) -> int:
        """Return how often its threads have gone to sleep so far."""
        tasks = Path(f"/proc/{self._running.pid}/task").iterdir()
        lines = [line for task in tasks for line in (task / "status").read_text().splitlines()]
        return sum(int(each.split()[1]) for each in lines if each.startswith("voluntary"))

    async def census(self) -> dict[str, Any]:
        """Return its tasks, threads and objects."""
        path = self.home.parent / "census.json"
        path.unlink(missing_ok=True)
        os.kill(self._running.pid, signal.SIGUSR1)
        async with asyncio.timeout(60):
            while not path.exists():
                await asyncio.sleep(0.02)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


class ForeignWriter:
    """Another program that writes into the same sessions."""

    def __init__(self, state_db: Path, python: Path | None = None) -> None:
        script = Path(__file__).with_name("soak_writer.py")
        self._process = subprocess.Popen(
            [str(python or sys.executable), str(script), str(state_db)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=Program(state_db.parent).environment({"PYTHONWARNINGS": "default"}),
            text=True,
        )
        self.failed: list[str] = []

    def write(self, session_id: str, role: str, content: str) -> bool:
        """Store a message; blocks. Return False if that failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        wanted = {"session": session_id, "role": role, "content": content}
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if not answer["stored"]:
            self.failed.append(answer["why"])
        return bool(answer["stored"])

    def close(self) -> None:
        """Wait for the end of the process."""
        self._process.communicate(timeout=60)
