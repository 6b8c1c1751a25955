"""A lock between processes: fair, with a named owner, freed by the kernel, leaving no files behind.

Two files make one lock. The holder of the first may do its work; the holder of the second is the
next in line. A process that wants the lock again has to become the next in line first, and so
lets a waiting process pass. The files are removed by their holder while it holds them. Another
process may have opened such a file before; after locking it, it finds that the file no longer has
that name, and retries. A killed holder leaves its files, and the kernel frees their locks;
:func:`remove_leftovers` deletes them.
"""

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.files.atomic_files import make_private_folder, open_private

_TURN, _NEXT = ".turn", ".next"
_MOST_TRIES = 20
_MOST_READ = 1_000


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The holder of a lock.

    Attributes:
        pid: Its process id, 0 if unknown.
        program: The name that the process gives itself.
    """

    pid: int
    program: str

    def __str__(self) -> str:
        return f"{self.program} (process {self.pid})" if self.pid else self.program


class SharedLock:
    """One attempt to acquire a lock. Thread-safe; calls exclude each other and never wait long.

    Attributes:
        after_killed: The previous holder did not release the lock.

    Args:
        folder: The folder of the lock files; created if it is missing.
        name: The lock's name, fit for a file name.
        program: The holder's name, as shown to other processes.
    """

    def __init__(self, folder: Path, name: str, program: str) -> None:
        self._folder = folder
        self._name = name
        self._program = program
        self._guard = threading.Lock()
        self._next: _Taken | None = None
        self._turn: _Taken | None = None
        self._over = False
        self.after_killed = False

    def try_now(self) -> bool:
        """Acquire the lock if it is free, or queue for it.

        Raises:
            OSError: Locks do not work in this folder.
        """
        with self._guard:
            if self._over or self._turn is not None:
                return not self._over
            make_private_folder(self._folder)
            if self._next is None:
                self._next = _take(self._folder / f"{self._name}{_NEXT}")
            if self._next is None:
                return False
            self._turn = _take(self._folder / f"{self._name}{_TURN}")
            if self._turn is None:
                return False
            self.after_killed = self._turn.is_signed()
            self._turn.sign(self._program)
            self._next.give_back()
            self._next = None
            return True

    @property
    def held(self) -> bool:
        """Whether this attempt holds the lock."""
        return self._turn is not None

    def owner(self) -> LockOwner | None:
        """Return the holder of the lock, None if it is free.

        Raises:
            OSError: The holder cannot be determined.
        """
        return owner_of(self._folder, self._name)

    def give_back(self) -> None:
        """Release the lock, or leave the queue; this attempt cannot acquire it any more."""
        with self._guard:
            self._over = True
            for taken in (self._turn, self._next):
                if taken is not None:
                    taken.give_back()
            self._turn = self._next = None


def owner_of(folder: Path, name: str) -> LockOwner | None:
    """Return the holder of a lock, None if it is free. Creates no files.

    Raises:
        OSError: The holder cannot be determined.
    """
    try:
        descriptor = os.open(folder / f"{name}{_TURN}", os.O_RDWR | _SAFE)
    except FileNotFoundError:
        return None
    try:
        return None if _lock(descriptor, shared=True) else _signed(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path, killed: Callable[[str], object] = lambda _: None) -> None:
    """Delete the files of killed holders. Raises only what ``killed`` raises.

    Args:
        folder: The folder of the lock files.
        killed: Called with the name of each lock that such a holder had, while the lock is held.
    """
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.suffix in (_TURN, _NEXT):
                with contextlib.suppress(OSError):
                    taken = _take(path)
                    if taken is None:
                        continue
                    try:
                        if path.suffix == _TURN and taken.is_signed():
                            killed(path.stem)
                    finally:
                        taken.give_back()


@dataclass(frozen=True, slots=True)
class _Taken:
    """A locked file."""

    path: Path
    descriptor: int

    def is_signed(self) -> bool:
        """Return whether a holder wrote its name and did not remove it."""
        return os.fstat(self.descriptor).st_size > 0

    def sign(self, program: str) -> None:
        """Write the holder's name; the lock itself does not depend on it."""
        text = json.dumps({"pid": os.getpid(), "program": program})
        with contextlib.suppress(OSError):
            os.ftruncate(self.descriptor, 0)
            os.lseek(self.descriptor, 0, os.SEEK_SET)
            os.write(self.descriptor, text.encode())

    def give_back(self) -> None:
        """Remove the file and release its lock."""
        if sys.platform == "win32":  # an open file cannot be removed there
            os.close(self.descriptor)
            with contextlib.suppress(OSError):
                self.path.unlink()
            return
        try:
            with contextlib.suppress(OSError):
                self.path.unlink()
        finally:
            os.close(self.descriptor)


def _take(path: Path) -> _Taken | None:
    """Lock the file that has this name; None if it is locked already."""
    for _ in range(_MOST_TRIES):
        descriptor = open_private(path, os.O_RDWR | _SAFE)
        kept = False
        try:
            if not _lock(descriptor):
                return None
            if _is_named(descriptor, path):
                kept = True
                return _Taken(path, descriptor)
        finally:
            if not kept:
                os.close(descriptor)
    return None


def _is_named(descriptor: int, path: Path) -> bool:
    """Return whether the open file is still the one with that name."""
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def _signed(descriptor: int) -> LockOwner:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        found = json.loads(os.read(descriptor, _MOST_READ))
        return LockOwner(int(found["pid"]), str(found["program"]))
    except (OSError, ValueError, TypeError, KeyError):  # not written yet
        return LockOwner(0, "another program")


if sys.platform == "win32":
    import msvcrt

    _SAFE = os.O_BINARY
    _FAR = 1 << 30
    """Locks are mandatory on Windows: a lock at this offset leaves the content readable."""

    def _lock(descriptor: int, *, shared: bool = False) -> bool:  # noqa: ARG001 - there is one kind
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
else:
    import fcntl

    _SAFE = os.O_NOFOLLOW | os.O_CLOEXEC

    def _lock(descriptor: int, *, shared: bool = False) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
