"""Other processes that have the store open, as far as the system reveals them."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.processes.program_names import arguments_of, is_own, may_be_hermes

_PROC = Path("/proc")
_COMPANIONS = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has the file open.

    Attributes:
        name: Its command, "" if unknown.
    """

    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name or 'a program'} (process {self.pid})"


@dataclass(frozen=True, slots=True)
class Holders:
    """The result of a scan of all processes.

    Attributes:
        seen: Other processes that have the file or one of its companions open.
        hidden: How many processes could not be inspected (another user's, for example); any of them
            may have the file open as well.
        hidden_pids: Their process ids, where known.
    """

    seen: tuple[Holder, ...]
    hidden: int = 0
    hidden_pids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(str, self.seen))


def other_holders(path: Path) -> Holders:
    """Return the other processes that have the store open. Opens none of its files."""
    wanted = set(_identities(path))
    if not wanted:
        return Holders(())
    look = _in_proc if sys.platform == "linux" else _by_psutil
    return look(path, wanted)


def foreign_holders(path: Path) -> tuple[Holder, ...]:
    """Return programs other than this one that have the store open, or may have it open.

    A process that cannot be inspected may have it open, unless its command line, which every user
    can read, names another program than ``hermes``: on any machine most processes of other users
    are hidden, and none of them would ever disappear. Opens none of its files.
    """
    holders = other_holders(path)
    seen = [each for each in holders.seen if not _is_own(each.pid)]
    hidden = [Holder(pid, _name(_PROC / str(pid))) for pid in holders.hidden_pids if _may_be(pid)]
    return tuple(seen + hidden)


def _is_own(pid: int) -> bool:
    try:
        return is_own(_arguments(pid))
    except OSError:
        return False


def _may_be(pid: int) -> bool:
    try:
        arguments = _arguments(pid)
    except FileNotFoundError:  # it has just ended
        return False
    except OSError:
        return True
    return may_be_hermes(arguments) and not is_own(arguments)


def _arguments(pid: int) -> list[str]:
    """Return the command line of a process.

    Raises:
        OSError: It cannot be read.
    """
    return arguments_of(pid) if sys.platform == "linux" else _arguments_by_psutil(pid)


def _arguments_by_psutil(pid: int) -> list[str]:
    import psutil  # noqa: PLC0415 - only where there is no /proc

    try:
        return list(psutil.Process(pid).cmdline())
    except psutil.NoSuchProcess:
        raise FileNotFoundError(pid) from None
    except psutil.Error as error:
        raise PermissionError(pid) from error


def _identities(path: Path) -> Iterator[tuple[int, int]]:
    for end in _COMPANIONS:
        try:
            found = os.stat(f"{path}{end}")  # noqa: PTH116 - the name may be any text
        except OSError:
            continue
        yield found.st_dev, found.st_ino


def _in_proc(_: Path, wanted: set[tuple[int, int]]) -> Holders:
    seen: list[Holder] = []
    hidden: list[int] = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if any(_is_one_of(number, wanted) for number in (entry / "fd").iterdir()):
                seen.append(Holder(int(entry.name), _name(entry)))
        except PermissionError:
            hidden.append(int(entry.name))
        except OSError:  # it has just ended
            continue
    ordered = tuple(sorted(seen, key=lambda holder: holder.pid))
    return Holders(ordered, len(hidden), tuple(hidden))


def _is_one_of(descriptor: Path, wanted: set[tuple[int, int]]) -> bool:
    try:
        found = descriptor.stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) in wanted


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _by_psutil(path: Path, _: set[tuple[int, int]]) -> Holders:
    import psutil  # noqa: PLC0415 - only where there is no /proc

    names = {str(path.absolute()) + end for end in _COMPANIONS}
    seen: list[Holder] = []
    hidden: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and any(f.path in names for f in process.open_files()):
                seen.append(Holder(process.pid, process.name()))
        except psutil.AccessDenied:
            hidden.append(process.pid)
        except psutil.Error:
            continue
    return Holders(tuple(seen), len(hidden), tuple(hidden))
