"""Files of a folder that also have a name outside it: changing them changes files elsewhere."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MOST_ENTRIES = 300_000
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class OutsideLinks:
    """What was found.

    Attributes:
        count: How many files have names outside the folder.
        names: Some of them, relative to the folder.
        complete: The search covered every entry.
    """

    count: int = 0
    names: tuple[str, ...] = ()
    complete: bool = True


@dataclass(slots=True)
class _Linked:
    names: int
    seen: int
    name: str


def outside_links(
    folder: Path, given_up: Callable[[], bool], *, most: int = MOST_ENTRIES
) -> OutsideLinks:
    """Count the files with more names than the folder shows. Blocking; follows no links.

    Args:
        folder: The folder.
        given_up: Ends the search; what was found until then is incomplete.
        most: The maximum number of entries to check.
    """
    found: dict[tuple[int, int], _Linked] = {}
    waiting, looked, complete = [folder], 0, True
    while waiting:
        if given_up() or looked >= most:
            complete = False
            break
        place = waiting.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    looked += 1
                    if looked > most:
                        complete = False
                        break
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    else:
                        _note(entry, folder, found)
        except OSError:
            complete = False
    outside = sorted(each.name for each in found.values() if each.names > each.seen)
    return OutsideLinks(len(outside), tuple(outside[:_MOST_NAMED]), complete)


def _note(entry: os.DirEntry[str], folder: Path, found: dict[tuple[int, int], _Linked]) -> None:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2:  # noqa: PLR2004 - its only name
        return
    known = found.get((status.st_dev, status.st_ino))
    if known is None:
        name = os.path.relpath(entry.path, folder)
        found[status.st_dev, status.st_ino] = _Linked(status.st_nlink, 1, name)
    else:
        known.seen += 1
