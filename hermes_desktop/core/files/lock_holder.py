"""Names for who holds a lock that is written down, and whether that somebody is gone for certain.

A name tells of its process by number, and of the place where that number means something: this
start of this machine, this space of process numbers. What stands elsewhere, or was written by
another program, is never taken for gone. Where the system does not tell all this (it is Linux that
does), nothing is.
"""

import hashlib
import os
import re
import secrets
import threading
from functools import cache
from pathlib import Path

from hermes_desktop.core.processes.process_tree import began

_PROC = Path("/proc")
_OURS = re.compile(r"pid=(\d{1,10}):tid=\d+:agent=([0-9a-f]{8}):nonce=([0-9a-f]{4})[0-9a-f]{4}")


def new_holder() -> str:
    """A name for one attempt of this thread, in the form that ``hermes`` writes."""
    pid = os.getpid()
    place = _place() or secrets.token_hex(4)
    nonce = _began_word(began(pid)) + secrets.token_hex(2)
    return f"pid={pid}:tid={threading.get_ident()}:agent={place}:nonce={nonce}"


def is_gone(holder: str) -> bool:
    """Whether a process of ours wrote this name, here, and has ended since."""
    found = _ours(holder)
    if found is None:
        return False
    pid = int(found[1])
    if not _runs(pid):
        return True
    since = began(pid)  # None: it is somebody else's, who does not show it
    return since is not None and found[3] != _began_word(since)


def is_ours(holder: str) -> bool:
    """Whether this program wrote a name, in whatever process of this start of this machine."""
    return _ours(holder) is not None


def runs_here(holder: str) -> bool:
    """Whether a process runs here that has the number in a name; it may be another one."""
    pid = pid_of(holder)
    return pid is not None and pid > 0 and _runs(pid)


def pid_of(holder: str) -> int | None:
    """The number of the process that a name tells of; None if it tells of none."""
    found = re.match(r"pid=(\d{1,10})(?!\d)", holder)
    return int(found[1]) if found is not None else None


def _ours(holder: str) -> re.Match[str] | None:
    found = _OURS.fullmatch(holder)
    return found if found is not None and _place() and found[2] == _place() else None


@cache
def _place() -> str:
    """What no other machine, start of it, or space of process numbers has; "" for not known."""
    try:
        start = (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        space = (_PROC / "self/ns/pid").readlink()
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(f"{start} {space}".encode()).hexdigest()[:8]


def _began_word(since: int | None) -> str:
    """Tells a process from one that has its number later."""
    return hashlib.sha256(str(since).encode()).hexdigest()[:4]


def _runs(pid: int) -> bool:
    """Whether it runs; one that has ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    try:
        stat = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[:1] not in (["Z"], ["X"])
