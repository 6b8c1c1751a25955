"""The outbox of the gateway: replies owed to chats, their delivery state, and unreachable chats.

A reply is recorded before it is sent, and each step is recorded before it starts: after a crash at
any point, the next start knows whether a reply was not sent, may have arrived, or arrived. A reply
that cannot be recorded is sent nevertheless.
"""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.gateway.platforms.base import ErrorKind
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_files import read_json
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
        self,
        name: str | None,
        state: ObligationState,
        error: str | None = None,
        *,
        certainly_not_sent: bool = False,
    ) -> None:
        """Record the outcome of a reply.

        Args:
            name: The reply.
            state: ``delivered``, ``failed``, ``abandoned``, or again ``pending`` when it certainly
                was not sent.
            error: Why it did not arrive.
            certainly_not_sent: This attempt did not send it, whatever earlier ones did.
        """
        if name is not None:
            await self._noting(lambda: self._store.set_state(name, state, error))
            self._in_flight.discard(name)
            if state == "failed" and not certainly_not_sent:
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


_FILE = Path("gateway") / "dead_targets.json"
_REASON_LENGTH = 200
_DEAD = frozenset({"forbidden", "not_found"})


def means_unreachable(kind: ErrorKind | None) -> bool:
    """Return whether a platform's error means that a chat cannot be written to any more."""
    return kind in _DEAD


class DeadTargets:
    """The unreachable chats, on the disk of a home. Blocking; any thread may use it.

    What cannot be read or written is logged: it costs an extra attempt, never a reply.

    Args:
        home: The home.
    """

    def __init__(self, home: Path, clock: Clock | None = None) -> None:
        self._path = home / _FILE
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._entries: dict[str, Any] = {}

    def is_dead(self, platform: str, chat_id: str) -> bool:
        """Return whether a chat is known to be unreachable."""
        with self._lock:
            return _key(platform, chat_id) in self._read()

    def mark(self, platform: str, chat_id: str, reason: str) -> None:
        """Record that a chat is unreachable."""
        with self._lock:
            entry = {
                "platform": platform,
                "chat_id": chat_id,
                "reason": reason[:_REASON_LENGTH],
                "marked_at": self._clock.time(),
            }
            self._write({**self._read(), _key(platform, chat_id): entry})

    def clear(self, platform: str, chat_id: str) -> bool:
        """Record that a chat is reachable: it sent or accepted a text. True if it was dead."""
        with self._lock:
            entries = dict(self._read())
            if entries.pop(_key(platform, chat_id), None) is None:
                return False
            self._write(entries)
            return True

    def _read(self) -> dict[str, Any]:
        try:
            state = self._path.stat()
        except OSError:
            self._seen, self._entries = None, {}
            return self._entries
        seen = (state.st_mtime_ns, state.st_size)
        if seen != self._seen:
            data = read_json(self._path)
            self._entries = dict(data) if isinstance(data, Mapping) else {}
            self._seen = seen
        return self._entries

    def _write(self, entries: dict[str, Any]) -> None:
        self._entries = entries
        try:
            make_private_folder(self._path.parent)
            write_text_atomic(self._path, json.dumps(entries, indent=2))
            state = self._path.stat()
            self._seen = (state.st_mtime_ns, state.st_size)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path, error)


def _key(platform: str, chat_id: str) -> str:
    return f"{platform.strip().lower()}:{chat_id.strip()}"
