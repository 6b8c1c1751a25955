"""Shared limit on the number of conversations that all Hermes programs of a home run together.

The programs share one small file under a lock. It is written only while a limit is set.
"""

import json
import logging
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_files import read_plain_file

log = logging.getLogger(__name__)

SURFACE = "gateway"
_SAME_START_S = 2.0
"""Tolerance between two readings of the same process's start time, in seconds."""

Entry = dict[str, Any]


class ActiveSessions:
    """The shared lease file of one home. Blocking; may be used from any thread.

    A file that cannot be read or written imposes no limit: answering a message takes precedence.

    Args:
        home: The home.
        clock: The time source.
        surface: The kind of program that claims leases.
    """

    def __init__(self, home: Path, clock: Clock | None = None, *, surface: str = SURFACE) -> None:
        self._folder = home / "runtime"
        self._surface = surface
        self._clock = clock or SystemClock()

    def take(self, session_id: str, limit: int) -> str | None:
        """Claim a lease for a conversation.

        Args:
            session_id: The conversation.
            limit: The number of leases that may exist at the same time.

        Returns:
            The id of the lease; "" when the file cannot be used; None when the limit is reached.
        """
        lease = uuid.uuid4().hex
        taken = True

        def change(entries: list[Entry]) -> list[Entry]:
            nonlocal taken
            taken = len(entries) < limit
            return [*entries, self._entry(lease, session_id)] if taken else entries

        if not self._change(change):
            return ""
        return lease if taken else None

    def give_back(self, lease: str) -> None:
        """Release a lease; a no-op for "" and for leases that are not ours."""
        if lease:
            self._change(lambda entries: [e for e in entries if e.get("lease_id") != lease])

    def move(self, lease: str, session_id: str) -> None:
        """Move a lease to a new session id; a no-op for "" and for leases that are not ours."""

        def change(entries: list[Entry]) -> list[Entry]:
            return [
                e | {"session_id": session_id} if e.get("lease_id") == lease else e for e in entries
            ]

        if lease:
            self._change(change)

    def _entry(self, lease: str, session_id: str) -> Entry:
        now = self._clock.time()
        return {
            "lease_id": lease,
            "pid": os.getpid(),
            "process_start_time": _started_at(os.getpid()),
            "session_id": session_id,
            "started_at": now,
            "surface": self._surface,
            "updated_at": now,
        }

    def _change(self, change: Callable[[list[Entry]], list[Entry]]) -> bool:
        """Apply a change to the entries of live processes; return whether that succeeded."""
        path = self._folder / "active_sessions.json"
        try:
            make_private_folder(self._folder, parents=False)
            with file_lock.hold(self._folder / "active_sessions.lock"):
                entries = [entry for entry in _entries(path) if _lives(entry)]
                write_text_atomic(path, json.dumps({"entries": change(entries)}))
        except OSError as error:
            log.warning("active_sessions.json cannot be used and limits nothing: %s", error)
            return False
        return True


def _started_at(pid: int) -> float | None:
    """Return a process's start time in seconds since the epoch; None when it is unknown.

    The value has the precision of psutil (hundredths): other programs attribute an entry with a
    different time to a process that has ended.
    """
    ticks = process_facts.start_time(pid)
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return None if ticks is None else booted + ticks / os.sysconf("SC_CLK_TCK")


def _entries(path: Path) -> list[Entry]:
    try:
        data = json.loads(read_plain_file(path))
    except (FileNotFoundError, ValueError, RecursionError):
        return []
    entries = data.get("entries") if isinstance(data, dict) else None
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def _lives(entry: Entry) -> bool:
    """Return whether the process that claimed a lease is still running and still the same one."""
    pid, began = entry.get("pid"), entry.get("process_start_time")
    if not isinstance(pid, int) or not process_facts.is_alive(pid):
        return False
    now = _started_at(pid)
    if now is None or not isinstance(began, int | float):
        return True
    return abs(now - began) <= _SAME_START_S
