"""Execution of the user's programs with bounded time and output, and no processes left behind."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from hermes_desktop.core.processes import process_tree

_LOOK_S = 0.1
_CHUNK = 65536
_MOST_FLOOD = 64
_AFTERMATH_S = 0.5
"""How long output is still read after the program ended: from processes it left running."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a program.

    Attributes:
        code: Its exit code; negative for a signal.
        out: Its output, up to the requested limit.
        err: The same for standard error.
        timed_out: It was killed because its time was over, or because it was cancelled.
        cut: It wrote more than is kept; it was killed if it did not stop.
    """

    code: int
    out: bytes = b""
    err: bytes = b""
    timed_out: bool = False
    cut: bool = False


@dataclass(slots=True)
class _Kept:
    most: int
    end: int
    first: bytearray = field(default_factory=bytearray)
    last: bytearray = field(default_factory=bytearray)
    came: int = 0

    def take(self, chunk: bytes) -> None:
        self.came += len(chunk)
        room = max(0, self.most - self.end - len(self.first))
        self.first += chunk[:room]
        if self.end:
            self.last += chunk[room:]
            del self.last[: max(0, len(self.last) - self.end)]

    @property
    def data(self) -> bytes:
        left_out = self.came - len(self.first) - len(self.last)
        mark = f"\n… {left_out} bytes are left out …\n" if left_out and self.end else ""
        return bytes(self.first) + mark.encode() + bytes(self.last)


def run_bounded(  # noqa: PLR0913 - the bounds
    command: Sequence[str] | str,
    *,
    environ: Mapping[str, str],
    cwd: Path,
    timeout_s: float,
    most_bytes: int,
    end_bytes: int = 0,
    given: bytes = b"",
    given_up: Callable[[], bool] = lambda: False,
    descriptors: Sequence[int] = (),
) -> Ended:
    """Run a program and wait for it to end. Blocks; may be called from any thread.

    It gets a separate session. Everything it started is killed when it has ended or timed out,
    including processes that left that session
    (:mod:`~hermes_desktop.core.processes.process_tree`).

    Args:
        command: Program and arguments; a string is passed to the system's shell.
        environ: Its complete environment.
        cwd: Its working directory.
        timeout_s: How long it may take.
        most_bytes: How much of its output, and of its errors, is kept.
        end_bytes: How much of that is the end, with a mark where something is left out before it.
        given: Its standard input.
        given_up: Polled while waiting; True ends the program.
        descriptors: Open files that it inherits besides its standard streams.

    Raises:
        OSError: It cannot be started.
    """
    mark = process_tree.new_mark()
    process = subprocess.Popen(  # noqa: S603 - only the user chooses the command
        command,
        shell=isinstance(command, str),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=process_tree.marked(environ, mark),
        cwd=cwd,
        start_new_session=True,
        pass_fds=descriptors,
    )
    since = process_tree.began(process.pid)
    try:
        if sys.platform == "win32":
            return _communicate(process, given, timeout_s, most_bytes)
        return _Watch(process, most_bytes, end_bytes).until(timeout_s, given, given_up)
    finally:
        _end(process, mark, since)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()


def _end(process: "subprocess.Popen[bytes]", mark: str, since: int | None) -> None:
    """Kill the process and everything it started."""
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            process.kill()
        return
    gone = process.returncode is not None
    process_tree.end_all(mark, process.pid, waited_for=gone, since=since)


def _communicate(
    process: "subprocess.Popen[bytes]", given: bytes, timeout_s: float, most: int
) -> Ended:
    """Run without polling, where pipes cannot be polled: all output is kept until the end."""
    try:
        out, err = process.communicate(given, timeout_s)
    except subprocess.TimeoutExpired:
        return Ended(-1, timed_out=True)
    return Ended(process.returncode, out[:most], err[:most], cut=max(len(out), len(err)) > most)


class _Watch:
    """The pipes of a running program, polled on the caller's thread."""

    def __init__(self, process: "subprocess.Popen[bytes]", most: int, end: int) -> None:
        self._process = process
        self._kept = {"out": _Kept(most, end), "err": _Kept(most, end)}
        self._flood = most * _MOST_FLOOD
        self._selector = selectors.DefaultSelector()

    def until(self, timeout_s: float, given: bytes, given_up: Callable[[], bool]) -> Ended:
        deadline = time.monotonic() + timeout_s
        with self._selector:
            self._watch(self._process.stdout, selectors.EVENT_READ, "out")
            self._watch(self._process.stderr, selectors.EVENT_READ, "err")
            self._rest = memoryview(given)
            self._watch(self._process.stdin, selectors.EVENT_WRITE, "in")
            timed_out = False
            while self._selector.get_map() and not self._floods():
                now = time.monotonic()
                if now >= deadline or given_up():
                    timed_out = self._process.poll() is None
                    break
                if self._process.poll() is not None:
                    deadline = min(deadline, now + _AFTERMATH_S)
                self._step(min(_LOOK_S, deadline - now))
            timed_out = timed_out or not self._ends(deadline, given_up)
        code = self._process.poll()
        return Ended(
            -signal.SIGKILL if code is None else code,
            self._kept["out"].data,
            self._kept["err"].data,
            timed_out=timed_out and not self._floods(),
            cut=any(kept.came > kept.most for kept in self._kept.values()),
        )

    def _ends(self, deadline: float, given_up: Callable[[], bool]) -> bool:
        """Return whether a program that closed its pipes ends in time."""
        while not self._floods():
            left = deadline - time.monotonic()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(min(_LOOK_S, max(0.0, left)))
                return True
            if left <= 0 or given_up():
                return False
        return False

    def _floods(self) -> bool:
        return any(kept.came > self._flood for kept in self._kept.values())

    def _watch(self, stream: "IO[bytes] | None", events: int, name: str) -> None:
        if stream is not None:
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, events, name)

    def _step(self, seconds: float) -> None:
        for key, _ in self._selector.select(max(0.0, seconds)):
            stream: IO[bytes] = key.fileobj  # type: ignore[assignment]  # registered above
            done = self._write(stream) if key.data == "in" else self._read(stream, key.data)
            if done:
                self._selector.unregister(stream)
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self, stream: "IO[bytes]", name: str) -> bool:
        try:
            chunk = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        self._kept[name].take(chunk)
        return not chunk

    def _write(self, stream: "IO[bytes]") -> bool:
        try:
            written = os.write(stream.fileno(), self._rest[:_CHUNK]) if self._rest else 0
        except BlockingIOError:
            return False
        except OSError:  # it does not read
            return True
        self._rest = self._rest[written:]
        return not self._rest
