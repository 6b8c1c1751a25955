"""Files beneath a folder, opened without following symbolic links.

Resolving a path and opening it afterwards leaves a moment in which another program can replace a
folder of the path by a link. Here the kernel resolves and opens in one step (``openat2``), or each
folder of the path is opened separately.
"""

import contextlib
import ctypes
import errno
import functools
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

_OPENAT2 = 437
"""The number of the system call; the same on all architectures of Linux that we support."""
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_ABSENT = frozenset({errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EINVAL})
"""Errors of a kernel without the call, and of a container that filters it."""
_HAS_FOLDERS = os.open in os.supports_dir_fd


class _How(ctypes.Structure):
    """``struct open_how`` of the kernel."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


_OpenCall = Callable[[int, str, int, int], int]


class OpenFolder:
    """A handle of a folder that stays valid if the folder is renamed. Close it after use.

    Paths are relative and have no ``..``. A symbolic link in the path is an error (``ELOOP`` or
    ``ENOTDIR``). On systems without folder descriptors (Windows) paths are joined instead.

    Args:
        path: The folder.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, _folder_flags()) if _HAS_FOLDERS else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        """Open a file or folder beneath, like ``os.open``.

        Args:
            path: Relative to the folder; ``.`` is the folder.
            flags: As for ``os.open``.
            mode: The mode of a file that is created, less the umask.

        Returns:
            A descriptor that the caller must close.

        Raises:
            OSError: It cannot be opened, or a link is on the way.
        """
        parts = _parts(path)
        if self._descriptor is None:
            return os.open(self.path.joinpath(*parts), flags, mode)
        call = _openat2()
        if call is not None and parts:
            return call(self._descriptor, "/".join(parts), flags | os.O_CLOEXEC, mode)
        return _walk(self._descriptor, parts or ["."], flags, mode)

    @contextlib.contextmanager
    def parent(self, path: str) -> Iterator[tuple[int | None, str]]:
        """Give the folder of a file, as ``dir_fd``, and the file's name in it.

        Where there are no folder descriptors, these are None and the whole path.

        Args:
            path: Relative to the folder; not the folder itself.

        Raises:
            OSError: It cannot be opened, or a link is on the way.
        """
        *folders, name = _parts(path)
        if self._descriptor is None:
            yield None, str(self.path.joinpath(*folders, name))
            return
        descriptor = self.open("/".join(folders) or ".", _folder_flags())
        try:
            yield descriptor, name
        finally:
            os.close(descriptor)

    def make_folders(self, path: str) -> None:
        """Create a folder beneath, and those above it, as far as they are missing.

        Raises:
            OSError: One cannot be created, or a link is on the way.
        """
        parts = _parts(path)
        for count in range(1, len(parts) + 1):
            above = self.parent("/".join(parts[:count]))
            # A link of that name is noticed by what follows.
            with above as (descriptor, name), contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=descriptor)

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        mode: int,
        mtime: int | None = None,
        last_look: Callable[[], None] = lambda: None,
    ) -> None:
        """Replace a file's content in one step; a link of that name is replaced itself.

        Args:
            path: The file. Its folder must exist.
            data: Its new content.
            mode: Its mode, whatever the umask is.
            mtime: When it was changed, in nanoseconds since the epoch; None: now.
            last_look: Called right before; an exception it raises keeps the old file.

        Raises:
            OSError: It cannot be written, or a link is on the way; the old file is untouched.
        """
        with self.parent(path) as (descriptor, name):
            folder, slash, last = name.rpartition("/")
            temporary = f"{folder}{slash}.{last[:100]}.{secrets.token_hex(6)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            handle = os.open(temporary, flags, 0o600, dir_fd=descriptor)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(data)
                    stream.flush()
                    _give_to_the_owner(stream.fileno(), descriptor, name)
                    if hasattr(os, "fchmod"):
                        os.fchmod(stream.fileno(), mode)
                    os.fsync(stream.fileno())
                if mtime is not None:
                    os.utime(temporary, ns=(mtime, mtime), dir_fd=descriptor)
                last_look()
                os.replace(temporary, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=descriptor)
                raise
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    os.fsync(descriptor)


def _give_to_the_owner(file: int, folder: int | None, name: str) -> None:
    """Preserve the owner of a file that is changed by another user, such as root."""
    if not hasattr(os, "fchown"):
        return
    with contextlib.suppress(OSError):
        old, new = os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(file)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.fchown(file, old.st_uid, old.st_gid)


def _folder_flags() -> int:
    return os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


def _parts(path: str) -> list[str]:
    if path.startswith("/") or "\0" in path:
        raise OSError(errno.EXDEV, "not a relative path", path)
    parts = [each for each in path.split("/") if each not in {"", "."}]
    if ".." in parts:
        raise OSError(errno.EXDEV, "not beneath the folder", path)
    return parts


def _walk(folder: int, parts: list[str], flags: int, mode: int) -> int:
    """Open each folder of the path separately, where the kernel cannot do it in one step."""
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    here = folder
    try:
        for name in parts[:-1]:
            inner = os.open(name, _folder_flags() | os.O_NOFOLLOW, dir_fd=here)
            if here != folder:
                os.close(here)
            here = inner
        return os.open(parts[-1], flags, mode, dir_fd=here)
    finally:
        if here != folder:
            os.close(here)


@functools.cache
def _openat2() -> _OpenCall | None:
    """Return the system call; None where the kernel lacks it."""
    if not sys.platform.startswith("linux"):
        return None
    syscall = ctypes.CDLL(None, use_errno=True).syscall

    def call(folder: int, path: str, flags: int, mode: int) -> int:
        mode = mode if flags & os.O_CREAT else 0  # the kernel refuses another one
        how = _How(flags, mode, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
        size = ctypes.c_size_t(ctypes.sizeof(how))
        while True:
            name = ctypes.c_char_p(os.fsencode(path))
            number, where = ctypes.c_long(_OPENAT2), ctypes.c_int(folder)
            got = int(syscall(number, where, name, ctypes.byref(how), size))
            if got >= 0:
                return got
            code = ctypes.get_errno()
            if code != errno.EINTR:
                raise OSError(code, os.strerror(code), path)

    descriptor = os.open("/", _folder_flags())
    try:
        os.close(call(descriptor, ".", os.O_RDONLY, 0))
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    finally:
        os.close(descriptor)
    return call
