"""Who waits to be let into the bots of this home, and the owner's answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PairingChanged
from hermes_desktop.gateway.access.pairing import PairedUser, PairingRequest, PairingStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WaitingUser:
    """Somebody who asks to be let in.

    Attributes:
        entry_id: Names the request in the calls that answer it.
        user_name: What the person is called there, "" if unknown; chosen by that person.
        age_s: How long ago they asked; after an hour the request is void.
    """

    platform: str
    entry_id: str
    user_id: str
    user_name: str
    age_s: float

    @property
    def label(self) -> str:
        """What to call them: the name, else the id."""
        return self.user_name or self.user_id


class PairingRequests:
    """For window and command line; awaited on the loop, works on a worker thread.

    Each change is followed by :class:`PairingChanged`. All methods may raise
    :class:`HermesError` when the files cannot be written; nothing was changed then.

    Args:
        store: The files.
        worker: Where it blocks; changes come in the order of the calls if it is one thread.
        bus: Hears of changes; the gateway publishes the same news when a request comes.
        clock: For the age of requests.
    """

    def __init__(
        self, store: PairingStore, *, worker: WorkerThreads, bus: EventBus, clock: Clock
    ) -> None:
        self._store = store
        self._worker = worker
        self._bus = bus
        self._clock = clock

    async def pending(self) -> list[WaitingUser]:
        """Who waits, the longest first."""
        requests = await self._worker.run(self._store.pending)
        now = self._clock.time()
        return [self._waiting(request, now) for request in requests]

    async def approved(self) -> list[PairedUser]:
        """Who was let in, by platform, the latest first."""
        return await self._worker.run(self._store.approved)

    async def approve(self, platform: str, entry_id: str) -> PairedUser:
        """Let the person of a request in.

        Raises:
            NotFoundError: The request is gone.
        """
        return await self._change(lambda: self._store.approve(platform, entry_id))

    async def approve_code(self, platform: str, code: str) -> PairedUser:
        """Let the person in who was given this code.

        Raises:
            NotFoundError: No request has it; five wrong codes close that way for an hour.
            RefusedError: Too many wrong codes were tried.
        """
        return await self._change(lambda: self._store.approve_code(platform, code))

    async def deny(self, platform: str, entry_id: str) -> WaitingUser:
        """Take a request away; the person hears nothing of it.

        Raises:
            NotFoundError: The request is gone.
        """
        request = await self._change(lambda: self._store.deny(platform, entry_id))
        return self._waiting(request, self._clock.time())

    async def revoke(self, platform: str, user_id: str) -> bool:
        """Let somebody in no longer; False when nobody of that id was.

        Who stands in a list of the settings besides may still write.
        """
        return await self._change(lambda: self._store.revoke(platform, user_id))

    async def _change(self, change: Callable[[], T]) -> T:
        result = await self._worker.run(change)
        self._bus.publish(PairingChanged())
        return result

    @staticmethod
    def _waiting(request: PairingRequest, now: float) -> WaitingUser:
        return WaitingUser(
            request.platform,
            request.entry_id,
            request.user_id,
            request.user_name,
            max(0.0, now - request.created_at),
        )
