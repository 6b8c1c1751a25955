"""Private store of file contents, by their SHA-256."""

import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO

from hermes_desktop.core.files.atomic_files import make_private_folder, open_private

_CHUNK = 1 << 20
_YOUNG_S = 3600.0
"""Age up to which an unused content stays: a snapshot that is being taken may refer to it."""


class ContentChangedError(OSError):
    """A file changed while it was copied, or is larger than allowed."""


class ContentStore:
    """A store of contents. Thread-safe, and safe for several processes.

    Contents are written under another name and renamed, so that a killed writer leaves no half
    content. They are not flushed to the disk: after a power failure a content may be damaged, which
    :meth:`read` finds out.

    Args:
        folder: The folder of the contents; created with the first one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, digest: str) -> bool:
        """Return whether a content is there."""
        return self._path(digest).exists()

    def keep(self, source: int, size: int, given_up: Callable[[], bool]) -> str:
        """Copy an open file and return its digest.

        Args:
            source: A descriptor, at the beginning of the file.
            size: The size that the file has.
            given_up: Ends the copying.

        Raises:
            ContentChangedError: The file has another size by now, or the copying was given up.
            OSError: It cannot be read, or the store cannot be written.
        """
        if size <= _CHUNK:
            data = _read(source, size + 1)
            if len(data) != size:
                raise ContentChangedError("the file has changed")
            return self.keep_bytes(data)
        temporary, target = self._temporary()
        try:
            with os.fdopen(target, "wb") as stream:
                digest = _copy(source, stream, size, given_up)
            self._adopt(temporary, digest)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return digest

    def keep_bytes(self, data: bytes) -> str:
        """Store a content and return its digest.

        Raises:
            OSError: The store cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        if self.has(digest):
            return digest
        temporary, target = self._temporary()
        try:
            with os.fdopen(target, "wb") as stream:
                stream.write(data)
            self._adopt(temporary, digest)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return digest

    def read(self, digest: str) -> bytes:
        """Return a content.

        Raises:
            OSError: It is not there, or damaged.
        """
        data = self._path(digest).read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            raise OSError("the kept content is damaged")
        return data

    def size(self) -> int:
        """Return the size of all contents, in bytes."""
        total = 0
        for path in self._all():
            with contextlib.suppress(OSError):
                total += path.stat().st_size
        return total

    def remove_unused(self, used: Collection[str], now: float) -> None:
        """Delete contents that nothing refers to, and what killed writers left.

        Args:
            used: The digests that are referred to.
            now: Seconds since the epoch.
        """
        for path in self._all():
            with contextlib.suppress(OSError):
                unused = path.parent.name + path.name not in used
                if unused and now - path.stat().st_mtime > _YOUNG_S:
                    path.unlink()

    def _all(self) -> list[Path]:
        try:
            return [each for part in os.scandir(self._folder) if part.is_dir()
                    for each in Path(part.path).iterdir()]  # fmt: skip
        except OSError:
            return []

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]

    def _temporary(self) -> tuple[Path, int]:
        folder = self._folder / "tmp"
        make_private_folder(folder)
        path = folder / secrets.token_hex(12)
        return path, open_private(path, os.O_WRONLY | os.O_EXCL)

    def _adopt(self, temporary: Path, digest: str) -> None:
        path = self._path(digest)
        make_private_folder(path.parent)
        temporary.replace(path)


def _read(source: int, most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (data := os.read(source, min(most, _CHUNK))):
        parts.append(data)
        most -= len(data)
    return b"".join(parts)


def _copy(source: int, target: BinaryIO, size: int, given_up: Callable[[], bool]) -> str:
    digest, done = hashlib.sha256(), 0
    while done <= size and not given_up() and (data := os.read(source, _CHUNK)):
        done += len(data)
        digest.update(data)
        target.write(data)
    if done != size:
        raise ContentChangedError("the file has changed")
    return digest.hexdigest()
