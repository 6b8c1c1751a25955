"""Everything that can be seen of a home, to prove that a program changed nothing."""

import stat
from pathlib import Path

Tree = dict[str, tuple[int, int, bytes]]


def tree_of(folder: Path) -> Tree:
    """Return mode, time of change and content of each file and folder, by relative path.

    The folder itself is included; it may be missing, or a file.
    """
    if not folder.exists():
        return {}
    return {str(path.relative_to(folder)): _look(path) for path in (folder, *folder.rglob("*"))}


def _look(path: Path) -> tuple[int, int, bytes]:
    found = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
    return found.st_mode, found.st_mtime_ns, content
