"""The files by which Hermes programs tell who is the gateway of a home.

Readers are for everybody. The writers belong to the identity process alone
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
    """Who a file says is the gateway.

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
        """Whether that very process runs and looks like a gateway."""
        return process_facts.is_gateway(self.pid, self.start_time)

    def names(self, other: "GatewayRecord") -> bool:
        """Whether both mean the same process."""
        same_start = None in (self.start_time, other.start_time) or (
            self.start_time == other.start_time
        )
        return self.pid == other.pid and same_start

    def as_json(self) -> dict[str, Any]:
        """The five keys as the files hold them."""
        return {
            "pid": self.pid,
            "kind": process_facts.TOKEN,
            "argv": list(self.argv),
            "start_time": self.start_time,
            "hermes_home": self.home,
        }


def read_plain(path: Path) -> str:
    """What a small file holds. A pipe or a device in its place would be waited for.

    Raises:
        OSError: It cannot be read, or is no plain file, or a huge one.
        ValueError: It is no text.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise OSError(errno.EINVAL, "It is not a small plain file", str(path))
        with open(descriptor, encoding="utf-8", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def read_json(path: Path) -> Any:
    """What a small JSON file holds; None when it is missing, unreadable or not JSON."""
    try:
        return json.loads(read_plain(path))
    except (OSError, ValueError, RecursionError):
        return None


def parse_record(data: Any) -> GatewayRecord | None:
    """Make a record of decoded JSON; a bare number is a pid. None when it names nobody."""
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
    """Whom a file names, dead or alive."""
    return parse_record(read_json(path))


def live_gateway(home: Path, *, but: int = 0) -> GatewayRecord | None:
    """The gateway that runs for this home. Reads only: nobody's lock is tried.

    Args:
        home: The home.
        but: A pid that does not count (our own).
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
    """The markers that tell this process to go, with what each means.

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


def told_to_go(
    home: Path, target: GatewayRecord | None, *, now: float
) -> Literal["takeover", "stop"] | None:
    """What the first marker for this process means; None when there is none."""
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
    """Leave the marker that makes another Hermes Desktop give its home back.

    Raises:
        OSError: The folder does not let us.
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
    """Somebody else holds the lock of this home."""


class PlantedLock:
    """The lock file, made so that nobody ever sees it without its content or without its lock.

    A program that looks at a lock file in between takes it for a dead one and deletes it, so the
    file is filled and locked under another name first. The file that was there before stays
    locked, too: a program that had opened it must not get a lock that is worth nothing.
    """

    def __init__(self, home: Path, record: GatewayRecord) -> None:
        self._path = home / LOCK_FILE
        self._record = record
        self._descriptor = -1
        self._replaced: list[int] = []

    def is_in_place(self) -> bool:
        """Whether the file in the home is still ours."""
        return self._descriptor >= 0 and _same_file(self._descriptor, self._path)

    def plant(self) -> None:
        """Put our lock there, once.

        Raises:
            LockTakenError: Somebody holds it, if only for a moment; trying again may work.
            OSError: The folder does not let us.
        """
        prepared = self._path.with_name(f"{LOCK_FILE}.{self._record.pid}.tmp")
        prepared.unlink(missing_ok=True)
        descriptor = os.open(prepared, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.fchmod(descriptor, 0o600)  # whatever the umask is
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
            if self._path.is_symlink():  # one that leads nowhere: nobody can hold it
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
    """Write the pid file unless a live gateway's is there; that one's record is returned.

    Raises:
        OSError: The folder does not let us.
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
    """Remove the state file if it names this process and the folder lets us."""
    there = read_record(home / STATE_FILE)
    if there is not None and there.names(record):
        with contextlib.suppress(OSError):
            (home / STATE_FILE).unlink()


def write_state(home: Path, record: GatewayRecord, fields: Mapping[str, Any]) -> bool:
    """Replace the state file in one step, unless it belongs to another live gateway.

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
        os.fchmod(descriptor, 0o600)  # whatever the umask is
        _fill(descriptor, data)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _fill(descriptor: int, data: Mapping[str, Any]) -> None:
    left = json.dumps(data, separators=(",", ":")).encode()
    while left:  # a disk that becomes full takes a part first
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
        """Nobody gets here: where there is no ``/proc``, no home is claimed."""
        raise LockTakenError(descriptor)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
