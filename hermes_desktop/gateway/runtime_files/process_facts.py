"""Facts about a process from the operating system: liveness, start time and command line.

Other Hermes programs recognize a gateway by its command line and its start time, so the same checks
are made here. Standard library only: the identity process imports this without site-packages.
Without ``/proc`` nothing is known beyond "some process has this number".
"""

import os
import re
from pathlib import Path

from hermes_desktop.core.processes.liveness import is_running

TOKEN = "hermes-gateway"  # noqa: S105 - a word of a command line
_PROC = Path("/proc")
_QUOTES = re.compile(r"[\"']")
# Field 22 of /proc/<pid>/stat; the first two are cut off, because the second may contain blanks.
_STARTED = 19
_RUNNING_WORDS = frozenset({"run", "restart"})


def is_alive(pid: int) -> bool:
    """Return whether a process with this pid runs (a zombie does not)."""
    return is_running(pid, if_unknown=False)


def is_frozen(pid: int) -> bool:
    """Return whether the process was stopped by a signal (state T) and not yet continued."""
    return _stat_fields(pid)[:1] == ["T"]


def start_time(pid: int) -> int | None:
    """Return the start time in clock ticks since boot; None when it is unknown."""
    fields = _stat_fields(pid)
    return int(fields[_STARTED]) if len(fields) > _STARTED else None


def age(pid: int) -> float | None:
    """Return how many seconds the process has been running; None when unknown."""
    began = start_time(pid)
    try:
        uptime = float((_PROC / "uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return None if began is None else max(0.0, uptime - began / os.sysconf("SC_CLK_TCK"))


def command_line(pid: int) -> str | None:
    """Return the process's arguments separated by blanks; None when unknown."""
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()


def looks_like_gateway(line: str) -> bool:
    """Return whether other Hermes programs take a process with this command line for a gateway."""
    words = _QUOTES.sub("", line.replace("\\", "/")).lower().split()
    for position, word in enumerate(words):
        name = word.rpartition("/")[2].removesuffix(".exe")
        if name == TOKEN or word.endswith("/gateway/run.py"):
            return True
        program = name == "hermes" or "hermes_cli.main" in word or "hermes_cli/main.py" in word
        if program and _asks_to_run(words[position + 1 :]):
            return True
    return False


def is_gateway(pid: int, began: int | None) -> bool:
    """Return whether the process lives, started at that time and looks like a gateway.

    Args:
        pid: Its pid.
        began: The recorded start time; None skips the comparison.
    """
    if not is_alive(pid):
        return False
    actual = start_time(pid)
    if began is not None and actual is not None and began != actual:
        return False
    line = command_line(pid)
    return line is None or looks_like_gateway(line)


def _asks_to_run(words: list[str]) -> bool:
    if "gateway" not in words:
        return False
    rest = words[words.index("gateway") + 1 :]
    return not rest or rest[0] in _RUNNING_WORDS or rest[0].startswith("-")


def _stat_fields(pid: int) -> list[str]:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
