"""Detection of pairing changes made by another program, such as ``hermes pairing``."""

import os
from pathlib import Path

_FOLDERS = (Path("platforms") / "pairing", Path("pairing"))
_SUFFIX = ".json"


class PairingWatch:
    """Compares the pairing files with those of the last check. Blocking, one thread.

    A check takes about 20 µs; a window makes several a second.

    Args:
        home: The Hermes home.
    """

    def __init__(self, home: Path) -> None:
        self._folders = tuple(home / folder for folder in _FOLDERS)
        self._seen = self._files()

    def look(self) -> bool:
        """Return whether a file changed since the last check."""
        before, self._seen = self._seen, self._files()
        return before != self._seen

    def _files(self) -> frozenset[tuple[str, int, int, int]]:
        return frozenset(each for folder in self._folders for each in _files_of(folder))


def _files_of(folder: Path) -> list[tuple[str, int, int, int]]:
    try:
        with os.scandir(folder) as entries:
            found = [(each.path, each.stat()) for each in entries if each.name.endswith(_SUFFIX)]
    except OSError:  # there is none, or a file was deleted just now
        return []
    return [(path, stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in found]
