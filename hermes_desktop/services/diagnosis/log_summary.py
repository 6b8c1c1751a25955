"""A summary of the log without its texts, which may quote conversations.

Of a record remain its time, level and logger, and of its traceback the kind of exception and the
innermost place in this program.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MOST_BYTES = 256 * 1024
_RECORD = re.compile(
    r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d{3} "
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) +(?P<logger>hermes_desktop[\w.]*): ",
    re.MULTILINE | re.ASCII,
)
_TRACEBACK = "\nTraceback (most recent call last):\n"
_FRAME = re.compile(
    r'^  File "[^"\n]*?(?P<file>hermes_desktop/[\w/]+\.py)", line (?P<line>\d+), in \w+$',
    re.MULTILINE | re.ASCII,
)
_KIND = re.compile(
    r"(?P<kind>(?:\w+\.|<locals>\.){0,12}[A-Z]\w{0,60}(?:Error|Exception|Warning|Interrupt|Exit|Group))"
    r"(?::|$)",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A record of the log without its text.

    Attributes:
        time: Local time, as in the log.
        kind: The exception of its traceback, "" for none.
        place: File and line of this program where that was raised, "" if unknown.
    """

    time: str
    level: str
    logger: str
    kind: str = ""
    place: str = ""

    @property
    def is_error(self) -> bool:
        """Whether it is an error, or worse."""
        return self.level in {"ERROR", "CRITICAL"}

    def __str__(self) -> str:
        raised = f": {self.kind}" if self.kind else ""
        where = f" at {self.place}" if self.place else ""
        return f"{self.time} {self.level} {self.logger}{raised}{where}"


def read_entries(log_file: Path) -> tuple[LogEntry, ...]:
    """Return the last entries of a log file, the oldest first; () where there is no log.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return tuple(_entries(_end_of(log_file)))
    except FileNotFoundError:
        return ()


def _end_of(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):  # a pipe would block
        os.close(descriptor)
        raise OSError(errno.EINVAL, "It is not a file", str(path))
    with os.fdopen(descriptor, "rb") as file:
        file.seek(max(0, found.st_size - _MOST_BYTES))
        return file.read(_MOST_BYTES).decode("utf-8", "replace")


def _entries(text: str) -> Iterator[LogEntry]:
    records = list(_RECORD.finditer(text))
    for number, record in enumerate(records):
        end = records[number + 1].start() if number + 1 < len(records) else len(text)
        kind, place = _raised(text[record.end() : end])
        yield LogEntry(record["time"], record["level"], record["logger"], kind, place)


def _raised(record: str) -> tuple[str, str]:
    """Return what the last traceback of a record raised, and where."""
    trace = record.rpartition(_TRACEBACK)[2] if _TRACEBACK in record else ""
    # Only the line that names the exception: later ones are its text.
    line = next((line for line in trace.splitlines() if line and not line.startswith(" ")), "")
    kind = _KIND.match(line)
    frames = list(_FRAME.finditer(trace))
    place = f"{frames[-1]['file']}:{frames[-1]['line']}" if frames else ""
    return kind["kind"] if kind else "", place
