"""Files by which Hermes programs determine which process is the gateway of a home.

Any code may use the readers. The writers are reserved for the identity process
(:mod:`hermes_desktop.gateway.identity.identity`). Standard library only.
"""

import contextlib
import errno
import json
import os
import stat
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hermes_desktop.gateway.runtime_files import process_facts

PID_FILE = "gateway.pid"
LOCK_FILE = "gateway.lock"
STATE_FILE = "gateway_state.json"
TAKEOVER_MARKER = ".gateway-takeover.json"
STOP_MARKER = ".gateway-planned-stop.json"
MARKERS: dict[str, Literal["takeover", "stop"]] = {
    TAKEOVER_MARKER: "takeover",
    STOP_MARKER: "stop",
}
MARKER_LIFE_S = 60.0
_LARGEST = 64_000_000
_OVER = frozenset({"stopped", "startup_failed"})


class GatewayRecord(NamedTuple):
    """The gateway process that a file names.

    A tuple, because loading dataclasses would make the identity process a third larger.

    Attributes:
        start_time: Clock ticks, see :func:`process_facts.start_time`; None when not recorded.
        home: The resolved home; "" when the writer does not record it.
    """

    pid: int
    argv: tuple[str, ...] = ()
    start_time: int | None = None
    home: str = ""

    @property
    def is_hermes_desktop(self) -> bool:
        """Whether the identity process of another Hermes Desktop wrote it."""
        return self.argv[:1] == (process_facts.TOKEN,)

    def is_live(self) -> bool:
        """Return whether that very process runs and looks like a gateway."""
        return process_facts.is_gateway(self.pid, self.start_time)

    def names(self, other: "GatewayRecord") -> bool:
        """Return whether both records mean the same process."""
        same_start = None in (self.start_time, other.start_time) or (
            self.start_time == other.start_time
        )
        return self.pid == other.pid and same_start

    def as_json(self) -> dict[str, Any]:
        """Return the five keys as the files store them."""
        return {
            "pid": self.pid,
            "kind": process_facts.TOKEN,
            "argv": list(self.argv),
            "start_time": self.start_time,
            "hermes_home": self.home,
        }


