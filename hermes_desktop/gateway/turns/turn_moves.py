"""Leases of the further sessions to which a turn moves, e.g. after a compaction."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks, WaitAbandonedError


@contextlib.asynccontextmanager
async def follow_leases(agent: Any, leases: KeyedLocks, tasks: TaskSet) -> AsyncIterator[None]:
    """Hold the lease of each session that the agent moves to, until its turn is over.

    Args:
        agent: Reports moves through its ``on_moved``, on the turn's thread; one without it never
            moves.
        leases: One turn per session.
        tasks: Runs the tasks that hold the leases.
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
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it all leases
            loop.call_soon_threadsafe(start, session_id)

    agent.on_moved = moved
    try:
        yield
    finally:
        agent.on_moved = None
        over.set()


async def _quietly(holding: Any) -> None:
    # The lease was held by another turn until this one was over.
    with contextlib.suppress(WaitAbandonedError):
        await holding
