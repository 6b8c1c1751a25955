"""Whether a process runs. Standard library only, because the identity process imports it alone."""

import os
import sys
from pathlib import Path

_PROC = Path("/proc")
_ENDED = frozenset({"Z", "X"})


def is_running(pid: int, *, if_unknown: bool, zombies: bool = False) -> bool:
    """Return whether a process with this pid runs.

    Args:
        pid: The process id.
        if_unknown: The answer where the system does not tell: for a pid that names no single
            process, for processes that ``/proc`` hides, and on Windows, where signal 0 would end
            the process. Pass True where a process that is taken for gone would lose something.
        zombies: Whether a process counts as running that has ended, but whose parent does not know.
    """
    if pid <= 0 or sys.platform == "win32":
        return if_unknown
    state = _state(pid)
    if state:
        return zombies or state not in _ENDED
    hidden_counts = if_unknown or not (_PROC / "self").exists()
    return hidden_counts and _takes_signals(pid, if_unknown=if_unknown)


def _takes_signals(pid: int, *, if_unknown: bool) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return if_unknown
    return True


def _state(pid: int) -> str:
    """Return the letter of the process's state; "" if it is unknown."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return next(iter(text.rpartition(")")[2].split()), "")
