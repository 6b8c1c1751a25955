"""The trace of a running window: what Python writes when it crashes, and uncaught exceptions.

The file exists while the program runs. At the next start, a trace with more than its first line
means a crash or an internal error; a program that was killed leaves only the first line. Standard
library only.
"""

import contextlib
import faulthandler
import os
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import IO

from hermes_desktop import __version__
from hermes_desktop.core.files.atomic_files import make_private_folder, open_private

TRACE_NAME = "running.trace"
FATAL_NAME = "crashed.trace"
"""The trace of an earlier run, until a report is made of it."""
REPORT_NAME = "crash-report.txt"
"""The report, until the user keeps or deletes it."""
_MOST_NOTES = 20


class CrashTrace:
    """Writes the trace of this process. One per home: the caller holds the lock of the window.

    :meth:`note` may be called from any thread. Nothing raises: a home that cannot be written to
    has no trace.

    Args:
        folder: The program's own folder of the home.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._notes = 0

    def begin(self) -> None:
        """Put the trace of a crashed run aside and start a new one."""
        path = self._folder / TRACE_NAME
        with contextlib.suppress(OSError):
            make_private_folder(self._folder)
            if _says_something(path):
                path.replace(self._folder / FATAL_NAME)
            flags = os.O_WRONLY | os.O_APPEND | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
            self._file = os.fdopen(open_private(path, flags), "ab", buffering=0)
            moment = time.strftime("%Y-%m-%d %H:%M:%S %z")
            began = f"Hermes Desktop {__version__}, process {os.getpid()}, started {moment}\n"
            self._file.write(began.encode())
            faulthandler.enable(self._file, all_threads=True)

    def note(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Record an uncaught exception: its kind and where it was raised, not its text."""
        if self._file is None or self._notes >= _MOST_NOTES:
            return
        self._notes += 1
        with contextlib.suppress(Exception):
            self._file.write("".join(_lines(kind, error, trace)).encode("utf-8", "replace"))

    def end(self) -> None:
        """Remove the trace, unless it has something to say."""
        if self._file is None:
            return
        faulthandler.disable()
        self._file.close()
        self._file = None
        path = self._folder / TRACE_NAME
        with contextlib.suppress(OSError):
            if not _says_something(path):
                path.unlink()


def _says_something(path: Path) -> bool:
    try:
        return bool(path.read_bytes().partition(b"\n")[2].strip())
    except OSError:
        return False


def _lines(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> list[str]:
    lines = [f"\nUncaught {kind.__module__}.{kind.__qualname__} (most recent call last):\n"]
    lines += (f"  {_place(frame)}\n" for frame in traceback.extract_tb(trace))
    cause = error.__cause__ or error.__context__
    if cause is not None:
        lines.append(f"  caused by {type(cause).__module__}.{type(cause).__qualname__}\n")
        lines += (f"  {_place(frame)}\n" for frame in traceback.extract_tb(cause.__traceback__))
    return lines


def _place(frame: traceback.FrameSummary) -> str:
    return f'File "{frame.filename}", line {frame.lineno}, in {frame.name}'
