"""The real ``hermes gateway …`` commands next to Hermes Desktop, in a separate process namespace.

They look for gateways on the whole machine and stop those that they find.
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

SCRIPTS = Path(__file__).parents[1] / "interop" / "scripts"
_ROOT = Path(__file__).parents[2]
_APART = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]


class Holder:
    """``hold_home.py`` in the namespace; its output lines are collected in a queue."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.noise: list[str] = []
        self._said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self._said.put(json.loads(line))
            except ValueError:  # a log, a traceback
                self.noise.append(line)

    def tell(self, order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()

    def expect(self, *names: str, seconds: float = 60) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while True:
            try:
                said = self._said.get(timeout=max(0.01, until - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"nothing of {names} came: {''.join(self.noise)}") from None
            if said["name"] in names:
                return said

    def ask(self, order: str, *names: str, seconds: float = 60) -> dict[str, Any]:
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
            self.process.wait(60)
        finally:
            self.process.kill()
            self._reader.join(60)
            self.process.stdout.close()


class Hosted(Holder):
    """``host_home.py``: the services of the desktop program, with a chat platform on a socket.

    Attributes:
        facts: Its own ``cmdline`` and ``environ``.
    """

    facts: dict[str, Any]

    def status(self) -> dict[str, Any]:
        return dict(self.ask("status", "status", seconds=60))

    def reach(self, state: str, seconds: float = 60) -> dict[str, Any]:
        """Wait for a state."""
        until = time.monotonic() + seconds
        while (found := self.status())["state"] != state:
            assert time.monotonic() < until, found
            time.sleep(0.02)
        return found

    def begin(self) -> int:
        """Start the gateway; return the pid of the identity process."""
        said = self.ask("start", "done")
        assert said["state"] == "running", said
        return int(said["pid"])


H = TypeVar("H", bound=Holder)


class Island:
    """A process namespace with the real program, Hermes Desktop, and one home."""

    def __init__(self, init: int, hermes: Any) -> None:
        self._init = init
        self._hermes = hermes
        self.python: Path = hermes.python
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
        out, _ = process.communicate(timeout=60)
        return process.returncode, out

    def script(self, name: str, *words: str) -> Any:
        process = self.start(str(self._hermes.python), str(SCRIPTS / name), *words)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, out
        return json.loads(out.splitlines()[-1])

    def holder(self, drain: str = "0.2") -> Holder:
        return self._obeying(Holder, "hold_home.py", str(self.home), drain)

    def hosted(self, *options: str, under: Sequence[str] = ()) -> "Hosted":
        """Run the services of Hermes Desktop on the home, in a separate process.

        Args:
            options: See ``host_home.py``.
            under: A program that runs it, with its arguments.
        """
        made = self._obeying(Hosted, "host_home.py", str(self.home), *options, under=under)
        made.facts = made.expect("ready")
        return made

    def _obeying(self, kind: type[H], script: str, *words: str, under: Sequence[str] = ()) -> H:
        process = self.start(
            *under, sys.executable, str(SCRIPTS / script), *words, PYTHONPATH=str(_ROOT)
        )
        made = kind(process)
        self._stack.callback(made.close)
        return made

    @contextlib.contextmanager
    def without_platforms(self) -> Iterator[None]:
        """Remove settings for which the real program would access the network."""
        settings, aside = self.home / "config.yaml", self.home / "config.aside"
        settings.rename(aside)
        try:
            yield
        finally:
            aside.rename(settings)

    @contextlib.contextmanager
    def real_gateway(self, *words: str) -> Iterator["subprocess.Popen[str]"]:
        """Run ``hermes gateway run`` until the block ends; does not wait until it is ready."""
        name = str(self._hermes.python.parent / "hermes")
        process = self.start(name, "gateway", *(words or ("run",)))
        # Otherwise it would block when the pipe is full.
        reader = threading.Thread(target=process.stdout.read, daemon=True)  # type: ignore[union-attr]
        reader.start()
        try:
            yield process
        finally:
            for pid in self.pids_of("gateway"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait(60)
            reader.join(60)
            process.stdout.close()  # type: ignore[union-attr]
            process.stdin.close()  # type: ignore[union-attr]

    @contextlib.contextmanager
    def served(self) -> Iterator[str]:
        """Run ``hermes serve`` until the block ends; yield its address."""
        name = str(self.python.parent / "hermes")
        process = self.start(name, "serve", "--port", "0", "--skip-build")
        assert process.stdout is not None
        assert process.stdin is not None
        for line in process.stdout:
            if (found := re.search(r"READY port=(\d+)", line)) is not None:
                break
        else:
            raise AssertionError("it did not begin to serve")
        reader = threading.Thread(target=process.stdout.read, daemon=True)
        reader.start()
        try:
            yield f"http://127.0.0.1:{found[1]}"
        finally:
            for pid in self.pids_of("serve"):
                os.kill(pid, signal.SIGKILL)
            process.wait(60)
            reader.join(60)
            process.stdout.close()
            process.stdin.close()

    def pids_of(self, word: str) -> list[int]:
        """Return the outside pids of processes of the real program with this word."""
        found = []
        mine = Path(f"/proc/{self._init}/ns/pid").readlink()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = folder.joinpath("cmdline").read_bytes().decode(errors="replace").split("\0")
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
        """Return the pid of a real gateway that reports to be running.

        It keeps keys that Hermes Desktop wrote.
        """
        state = self.file("gateway_state.json") or {}
        running = state.get("gateway_state") == "running" and state.get("pid") != but
        return int(state["pid"]) if running and "gateway" in state["argv"] else None

    def inodes(self) -> list[int]:
        return [self.home.joinpath(n).stat().st_ino for n in ("gateway.lock", "gateway.pid")]

    def close(self) -> None:
        self._stack.close()


@contextlib.contextmanager
def island_with(hermes: Any) -> Iterator[Island]:
    """Create a namespace with that ``hermes``, or skip the test if that is impossible."""
    command = [*_APART, "sh", "-c", "echo ready; exec cat"]
    outer = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert outer.stdout is not None
    if outer.stdout.readline() != "ready\n":
        _, why = outer.communicate()
        pytest.skip(f"this machine gives no process namespace: {why}")
    init = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()[0])
    made = Island(init, hermes)
    try:
        yield made
    finally:
        made.close()
        outer.kill()
        outer.communicate()
