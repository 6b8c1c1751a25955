"""Mutual exclusion of our processes, by a lock on a permanent file."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from hermes_desktop.core.files.atomic_files import open_private


@contextlib.contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold a lock file exclusively. Blocks until it is free; for short work off the loop.

    Threads of one process exclude each other, too. Programs that do not know the file are not
    kept out.

    Args:
        path: The lock file; created (0600) if missing, never deleted. Its folder must exist.

    Raises:
        OSError: It cannot be opened or locked.
    """
    descriptor = open_private(path, os.O_RDWR)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)  # this also releases the lock


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
