"""Who else has the store open, as far as the system lets us see."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPANIONS = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has the file open.

    Attributes:
        name: Its command, "" if it cannot be told.
    """

    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name or 'a program'} (process {self.pid})"


@dataclass(frozen=True, slots=True)
class Holders:
    """What a look at all processes found.

    Attributes:
        seen: Other processes that have the file or one of its companions open.
        hidden: How many processes could not be looked into (another user's, say); any of them
            may hold the file as well.
    """

    seen: tuple[Holder, ...]
    hidden: int = 0

    def __str__(self) -> str:
        return ", ".join(map(str, self.seen))


def other_holders(path: Path) -> Holders:
    """Look which other processes have the store open. Opens none of its files."""
    wanted = set(_identities(path))
    if not wanted:
        return Holders(())
    look = _in_proc if sys.platform == "linux" else _by_psutil
    return look(path, wanted)


def _identities(path: Path) -> Iterator[tuple[int, int]]:
    for end in _COMPANIONS:
        try:
            found = os.stat(f"{path}{end}")  # noqa: PTH116 - the name may be any text
        except OSError:
            continue
        yield found.st_dev, found.st_ino


def _in_proc(_: Path, wanted: set[tuple[int, int]]) -> Holders:
    seen: list[Holder] = []
    hidden = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if any(_is_one_of(number, wanted) for number in (entry / "fd").iterdir()):
                seen.append(Holder(int(entry.name), _name(entry)))
        except PermissionError:
            hidden += 1
        except OSError:  # it has just ended
            continue
    return Holders(tuple(sorted(seen, key=lambda holder: holder.pid)), hidden)


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
    hidden = 0
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and any(f.path in names for f in process.open_files()):
                seen.append(Holder(process.pid, process.name()))
        except psutil.AccessDenied:
            hidden += 1
        except psutil.Error:
            continue
    return Holders(tuple(seen), hidden)
