"""Files that are either the old ones or the new ones, whatever happens in between."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_text_atomic(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Replace a file's content in one step.

    The bytes are written to a temporary file beside the target, flushed to the disk and renamed
    over it. An existing file keeps its mode; a symbolic link keeps pointing at its target.

    Args:
        path: The file. Its folder must exist.
        text: Its new content, stored as UTF-8.
        mode: Rights of a file that did not exist before.

    Raises:
        OSError: The folder is missing, full or not writable; the old file is untouched.
    """
    target = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        mode = target.stat().st_mode & 0o7777
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets us."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
