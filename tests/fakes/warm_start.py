"""Runs of the command line that fork from one process instead of importing everything anew.

Starting Python and importing the program takes most of the time of a short command. A process per
test worker has done both; each run is a fork of it with arguments, environment, folder and standard
streams of its own, and ends as any other process does. It runs the same code as ``python -m``, but
its command line in ``/proc`` is that of the process it was forked from, so only commands that do
not host, chat or serve are run this way.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KINDS = frozenset({"sessions", "config", "insights", "secrets", "models", "plugins"})
_PRELOADED = (
    "hermes_desktop.cli.main",
    "hermes_desktop.cli.store_access",
    "hermes_desktop.cli.sessions.session_bulk",
    "hermes_desktop.cli.sessions.session_commands",
    "hermes_desktop.cli.sessions.session_transfer",
    "hermes_desktop.cli.settings.secrets_commands",
    "hermes_desktop.cli.settings.settings_commands",
    "hermes_desktop.state",
)
DEADLINE_S = 40.0
_NUMBER = 8
"""Bytes of a number on the socket."""
_OF_THE_INTERPRETER = ("PYTHON", "COVERAGE", "LC_", "LANG")


class WarmProgram:
    """The process that forks. One run at a time; used by the tests of one worker."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._of_interpreter = _interpreter_part(environ)
        self._free = threading.Lock()
        self._ours, theirs = socket.socketpair()
        with theirs:
            # Its streams are pipes, so that those of Python in a fork are made for pipes.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fakes.warm_start", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environ),
            )
        atexit.register(self._close)

    def _close(self) -> None:
        self._ours.close()
        self._process.communicate()

    def run(
        self, arguments: Sequence[str], environ: Mapping[str, str], folder: Path, stdin: bytes
    ) -> "tuple[int, bytes, bytes] | None":
        """Run the command line; return its exit code, output and errors; None if it cannot here.

        Raises:
            subprocess.TimeoutExpired: It did not end within the deadline; it was killed.
        """
        fits = arguments[:1] and arguments[0] in KINDS
        if not fits or _interpreter_part(environ) != self._of_interpreter:
            return None
        if not self._free.acquire(blocking=False):
            return None
        try:
            return self._forked(arguments, environ, folder, stdin)
        finally:
            self._free.release()

    def _forked(
        self, arguments: Sequence[str], environ: Mapping[str, str], folder: Path, stdin: bytes
    ) -> tuple[int, bytes, bytes]:
        request = json.dumps([list(arguments), dict(environ), str(folder)]).encode(
            "utf-8", "surrogateescape"
        )
        to_read, to_write = zip(*(os.pipe() for _ in range(3)), strict=True)
        streams = (to_read[0], to_write[1], to_write[2])
        socket.send_fds(self._ours, [len(request).to_bytes(_NUMBER, "big")], streams)
        self._ours.sendall(request)
        for each in streams:
            os.close(each)
        with ThreadPoolExecutor(3) as pool:
            out, err = (pool.submit(_read_all, each) for each in to_read[1:])
            pool.submit(_write_all, to_write[0], stdin)
            started = self._number()
            killer = threading.Timer(DEADLINE_S, os.kill, (started, signal.SIGKILL))
            killer.start()
            code = self._number()
            killer.cancel()
            if killer.finished.is_set() and code == -signal.SIGKILL:
                raise subprocess.TimeoutExpired(list(arguments), DEADLINE_S)
            return code, out.result(), err.result()

    def _number(self) -> int:
        return int.from_bytes(self._ours.recv(_NUMBER), "big", signed=True)


def _interpreter_part(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python reads once, when it starts."""
    return {k: v for k, v in environ.items() if k.startswith(_OF_THE_INTERPRETER)}


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as stream:
        return stream.read()


def _write_all(descriptor: int, data: bytes) -> None:
    with open(descriptor, "wb") as stream:
        stream.write(data)


def _next_run(server: socket.socket) -> None:
    """Serve until a fork of this process is to run; return only in that fork, ready for it."""
    while True:
        size, streams, _, _ = socket.recv_fds(server, _NUMBER, 3)
        if not size:
            raise SystemExit
        request = b""
        while len(request) < int.from_bytes(size, "big"):
            request += server.recv(65536)
        if child := os.fork():
            for each in streams:
                os.close(each)
            server.sendall(child.to_bytes(_NUMBER, "big", signed=True))
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            server.sendall(code.to_bytes(_NUMBER, "big", signed=True))
            continue
        server.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        arguments, environ, folder = json.loads(request.decode("utf-8", "surrogateescape"))
        os.environ.clear()
        os.environ.update(environ)
        time.tzset()
        os.chdir(folder)
        sys.argv = ["hermes-desktop", *arguments]
        return


if __name__ == "__main__":
    for name in _PRELOADED:
        __import__(name)
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as served:
        _next_run(served)
    runpy.run_module("hermes_desktop", run_name="__main__", alter_sys=True)
