"""A TCP relay whose connections can be cut without notification, like a cable.

async with relay(port) as cut:
    …                       # connect to cut.port
    cut.forwards = False    # connections stay open and carry nothing
    cut.drop()              # all are closed, at once
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Relay:
    """Forwards to a port of this machine while ``forwards`` is set."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.forwards = True
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self.drop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop(self) -> None:
        """Close all connections."""
        for writer in self._open:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, back}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._carry(reader, back))
                group.create_task(self._carry(there, writer))
        except* OSError:
            pass
        finally:
            for each in (writer, back):
                self._open.discard(each)
                each.transport.abort()
            self._tasks.discard(task)

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if self.forwards:
                target.write(data)
                await target.drain()
        target.transport.abort()


@contextlib.asynccontextmanager
async def relay(target: int) -> AsyncIterator[Relay]:
    """Run a relay during the block."""
    made = Relay(target)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