def read_plain_file(path: Path) -> str:
    """Read a small plain file without blocking, even if it is a pipe or a device.

    Raises:
        OSError: It cannot be read, is not a regular file, or is huge.
        ValueError: It is not text.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise OSError(errno.EINVAL, "It is not a small regular file", str(path))
        with open(descriptor, encoding="utf-8", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def read_json(path: Path) -> Any:
    """Return the content of a small JSON file; None when it is missing, unreadable or not JSON."""
    try:
        return json.loads(read_plain_file(path))
    except (OSError, ValueError, RecursionError):
        return None


def parse_record(data: Any) -> GatewayRecord | None:
    """Parse decoded JSON into a record; a bare number is a pid. None when it names no process."""
    if isinstance(data, int) and not isinstance(data, bool):
        data = {"pid": data}
    if not isinstance(data, Mapping):
        return None
    pid, began, argv = data.get("pid"), data.get("start_time"), data.get("argv")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return None
    return GatewayRecord(
        pid,
        tuple(map(str, argv)) if isinstance(argv, list) else (),
        began if isinstance(began, int) else None,
        str(data.get("hermes_home") or ""),
    )


def read_record(path: Path) -> GatewayRecord | None:
    """Return the process that a file names, dead or alive."""
    return parse_record(read_json(path))


def live_gateway(home: Path, *, but: int = 0) -> GatewayRecord | None:
    """Return the gateway that runs for this home. Only reads; tries no lock.

    Args:
        home: The home.
        but: A pid to ignore (our own).
    """
    for name in (PID_FILE, LOCK_FILE, STATE_FILE):
        data = read_json(home / name)
        if name == STATE_FILE and isinstance(data, Mapping) and _is_over(data):
            continue
        record = parse_record(data)
        if record is not None and record.pid != but and record.is_live():
            return record
    return None


def _is_over(state: Mapping[str, Any]) -> bool:
    return state.get("gateway_state") in _OVER


def pending_markers(
    home: Path, target: GatewayRecord, *, now: float
) -> dict[Path, Literal["takeover", "stop"]]:
    """Return the markers that ask this process to stop, with the meaning of each.

    Markers that are more than a minute away from ``now`` (seconds since the epoch) do not count.
    """
    found: dict[Path, Literal["takeover", "stop"]] = {}
    for name, meaning in MARKERS.items():
        data = read_json(home / name)
        if not isinstance(data, Mapping) or data.get("target_pid") != target.pid:
            continue
        began = data.get("target_start_time")
        written = _seconds(data.get("written_at"))
        fresh = written is None or abs(now - written) < MARKER_LIFE_S
        if fresh and (began is None or began == target.start_time):
            found[home / name] = meaning
    return found


def stop_marker_kind(
    home: Path, target: GatewayRecord | None, *, now: float
) -> Literal["takeover", "stop"] | None:
    """Return the meaning of the first marker for this process; None when there is none."""
    found = pending_markers(home, target, now=now) if target is not None else {}
    return next(iter(found.values()), None)


def _seconds(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return None


def ask_to_stop(home: Path, target: GatewayRecord, *, now: float) -> None:
    """Write the marker that makes another Hermes Desktop release its home.

    Raises:
        OSError: The folder is not writable.
    """
    marker = {
        "target_pid": target.pid,
        "target_start_time": target.start_time,
        "stopper_pid": os.getpid(),
        "written_at": datetime.fromtimestamp(now, UTC).isoformat(),
    }
    prepared = home / f"{STOP_MARKER}.{os.getpid()}.tmp"
    _write_whole(prepared, marker)
    prepared.rename(home / STOP_MARKER)


# ------------------------------------------------------------- writers: the identity process only


class LockTakenError(Exception):
    """Another process holds the lock of this home."""


class GatewayLockFile:
    """The lock file, created so that it is never visible without its content or its lock.

    A program that inspects a lock file in between takes it for a dead one and deletes it, so the
    file is filled and locked under another name first. The previous file stays locked, too: a
    program that had opened it must not obtain a lock that is worth nothing.
    """

    def __init__(self, home: Path, record: GatewayRecord) -> None:
        self._path = home / LOCK_FILE
        self._record = record
        self._descriptor = -1
        self._replaced: list[int] = []

    def is_in_place(self) -> bool:
        """Return whether the file in the home is still ours."""
        return self._descriptor >= 0 and _same_file(self._descriptor, self._path)

    def plant(self) -> None:
        """Put our lock file in place, in one attempt.

        Raises:
            LockTakenError: Another process holds it, possibly only for a moment; a retry may work.
            OSError: The folder is not writable.
        """
        prepared = self._path.with_name(f"{LOCK_FILE}.{self._record.pid}.tmp")
        prepared.unlink(missing_ok=True)
        descriptor = os.open(prepared, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.fchmod(descriptor, 0o600)  # independent of the umask
            _lock(descriptor)
            _fill(descriptor, self._record.as_json())
            self._move_in(prepared)
        except BaseException:
            os.close(descriptor)
            raise
        finally:
            prepared.unlink(missing_ok=True)
        if self._descriptor >= 0:
            self._replaced.append(self._descriptor)
        self._descriptor = descriptor

    def _move_in(self, prepared: Path) -> None:
        with contextlib.suppress(FileExistsError):
            os.link(prepared, self._path)
            return
        try:
            old = os.open(self._path, os.O_RDWR)
        except OSError as error:
            # A dangling symlink: no process can hold it.
            if self._path.is_symlink():
                prepared.rename(self._path)
                return
            if isinstance(error, FileNotFoundError):
                raise LockTakenError from None
            raise
        try:
            _lock(old)
        except BlockingIOError:
            os.close(old)
            raise LockTakenError from None
        if not _same_file(old, self._path):
            os.close(old)
            raise LockTakenError
        prepared.rename(self._path)
        self._replaced.append(old)


def create_pid_file(home: Path, record: GatewayRecord) -> GatewayRecord | None:
    """Create the pid file, or return the record of the live gateway that already has one.

    Raises:
        OSError: The folder is not writable.
    """
    path = home / PID_FILE
    prepared = path.with_name(f"{PID_FILE}.{record.pid}.tmp")
    _write_whole(prepared, record.as_json())
    try:
        for _ in range(5):
            with contextlib.suppress(FileExistsError):
                os.link(prepared, path)
                return None
            there = read_record(path)
            if there is not None and there.pid != record.pid and there.is_live():
                return there
            path.unlink(missing_ok=True)
    finally:
        prepared.unlink(missing_ok=True)
    return read_record(path)


def remove_pid_file(home: Path, record: GatewayRecord) -> None:
    """Remove the pid file if it names this process."""
    there = read_record(home / PID_FILE)
    if there is not None and there.names(record):
        (home / PID_FILE).unlink(missing_ok=True)


def remove_state(home: Path, record: GatewayRecord) -> None:
    """Remove the state file if it names this process and the folder is writable."""
    there = read_record(home / STATE_FILE)
    if there is not None and there.names(record):
        with contextlib.suppress(OSError):
            (home / STATE_FILE).unlink()


def write_state(home: Path, record: GatewayRecord, fields: Mapping[str, Any]) -> bool:
    """Replace the state file atomically, unless it belongs to another live gateway.

    Raises:
        OSError: The folder is gone or full.
    """
    path = home / STATE_FILE
    data = read_json(path)
    there = parse_record(data)
    foreign = there is not None and there.pid != record.pid
    if foreign and not (isinstance(data, Mapping) and _is_over(data)) and there and there.is_live():
        return False
    prepared = path.with_name(f"{STATE_FILE}.{record.pid}.tmp")
    _write_whole(prepared, {**record.as_json(), **fields})
    try:
        prepared.rename(path)
    except OSError:
        prepared.unlink(missing_ok=True)
        raise
    return True


def _write_whole(path: Path, data: Mapping[str, Any]) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.fchmod(descriptor, 0o600)  # independent of the umask
        _fill(descriptor, data)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _fill(descriptor: int, data: Mapping[str, Any]) -> None:
    left = json.dumps(data, separators=(",", ":")).encode()
    while left:  # a disk that fills up accepts a part first
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat()
    except OSError:
        return False
    ours = os.fstat(descriptor)
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        """Refuse the lock; unreachable, because without ``/proc`` no home is claimed."""
        raise LockTakenError(descriptor)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
