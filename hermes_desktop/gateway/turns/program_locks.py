"""Conversation locks across all our programs, acquired asynchronously on the event loop.

Within a program :class:`KeyedLocks` decide whose turn it is; only the holder of that lease acquires
a lock here. Waiting occupies no thread: the files are polled.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TypeVar

from hermes_desktop.agent.turns.lock_texts import busy_elsewhere, problem_words, waiting_words
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice
from hermes_desktop.state.conversations.conversation_locks import (
    ConversationLock,
    ConversationLocks,
)

NOTICE_KEY = "conversation-locks"
LOOK_S = 0.1
_SHORT_TRIES = 4

T = TypeVar("T")


class ProgramLocks:
    """Holds the conversation locks for the turns of this program. On one event loop.

    Args:
        locks: The lock files; only used on the worker.
        worker: A thread for opening files.
        bus: Receives one notice if locks do not work.
    """

    def __init__(self, locks: ConversationLocks, worker: WorkerThreads, bus: EventBus) -> None:
        self._locks = locks
        self._worker = worker
        self._bus = bus

    @contextlib.asynccontextmanager
    async def hold(
        self,
        session_id: str,
        *,
        unless: asyncio.Event | None = None,
        waits: Callable[[str], None] = lambda _: None,
    ) -> AsyncIterator[None]:
        """Wait for the lock of a session's conversation and hold it for the block.

        Args:
            session_id: Any session of the conversation.
            unless: Ends the wait when it is set.
            waits: Called with a sentence about the lock's holder, whenever that changes.

        Raises:
            WaitAbandonedError: ``unless`` was set before the conversation was free.
            StateError: The shared file cannot be read.
        """
        async with self._attempt(session_id) as attempt:
            told = ""
            while not await self._worker.run(attempt.try_now):
                words = waiting_words(await self._worker.run(attempt.owner))
                if words != told:
                    waits(words)
                    told = words
                await _pause(unless)
            self._tell_problem()
            yield

    @contextlib.asynccontextmanager
    async def hold_now(self, session_id: str) -> AsyncIterator[None]:
        """Hold the lock of a session's conversation for the block, without waiting for it.

        Raises:
            BusyError: Another program holds it.
            StateError: The shared file cannot be read.
        """
        async with self._attempt(session_id) as attempt:
            for _ in range(_SHORT_TRIES):  # another process may only have checked it
                if await self._worker.run(attempt.try_now):
                    break
                await asyncio.sleep(LOOK_S / 2)
            else:
                raise busy_elsewhere(await self._worker.run(attempt.owner))
            self._tell_problem()
            yield

    @contextlib.asynccontextmanager
    async def _attempt(self, session_id: str) -> AsyncIterator[ConversationLock]:
        attempt = await self._worker.run(partial(self._locks.attempt, session_id))
        try:
            yield attempt
        finally:
            await self._give_back(attempt)

    async def _give_back(self, attempt: ConversationLock) -> None:
        """Release the lock on the worker, even on cancellation: after all calls queued there."""
        try:
            given_back = self._worker.submit(attempt.give_back)
        except RuntimeError:  # the program ends
            attempt.give_back()
            return
        await asyncio.wrap_future(given_back)

    def _tell_problem(self) -> None:
        problem = self._locks.take_problem()
        if problem:
            self._bus.publish(Notice("warning", *problem_words(problem), key=NOTICE_KEY))


async def _pause(unless: asyncio.Event | None) -> None:
    if unless is None:
        await asyncio.sleep(LOOK_S)
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOOK_S):
            await unless.wait()
    if unless.is_set():
        raise WaitAbandonedError
