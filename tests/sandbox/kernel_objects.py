"""Objects of the kernel that belong to no file: shared memory, semaphores, queues of messages."""

import contextlib
import ctypes
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

_SIZE, _CREATE, _REMOVE = 64, 0o1000 | 0o600, 0
_MQ_OPEN, _MQ_UNLINK = {"x86_64": (240, 241), "aarch64": (180, 181)}.get(os.uname().machine, (0, 0))


class KernelObjects:
    """One object of each kind, for the length of a ``with`` block.

    Attributes:
        key: The key of the System V objects.
        name: The name of the POSIX objects.
    """

    def __init__(self) -> None:
        self.key = secrets.randbelow(2**30) + 1
        self.name = f"hermes-{secrets.token_hex(4)}"
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.shmat.restype = ctypes.c_void_p
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        libc, key = self._libc, self.key
        segment = libc.shmget(key, _SIZE, _CREATE)
        self._stack.callback(libc.shmctl, segment, _REMOVE, None)
        self._shared = libc.shmat(segment, None, 0)
        self._stack.callback(libc.shmdt, ctypes.c_void_p(self._shared))
        semaphores = libc.semget(key, 1, _CREATE)
        self._stack.callback(libc.semctl, semaphores, 0, _REMOVE)
        queue = libc.msgget(key, _CREATE)
        self._stack.callback(libc.msgctl, queue, _REMOVE, None)
        name = self.name.encode()
        messages = libc.syscall(_MQ_OPEN, name, os.O_CREAT | os.O_RDWR, 0o600, None)
        if messages >= 0:
            os.close(messages)
            self._stack.callback(libc.syscall, _MQ_UNLINK, name)
        self._file = Path("/dev/shm", self.name)
        self._file.write_bytes(b"kept")
        self._stack.callback(self._file.unlink, missing_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def were_changed(self) -> bool:
        """Return whether the shared memory was written; it is put back."""
        return any(list(self._differences()))

    def _differences(self) -> Iterator[bool]:
        if ctypes.string_at(self._shared, 4) != bytes(4):
            ctypes.memset(self._shared, 0, 4)
            yield True
        if not self._file.exists() or self._file.read_bytes() != b"kept":
            self._file.write_bytes(b"kept")
            yield True
