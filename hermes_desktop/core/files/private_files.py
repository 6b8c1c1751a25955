"""Folders and files that only their owner can open, whatever the umask of the process is."""

import contextlib
import os
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_private_folder(path: Path, *, parents: bool = True) -> None:
    """Create a folder (0700) unless it exists; an existing folder keeps its mode.

    Args:
        path: The folder.
        parents: Create missing parents, with the same mode; otherwise a missing parent is an error.

    Raises:
        OSError: It cannot be created, or a file has its name.
    """
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileNotFoundError:
        if not parents or path.parent == path:
            raise
        make_private_folder(path.parent)
        make_private_folder(path, parents=False)
    except OSError:
        # Not only FileExistsError: a read-only file system refuses before it checks.
        if not path.is_dir():
            raise
    else:
        with contextlib.suppress(OSError):  # a file system without modes
            path.chmod(FOLDER_MODE)


def open_private(path: Path, flags: int) -> int:
    """Open a file and create it (0600) if it is missing; an existing file keeps its mode.

    Args:
        path: The file.
        flags: As for ``os.open``; with ``O_EXCL`` an existing file is an error.

    Returns:
        A descriptor that the caller must close.

    Raises:
        OSError: It cannot be opened or created.
    """
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        if flags & os.O_EXCL:
            raise
        return os.open(path, flags | os.O_CREAT, FILE_MODE)
    if hasattr(os, "fchmod"):
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, FILE_MODE)
    return descriptor
