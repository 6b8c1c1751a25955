"""A background program, watched by its own thread."""

import contextlib
import os
import select
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from hermes_desktop.agent.sandbox.launching import Launch
from hermes_desktop.agent.tools.processes.process_output import KeptOutput
from hermes_desktop.core.processes import process_tree

POLITE_S = 2.0
"""How long a program may take to end after the signal to do so."""
_LOOK_S = 1.0
_CHUNK = 65536
_AFTERMATH_S = 0.3
_WRITE_S = 2.0
_MOST_AT_ONCE = 1024 * 1024
_BREATH_S = 0.1
"""The pause after a larger amount of output: a flood would keep this program busy."""
MOST_WRITTEN = 65536


class BackgroundProcess:
    """A background process, started on construction. Thread-safe.

    It runs until everything it has started has ended.

    It is started by the thread that watches it, because the kernel ends a sandboxed command
    together with the thread that started it.

    Args:
        opening: Returns the context in which it is started and runs.
        ended: Called on the watching thread when it has ended.

    Attributes:
        mark: Identifies everything it starts, see
            :mod:`~hermes_desktop.core.processes.process_tree`.
        output: Its output, errors included.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(
        self,
        opening: Callable[[], AbstractContextManager[Launch]],
        *,
        ended: Callable[["BackgroundProcess"], object],
    ) -> None:
        self.mark = process_tree.new_mark()
        self.output = KeptOutput()
        self.killed = False
        self._reads_no_more = False
        self._came, self._came_since = 0, 0.0
        self._ended = ended
        self._over = threading.Event()
        self._input = threading.Lock()
        self._opening = opening
        self._failure: BaseException | None = None
        self._started, self._may_read = threading.Event(), threading.Event()
        threading.Thread(target=self._run, name="background command", daemon=True).start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure

    def watch(self) -> None:
        """Start reading its output."""
        self._may_read.set()

    @property
    def pid(self) -> int:
        """The id of the first process."""
        return self._process.pid

    @property
    def is_over(self) -> bool:
        """Whether everything it has started has ended."""
        return self._over.is_set()

    @property
    def code(self) -> int | None:
        """The exit code of the first process; negative for a signal; None while it runs."""
        return self._process.returncode

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it has ended."""
        return self._over.wait(seconds)

    def write(self, data: bytes, *, close: bool = False) -> bool:
        """Write to its standard input; return False when it does not read.

        Args:
            data: The input.
            close: No more input will follow.
        """
        stream = self._process.stdin
        with self._input:
            if stream is None or stream.closed:
                return not data
            taken = self._push(stream.fileno(), data)
            if close:
                with contextlib.suppress(OSError):
                    stream.close()
        return taken

    def _push(self, descriptor: int, data: bytes) -> bool:
        os.set_blocking(descriptor, False)
        rest, end = memoryview(data), time.monotonic() + _WRITE_S
        while rest and not self._reads_no_more:
            left = end - time.monotonic()
            if left <= 0 or not select.select([], [descriptor], [], min(left, 0.1))[1]:
                if left <= 0:
                    return False
                continue
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:
                continue
            except OSError:
                return False
        return not rest

    def ask_to_leave(self) -> None:
        """Send the signal that asks programs to end."""
        self.killed = True
        if self._process.returncode is None:
            for group in self._groups():
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGTERM)

    def _groups(self) -> tuple[int, ...]:
        """Return the groups that a polite signal goes to; bubblewrap would end all immediately."""
        if self._is_wrapped:
            with contextlib.suppress(OSError, ValueError):
                children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
                return tuple(map(int, children.read_text(encoding="ascii").split()))
        return (self.pid,)

    def end(self) -> None:
        """Kill all of it. Blocks for milliseconds."""
        self.killed = True
        gone = self._process.returncode is not None
        process_tree.end_all(self.mark, self.pid, waited_for=gone, since=self._since)

    def stop(self, polite_s: float = POLITE_S) -> None:
        """Ask it to end, and kill what remains."""
        self.ask_to_leave()
        self._over.wait(polite_s)
        self.end()
        self._over.wait(POLITE_S)

    # ------------------------------------------------------------------------- the watching thread

    def _run(self) -> None:
        try:
            with self._opening() as launched:
                self._start(launched)
                self._started.set()
                self._may_read.wait()
                self._watch()
        except BaseException as error:
            if self._started.is_set():
                raise
            self._failure = error
            self._started.set()

    def _start(self, launched: Launch) -> None:
        self._is_wrapped = launched.is_wrapped
        self._process = subprocess.Popen(  # noqa: S603 - the gate has judged it
            launched.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=process_tree.marked(launched.environ, self.mark),
            cwd=launched.cwd,
            start_new_session=True,
            pass_fds=launched.descriptors,
        )
        self._since = process_tree.began(self._process.pid)

    def _watch(self) -> None:
        try:
            self._read_until_it_ends()
        finally:
            self._reads_no_more = True  # a writer releases the lock
            with self._input:  # otherwise a descriptor could already be reused
                for stream in (self._process.stdin, self._process.stdout):
                    if stream is not None:
                        with contextlib.suppress(OSError):
                            stream.close()
            self._over.set()
            self._ended(self)

    def _read_until_it_ends(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - it was asked for
        os.set_blocking(stdout.fileno(), False)
        with selectors.DefaultSelector() as selector, _end_of(self.pid) as gone:
            selector.register(stdout, selectors.EVENT_READ, "out")
            if gone is not None:
                selector.register(gone, selectors.EVENT_READ, "gone")
            while self._process.poll() is None:
                # With a descriptor that signals its end, polling is not needed.
                for key, _ in selector.select(None if gone is not None else _LOOK_S):
                    if key.data == "out" and self._read(stdout.fileno()):
                        selector.unregister(stdout)
            if gone is not None:
                selector.unregister(gone)
            self._read_what_is_left(selector, stdout.fileno())

    def _read_what_is_left(self, selector: selectors.BaseSelector, descriptor: int) -> None:
        """Read on after the first process has ended, while anything that it started is alive."""
        pause = _AFTERMATH_S
        while True:
            ready = bool(selector.get_map()) and bool(selector.select(pause))
            if ready and self._read(descriptor):
                selector.unregister(descriptor)
            if not ready:
                if not process_tree.members(self.mark, since=self._since):
                    return
                if not selector.get_map():
                    self._over.wait(pause)  # never set: a pause
                pause = _LOOK_S

    def _read(self, descriptor: int) -> bool:
        """Read the available output; return whether no more will come."""
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        self.output.take(chunk)
        self._hold_back(len(chunk))
        return not chunk

    def _hold_back(self, came: int) -> None:
        """Limit the rate of reading."""
        now = time.monotonic()
        if now - self._came_since > _BREATH_S:
            self._came, self._came_since = 0, now
        self._came += came
        if self._came > _MOST_AT_ONCE:
            self._over.wait(_BREATH_S)  # never set: a pause


@contextlib.contextmanager
def _end_of(pid: int) -> Iterator[int | None]:
    """Return a descriptor that becomes readable when a process ends; None where unsupported."""
    opener = getattr(os, "pidfd_open", None)
    descriptor: int | None = None
    if opener is not None:
        with contextlib.suppress(OSError):
            descriptor = opener(pid)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)
