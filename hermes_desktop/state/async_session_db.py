"""AsyncSessionDB: every method of SessionDB, awaitable."""

import functools
from typing import Any

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.state.session_db import SessionDB
from hermes_desktop.state.store_face import WritingFace

WRITES = frozenset(
    name
    for face in SessionDB.__mro__
    if issubclass(face, WritingFace)
    for name, value in vars(face).items()
    if callable(value) and (name == "_execute_write" or not name.startswith("_"))
)


class AsyncSessionDB:
    """Runs the methods of a SessionDB on worker threads; what is no method passes through.

    Args:
        db: The database, or any object with such methods; also at ``._db``.
        read: Workers for reads; made when needed if not given.
        write: Workers for writes; one thread keeps them in the order they were asked for.
    """

    def __init__(
        self,
        db: SessionDB,
        *,
        read: WorkerThreads | None = None,
        write: WorkerThreads | None = None,
    ) -> None:
        self._db = db
        self._read = read or WorkerThreads("state-read")
        self._write = write or WorkerThreads("state-write")
        self._own = [own for own, given in ((self._read, read), (self._write, write)) if not given]

    def close_workers(self) -> None:
        """End the worker threads this object made; those it was given, and the store, stay."""
        for workers in self._own:
            workers.close()

    def __getattr__(self, name: str) -> Any:
        target = getattr(self._db, name)
        if not callable(target):
            return target
        workers = self._write if name in WRITES else self._read

        @functools.wraps(target)
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await workers.run(target, *args, **kwargs)

        return call
