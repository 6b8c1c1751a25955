"""Pairing requests: senders waiting for access to the bots of this home, and the answers."""

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
class PairingRequestView:
    """A sender who requests access.

    Attributes:
        entry_id: Identifies the request in the calls that answer it.
        user_name: The sender's name on the platform, "" if unknown; chosen by the sender.
        age_s: Age of the request in seconds; it expires after an hour.
    """

    platform: str
    entry_id: str
    user_id: str
    user_name: str
    age_s: float

    @property
    def label(self) -> str:
        """The name to display: the user name, else the id."""
        return self.user_name or self.user_id


class PairingRequests:
    """Asynchronous access to the pairing store for the window and the command line.

    Methods are awaited on the event loop and run on a worker thread. Each change is followed by
    :class:`PairingChanged`. All methods may raise :class:`HermesError` when the files cannot be
    written; nothing was changed then.

    Args:
        store: The pairing files.
        worker: The worker for blocking calls; with one thread, changes are made in call order.
        bus: The event bus for changes; the gateway publishes the same event for a new request.
        clock: The clock, for the age of requests.
    """

    def __init__(
        self, store: PairingStore, *, worker: WorkerThreads, bus: EventBus, clock: Clock
    ) -> None:
        self._store = store
        self._worker = worker
        self._bus = bus
        self._clock = clock

    async def pending(self) -> list[PairingRequestView]:
        """Return the waiting senders, the longest wait first."""
        requests = await self._worker.run(self._store.pending)
        now = self._clock.time()
        return [self._waiting(request, now) for request in requests]

    async def approved(self) -> list[PairedUser]:
        """Return the approved senders by platform, the latest first."""
        return await self._worker.run(self._store.approved)

    async def approve(self, platform: str, entry_id: str) -> PairedUser:
        """Approve the sender of a request.

        Raises:
            NotFoundError: The request is gone.
        """
        return await self._change(lambda: self._store.approve(platform, entry_id))

    async def approve_code(self, platform: str, code: str) -> PairedUser:
        """Approve the sender who was given this code.

        Raises:
            NotFoundError: No request has it. After five wrong codes this way is closed for an hour.
            RefusedError: Too many wrong codes were tried.
        """
        return await self._change(lambda: self._store.approve_code(platform, code))

    async def deny(self, platform: str, entry_id: str) -> PairingRequestView:
        """Delete a request without notifying its sender.

        Raises:
            NotFoundError: The request is gone.
        """
        request = await self._change(lambda: self._store.deny(platform, entry_id))
        return self._waiting(request, self._clock.time())

    async def revoke(self, platform: str, user_id: str) -> bool:
        """Revoke an approval; return False when there was none with that id.

        A sender who is also on an allowlist in the settings may still write.
        """
        return await self._change(lambda: self._store.revoke(platform, user_id))

    async def _change(self, change: Callable[[], T]) -> T:
        result = await self._worker.run(change)
        self._bus.publish(PairingChanged())
        return result

    @staticmethod
    def _waiting(request: PairingRequest, now: float) -> PairingRequestView:
        return PairingRequestView(
            request.platform,
            request.entry_id,
            request.user_id,
            request.user_name,
            max(0.0, now - request.created_at),
        )
