"""Resolution of the model's paths, and the permission to use them."""

import os
import stat
from pathlib import Path

from hermes_desktop.agent.tools.base import ToolContext, ToolError

MOST_BYTES = 20 * 1024 * 1024
_MARK = "[secret]"


def resolve(text: str, context: ToolContext) -> tuple[Path, bool]:
    """Return the file, with links resolved, and whether it is outside the allowed folders.

    Raises:
        ToolError: The path is invalid.
    """
    setup = context.setup
    if not text.strip():
        raise ToolError("The path is empty.")
    if text == "~" or text.startswith("~/"):
        text = str(setup.user_home) + text[1:]
    path = Path(os.path.realpath(setup.cwd / text))
    roots = [Path(os.path.realpath(each)) for each in setup.roots]
    return path, not any(path == root or root in path.parents for root in roots)


def for_reading(text: str, context: ToolContext) -> Path:
    """Return a file that may be read; the user is asked where that is needed.

    Raises:
        ToolError: It may not be read, or is not a file.
    """
    path, outside = resolve(text, context)
    context.gate.read(str(path), context.session_id, context.cancel, outside=outside)
    return _still(path, text)


def for_writing(text: str, context: ToolContext, content: str = "") -> Path:
    """Return a file that may be written, with this content. Raises as :func:`for_reading`."""
    path, outside = resolve(text, context)
    if path.is_dir():
        raise ToolError(f"{text} is a folder.")
    gate, cancel = context.gate, context.cancel
    gate.write(str(path), context.session_id, cancel, outside=outside, text=content)
    return _still(path, text)


def _still(path: Path, shown: str) -> Path:
    """Return the path if it is still the assessed file: it may have changed before the approval."""
    if os.path.realpath(path) != str(path):
        raise ToolError(f"{shown} leads elsewhere by now. Look at it again.")
    return path


Stamp = tuple[int, int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """Return what distinguishes one state of a file from another; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def require_unchanged(path: Path, shown: str, seen: Stamp | None) -> None:
    """Protect changes that another program made meanwhile.

    Raises:
        ToolError: The file has changed since it was read.
    """
    if stamp_of(path) != seen:
        raise ToolError(f"{shown} was changed meanwhile; nothing was written. Read it again.")


def read_text(path: Path, shown: str, *, exactly: bool = False) -> str:
    """Return the text of a regular file.

    Args:
        path: The file.
        shown: Its name in messages to the model.
        exactly: It will be written back: bytes that are not UTF-8 would be lost.

    Raises:
        ToolError: There is none, it is not text, or it is too large.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise ToolError(f"There is no file {shown}.") from None
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{shown} is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{shown} is no plain file.")
    if status.st_size > MOST_BYTES:
        raise ToolError(f"{shown} is too large ({status.st_size} bytes).")
    with path.open("rb") as stream:
        # Some files of the kernel are endless and report a size of zero.
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ToolError(f"{shown} is too large.")
    if b"\x00" in data[:8192]:
        raise ToolError(f"{shown} is no text ({status.st_size} bytes).")
    try:
        return data.decode("utf-8", "strict" if exactly else "replace")
    except UnicodeDecodeError:
        raise ToolError(
            f"{shown} is no text in UTF-8; writing it back would damage it. Use another program."
        ) from None


def refuse_marks(old: str, new: str) -> None:
    """Prevent the mark of a redacted secret from overwriting that secret.

    Raises:
        ToolError: The new text has more such marks than the old one.
    """
    if new.count(_MARK) > old.count(_MARK):
        raise ToolError(
            f"The text holds {_MARK}, which stands for a secret that you were not shown. Change "
            "only the parts around it, with patch."
        )
