"""Discovery and termination of everything a program started, even outside its group and session.

A program is started with a unique mark in its environment, which everything it starts inherits.
In addition, children are found by their parent and by their session. A process that clears its
environment *and* whose parent has ended is not found. Only Linux provides this data (``/proc``);
elsewhere the process group is ended and nothing more is known.
"""

import contextlib
import os
import secrets
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MARK = "HERMES_DESKTOP_RUN"
_PROC = Path("/proc")
_ROUNDS = 40
_PARENT, _SESSION, _BEGAN = 1, 3, 19
_PAUSE_S = 0.005


@dataclass(frozen=True, slots=True)
class _ProcessStat:
    """The properties of one process, as the system reports them."""

    pid: int
    parent: int
    session: int
    began: int


def began(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it is unknown."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
        return int(text.rpartition(")")[2].split()[_BEGAN])
    except (OSError, ValueError, IndexError):
        return None


def new_mark() -> str:
    """Create a unique mark."""
    return secrets.token_hex(8)


def marked(environ: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return an environment with a mark added; marks of enclosing programs are kept."""
    around = environ.get(MARK, "")
    return {**environ, MARK: f"{around}:{mark}" if around else mark}


def members(mark: str, leader: int | None = None, *, since: int | None = None) -> tuple[int, ...]:
    """Return the living processes of one run. Blocks for a few milliseconds.

    Args:
        mark: The mark in their environment.
        leader: The first process, as long as it has not been waited for: its session and its
            children count, too.
        since: When it started, see :func:`began`; older processes were not started by it.
    """
    seen = {pid: each for pid, each in _look().items() if since is None or each.began >= since}
    found = {pid for pid in seen if _carries(pid, mark)}
    if leader is not None:
        found |= {each.pid for each in seen.values() if leader in (each.pid, each.session)}
    children: dict[int, list[int]] = {}
    for each in seen.values():
        children.setdefault(each.parent, []).append(each.pid)
    new = list(found)
    while new:
        new = [child for pid in new for child in children.get(pid, ()) if child not in found]
        found.update(new)
    return tuple(sorted(found - {os.getpid()}))


def end_all(mark: str, leader: int, *, waited_for: bool = False, since: int | None = None) -> int:
    """Kill every process of one run. Blocking; never raises.

    Processes that start in the meantime are found in the next round, until none is left.

    Args:
        mark: The mark in their environment.
        leader: The first process, which is the leader of a group.
        waited_for: It has been waited for: its id may belong to another process by now, and only
            its group counts.
        since: See :func:`members`.

    Returns:
        How many were killed besides the leader.
    """
    killed: set[int] = set()
    for number in range(_ROUNDS):
        # Before anything is killed: children of ended processes get another parent.
        alive = members(mark, None if waited_for else leader, since=since)
        if number == 0 and sys.platform != "win32":
            with contextlib.suppress(OSError):
                os.killpg(leader, signal.SIGKILL)
        if not alive:
            break
        for pid in alive:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if killed.issuperset(alive):
            threading.Event().wait(_PAUSE_S)  # they have been signaled and are about to end
        killed.update(alive)
    return len(killed - {leader})


def end_marked(mark: str) -> bool:
    """Kill every process with a mark; return whether there was any. Blocking; never raises."""
    alive = members(mark)
    if alive:
        end_all(mark, alive[0], waited_for=True)
    return bool(alive)


def _look() -> dict[int, _ProcessStat]:
    """Return every process of this user that is not a zombie."""
    found: dict[int, _ProcessStat] = {}
    try:
        entries = list(os.scandir(_PROC))
    except OSError:
        return found
    user = os.getuid()
    for entry in entries:
        if not entry.name.isdecimal():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            if entry.stat().st_uid != user:
                continue
            text = Path(entry.path, "stat").read_text("utf-8", "replace")
            fields = text.rpartition(")")[2].split()
            if fields[0] in {"Z", "X"}:
                continue
            numbers = (int(fields[each]) for each in (_PARENT, _SESSION, _BEGAN))
            found[int(entry.name)] = _ProcessStat(int(entry.name), *numbers)
    return found


def _carries(pid: int, mark: str) -> bool:
    try:
        raw = _environment(_PROC / str(pid))
    except OSError:
        return False
    name = MARK.encode() + b"="
    for variable in raw.split(b"\0"):
        if variable.startswith(name):
            return mark.encode() in variable[len(name) :].split(b":")
    return False


def _environment(process: Path) -> bytes:
    """Return the environment of a process, as its program began with it.

    While a process changes to another program, the kernel reports neither arguments nor an
    environment; that lasts longer on a busy machine, and its parent already counts it as started.

    Raises:
        OSError: The process ended.
    """
    for _ in range(_ROUNDS):
        found = (process / "environ").read_bytes()
        if found or not _changes_program(process):
            return found
        threading.Event().wait(_PAUSE_S)
    return b""


def _changes_program(process: Path) -> bool:
    """Return whether a process without an environment is about to get one.

    A thread of the kernel has no program; a program that was given an empty environment still has
    arguments.
    """
    try:
        (process / "exe").readlink()
    except OSError:
        return False
    return not (process / "cmdline").read_bytes()
