"""Names of lock holders that are stored with a lock, and detection of holders that have ended.

A name contains the process id and an identifier of where that id is valid: this boot of this
machine, this pid namespace. A holder elsewhere, or a name written by another program, is never
considered gone. On systems that do not provide this data (only Linux does), no holder is.
"""

import hashlib
import os
import re
import secrets
import threading
from functools import cache
from pathlib import Path

from hermes_desktop.core.processes.liveness import is_running
from hermes_desktop.core.processes.process_tree import began

_PROC = Path("/proc")
_OURS = re.compile(r"pid=(\d{1,10}):tid=\d+:agent=([0-9a-f]{8}):nonce=([0-9a-f]{4})[0-9a-f]{4}")


def new_holder_id() -> str:
    """Return a name for one attempt of this thread, in the format that ``hermes`` writes."""
    pid = os.getpid()
    place = _place() or secrets.token_hex(4)
    nonce = _began_word(began(pid)) + secrets.token_hex(2)
    return f"pid={pid}:tid={threading.get_ident()}:agent={place}:nonce={nonce}"


def is_gone(holder: str) -> bool:
    """Return whether one of our processes wrote this name here, and has ended since."""
    found = _ours(holder)
    if found is None:
        return False
    pid = int(found[1])
    if not is_running(pid, if_unknown=True):
        return True
    since = began(pid)  # None: it belongs to another user and its start time is hidden
    return since is not None and found[3] != _began_word(since)


def is_ours(holder: str) -> bool:
    """Return whether this program wrote a name, in any process of this boot of this machine."""
    return _ours(holder) is not None


def runs_here(holder: str) -> bool:
    """Return whether a process with the id in a name runs here; it may be a different process."""
    pid = pid_of(holder)
    return pid is not None and pid > 0 and is_running(pid, if_unknown=True)


def pid_of(holder: str) -> int | None:
    """Return the process id in a name; None if there is none."""
    found = re.match(r"pid=(\d{1,10})(?!\d)", holder)
    return int(found[1]) if found is not None else None


def _ours(holder: str) -> re.Match[str] | None:
    found = _OURS.fullmatch(holder)
    return found if found is not None and _place() and found[2] == _place() else None


@cache
def _place() -> str:
    """Return an identifier of this machine, boot and pid namespace; "" if it is unknown."""
    try:
        start = (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        space = (_PROC / "self/ns/pid").readlink()
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(f"{start} {space}".encode()).hexdigest()[:8]


def _began_word(since: int | None) -> str:
    """Return a digest that tells a process from a later one with the same id."""
    return hashlib.sha256(str(since).encode()).hexdigest()[:4]
