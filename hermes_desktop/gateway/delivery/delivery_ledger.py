"""The outbox of the gateway: replies owed to chats, with their delivery state.

A reply is recorded before it is sent, and each step is recorded before it starts: after a crash at
any point, the next start knows whether a reply was not sent, may have arrived, or arrived. A reply
that cannot be recorded is sent all the same.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Obligation, Owner
from hermes_desktop.state.shared_tables.delivery_table import ObligationState, obligation_id

log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_ATTEMPTS = 3
MOST_AGE_S = 86_400.0


def is_running(owner: Owner | None) -> bool:
    """Return whether that very process still runs."""
    if owner is None or not process_facts.is_alive(owner.pid):
        return False
    return owner.started_at is None or process_facts.start_time(owner.pid) == owner.started_at


def _done(call: Callable[[Obligation], None], owed: Obligation) -> bool:
    call(owed)
    return True


class DeliveryLedger:
    """Records owed replies and finds abandoned ones. Used on the event loop.

    Args:
        store: The store of owed replies.
        workers: Worker threads for the store.
        clock: For the age of a reply.
    """

    def __init__(
        self, store: DeliveryStore, workers: WorkerThreads, *, clock: Clock | None = None
    ) -> None:
        self._store = store
        self._workers = workers
        self._clock = clock or SystemClock()
        self._in_flight: set[str] = set()
        self._tried_at: dict[str, float] = {}

    async def owe(
        self,
        *,
        session_key: str,
        platform: str,
        address: tuple[str, str | None],
        message_ref: str,
        text: str,
    ) -> str | None:
        """Record a reply; it counts as in flight until :meth:`settle`.

        Args:
            session_key: The chat's routing key.
            platform: The platform.
            address: Chat and thread.
            message_ref: What it answers.
            text: The whole reply.

        Returns:
            Its id; None when it could not be recorded.
        """
        name = obligation_id(session_key, message_ref, text)
        owed = Obligation(name, session_key, platform, *address, content=text)
        self._in_flight.add(name)
        if await self._noting(partial(_done, self._store.owe, owed)):
            return name
        self._in_flight.discard(name)
        return None

    async def attempting(self, name: str | None) -> None:
        """Record that a reply is being sent: from now on it may have arrived."""
        if name is not None:
            await self._noting(lambda: self._store.set_state(name, "attempting"))

    async def settle(
        self, name: str | None, state: ObligationState, error: str | None = None
    ) -> None:
        """Record the outcome of a reply.

        Args:
            name: The reply.
            state: ``delivered``, ``failed``, ``abandoned``, or again ``pending`` when it certainly
                was not sent.
            error: Why it did not arrive.
        """
        if name is not None:
            await self._noting(lambda: self._store.set_state(name, state, error))
            self._in_flight.discard(name)
            if state == "failed":
                self._tried_at[name] = self._clock.monotonic()
            else:
                self._tried_at.pop(name, None)

    async def forgive(self, name: str) -> None:
        """Undo the count of a later attempt that certainly did not send the reply."""
        await self._noting(lambda: self._store.forgive(name))

    def was_tried_again_lately(self, owed: Obligation, within_s: float) -> bool:
        """Return whether this run recently redelivered a reply without success."""
        tried_at = self._tried_at.get(owed.obligation_id)
        if tried_at is None or not owed.attempts:
            return False
        return self._clock.monotonic() - tried_at < within_s

    async def left_behind(self, platform: str) -> list[Obligation]:
        """Return the replies for a platform that no live process is delivering, oldest first."""
        owed = await self._noting(lambda: self._store.owed([platform])) or []
        us = self._store.owner
        return [
            each
            for each in owed
            if each.obligation_id not in self._in_flight
            and (each.owner == us or not is_running(each.owner))
        ]

    def abandon_reason(self, owed: Obligation) -> str:
        """Return why a reply is not to be retried; "" if it is."""
        if self._clock.time() - owed.created_at > MOST_AGE_S:
            return "it is too old"
        return "it was cut off several times" if owed.attempts >= MOST_ATTEMPTS else ""

    async def take_over(self, owed: Obligation) -> bool:
        """Claim a reply; return False when another process did, or the store is unavailable."""
        if owed.obligation_id in self._in_flight:
            return False
        self._in_flight.add(owed.obligation_id)
        if await self._noting(lambda: self._store.take_over(owed)):
            return True
        self._in_flight.discard(owed.obligation_id)
        return False

    async def _noting(self, call: Callable[[], T]) -> T | None:
        try:
            return await self._workers.run(call)
        except (HermesError, RuntimeError) as error:  # the latter: its thread is closed
            log.warning("The outbox cannot be used: %s", error)
            return None
