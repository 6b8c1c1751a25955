"""A conversation that moves on while its turn runs is nobody else's there, either."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.concurrency.keyed_locks import GivenUpError, KeyedLocks


@contextlib.asynccontextmanager
async def leases_followed(agent: Any, leases: KeyedLocks, tasks: TaskSet) -> AsyncIterator[None]:
    """Hold the lease of each session that the agent goes on in, until its turn is over.

    Args:
        agent: Told through its ``on_moved``, on the turn's thread; one without it never moves.
        leases: One turn per conversation.
        tasks: Keeps what holds them.
    """
    if not hasattr(agent, "on_moved"):
        yield
        return
    loop = asyncio.get_running_loop()
    over = asyncio.Event()

    async def hold(session_id: str) -> None:
        async with leases.hold(session_id, unless=over):
            await over.wait()

    def start(session_id: str) -> None:
        if not over.is_set():
            tasks.start(_quietly(hold(session_id)), name="lease")

    def moved(session_id: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone, and everybody with it
            loop.call_soon_threadsafe(start, session_id)

    agent.on_moved = moved
    try:
        yield
    finally:
        agent.on_moved = None
        over.set()


async def _quietly(holding: Any) -> None:
    with contextlib.suppress(GivenUpError):  # somebody was there first, until the turn was over
        await holding
