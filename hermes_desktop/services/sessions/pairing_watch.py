"""Notices that another program, such as ``hermes pairing``, changed who may write to the bots."""

import os
from pathlib import Path

_FOLDERS = (Path("platforms") / "pairing", Path("pairing"))
_SUFFIX = ".json"


class PairingWatch:
    """Compares the files of pairing with those of the last look. Blocking, one thread.

    A look takes some 20 µs: a window makes several a second.

    Args:
        home: The Hermes home.
    """

    def __init__(self, home: Path) -> None:
        self._folders = tuple(home / folder for folder in _FOLDERS)
        self._seen = self._files()

    def look(self) -> bool:
        """Whether one is another than at the last look."""
        before, self._seen = self._seen, self._files()
        return before != self._seen

    def _files(self) -> frozenset[tuple[str, int, int, int]]:
        return frozenset(each for folder in self._folders for each in _files_of(folder))


def _files_of(folder: Path) -> list[tuple[str, int, int, int]]:
    try:
        with os.scandir(folder) as entries:
            found = [(each.path, each.stat()) for each in entries if each.name.endswith(_SUFFIX)]
    except OSError:  # there is none, or a file went away just now
        return []
    return [(path, stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in found]
