"""Resolution of the model's paths, and the permission to use them."""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.agent.tools.base import ToolContext, ToolError
from hermes_desktop.core.files.beneath import OpenFolder

MOST_BYTES = 20 * 1024 * 1024
_MARK = "[secret]"
_LED_ELSEWHERE = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EXDEV})
_NEW_FILE = 0o644


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


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file that may be used, to be opened beneath a folder without following links.

    Attributes:
        folder: The working folder, or the root of the disk.
        inside: Its path in that folder.
        path: Its canonical path.
        shown: Its name in messages to the model.
    """

    folder: Path
    inside: str
    path: Path
    shown: str

    @contextlib.contextmanager
    def opened(self) -> Iterator[OpenFolder]:
        """Open the folder for the block.

        Raises:
            ToolError: The path now contains a link, so it is not the file that was assessed.
        """
        try:
            with OpenFolder(self.folder) as folder:
                yield folder
        except OSError as error:
            if error.errno not in _LED_ELSEWHERE:
                raise
            raise ToolError(f"{self.shown} leads elsewhere now. Check it again.") from None

    def write(self, text: str, last_look: Callable[[], None] = lambda: None) -> None:
        """Replace the content of the file, and create it and its folders if they are missing.

        Args:
            text: The new content.
            last_look: Called right before; an exception it raises keeps the old file.

        Raises:
            ToolError: The path now contains a link.
            OSError: It cannot be written.
        """
        with self.opened() as folder:
            above = self.inside.rpartition("/")[0]
            if above:
                folder.make_folders(above)
            data = text.encode("utf-8", "replace")
            folder.replace(self.inside, data, mode=self._mode(folder), last_look=last_look)

    def _mode(self, folder: OpenFolder) -> int:
        try:
            descriptor = folder.open(self.inside, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError:
            return _NEW_FILE
        try:
            return stat.S_IMODE(os.fstat(descriptor).st_mode)
        finally:
            os.close(descriptor)


def for_reading(text: str, context: ToolContext) -> FilePlace:
    """Return a file that may be read; the user is asked where that is needed.

    Raises:
        ToolError: It may not be read, or is not a file.
    """
    path, outside = resolve(text, context)
    context.gate.read(str(path), context.session_id, context.cancel, outside=outside)
    return _placed(path, text, context)


def for_writing(text: str, context: ToolContext, content: str = "") -> FilePlace:
    """Return a file that may be written, with this content. Raises as :func:`for_reading`."""
    path, outside = resolve(text, context)
    if path.is_dir():
        raise ToolError(f"{text} is a folder.")
    gate, cancel = context.gate, context.cancel
    gate.write(str(path), context.session_id, cancel, outside=outside, text=content)
    return _placed(path, text, context)


def _placed(path: Path, shown: str, context: ToolContext) -> FilePlace:
    """Return the place of a canonical path; if it leads elsewhere later, that is another file."""
    for each in context.setup.roots:
        root = Path(os.path.realpath(each))
        if path == root or root in path.parents:
            return FilePlace(root, path.relative_to(root).as_posix(), path, shown)
    root = Path(path.anchor)
    return FilePlace(root, path.relative_to(root).as_posix(), path, shown)


Stamp = tuple[int, int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """Return what distinguishes one state of a file from another; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def require_unchanged(path: Path, shown: str, seen: Stamp | None) -> None:
    """Protect changes that another program has made since the file was read.

    Raises:
        ToolError: The file has changed since it was read.
    """
    if stamp_of(path) != seen:
        raise ToolError(
            f"{shown} has changed since you read it; nothing was written. Read it again."
        )


def read_text(place: FilePlace, *, exactly: bool = False, missing: str | None = None) -> str:
    """Return the text of a regular file.

    Args:
        place: The file.
        exactly: It will be written back: bytes that are not UTF-8 would be lost.
        missing: What to return where there is no file; None: that is an error.

    Raises:
        ToolError: There is none, it is not text, or it is too large.
    """
    shown = place.shown
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with place.opened() as folder:
            descriptor = folder.open(place.inside, flags)
    except FileNotFoundError:
        if missing is not None:
            return missing
        raise ToolError(f"There is no file {shown}.") from None
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, which cannot be opened
            raise ToolError(f"{shown} is not a regular file.") from None
        raise
    data = _content(descriptor, shown)
    if len(data) > MOST_BYTES:
        raise ToolError(f"{shown} is too large.")
    if b"\x00" in data[:8192]:
        raise ToolError(f"{shown} is not text ({len(data)} bytes).")
    try:
        return data.decode("utf-8", "strict" if exactly else "replace")
    except UnicodeDecodeError:
        raise ToolError(
            f"{shown} is not text in UTF-8; writing it back would damage it. Use another program."
        ) from None


def _content(descriptor: int, shown: str) -> bytes:
    """Return the content of a regular file, up to a little more than is allowed; closes it."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ToolError(f"{shown} is {what}.")
    with os.fdopen(descriptor, "rb") as stream:
        if status.st_size > MOST_BYTES:
            raise ToolError(f"{shown} is too large ({status.st_size} bytes).")
        # Some files of the kernel are endless and report a size of zero.
        return stream.read(MOST_BYTES + 1)


def refuse_marks(old: str, new: str) -> None:
    """Prevent the mark of a redacted secret from overwriting that secret.

    Raises:
        ToolError: The new text has more such marks than the old one.
    """
    if new.count(_MARK) > old.count(_MARK):
        raise ToolError(
            f"The text contains {_MARK}, which stands for a secret that you were not shown. Change "
            "only the parts around it, with patch."
        )
