"""Atomic replacement of files, and files and folders that only their owner can open.

A replaced file has its old or its new content, never a mixture. The modes of private files and
folders do not depend on the umask of the process.
"""

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable
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


_OLD_S = 60.0
"""Age from which a temporary file counts as abandoned by its writer."""


def write_text_atomic(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Replace a file's content in one step.

    The bytes are written to a temporary file next to the target, flushed to the disk and renamed
    over the target. An existing file keeps its mode; a symbolic link still points at its target.

    Args:
        path: The file. Its folder must exist.
        text: Its new content, stored as UTF-8.
        mode: Mode of a file that did not exist before.

    Raises:
        OSError: The folder is missing, full or not writable; the old file is untouched.
    """
    write_bytes_atomic(path, text.encode(), mode=mode)


def write_bytes_atomic(
    path: Path,
    data: bytes,
    *,
    mode: int = 0o600,
    last_look: Callable[[], None] = lambda: None,
) -> None:
    """Replace a file's content like :func:`write_text_atomic`, with bytes.

    Args:
        path: The file. Its folder must exist.
        data: Its new content.
        mode: Mode of a file that did not exist before.
        last_look: Called right before the rename; an exception it raises keeps the old file.

    Raises:
        OSError: The folder is missing, full or not writable; the old file is untouched.
    """
    target = Path(os.path.realpath(path))
    old: os.stat_result | None = None
    with contextlib.suppress(OSError):
        old = target.stat()
        mode = old.st_mode & 0o7777
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        _give_to_the_owner(temporary, old)
        temporary.chmod(mode)
        last_look()
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def remove_leftovers(path: Path) -> None:
    """Delete the temporary files that killed writers left next to a file.

    Args:
        path: The file; a writer that is still active has started within the last minute.
    """
    target = Path(os.path.realpath(path))
    ours = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.tmp")
    with contextlib.suppress(OSError):
        for each in target.parent.iterdir():
            if ours.fullmatch(each.name) and time.time() - each.stat().st_mtime > _OLD_S:
                each.unlink()


def _give_to_the_owner(file: Path, old: os.stat_result | None) -> None:
    """Preserve the owner of a file that is changed by another user, such as root."""
    if os.name != "posix" or old is None:
        return
    ours = file.stat()
    if (ours.st_uid, ours.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(OSError):
            os.chown(file, old.st_uid, old.st_gid)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable across a power cut, where the system supports it."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
