"""Long polling of Telegram; updates are acknowledged only once they are stored here."""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes_desktop.gateway.platforms.telegram.records import Incoming, RefusalError

log = logging.getLogger(__name__)

_Place = tuple[str, str, str]


def groups_of(batch: Sequence[Incoming]) -> list[list[Incoming]]:
    """Group updates in order; related ones are grouped even if other senders wrote in between."""
    groups: list[list[Incoming]] = []
    latest: dict[_Place, list[Incoming]] = {}
    for update in batch:
        place = (update.chat_id, update.user_id, update.thread_id)
        group = latest.get(place)
        if group is not None and _belongs_to(update, group[-1]):
            group.append(update)
        else:
            latest[place] = [update]
            groups.append(latest[place])
    return groups


def may_go_on(batch: Sequence[Incoming]) -> bool:
    """Return whether further parts of a message may be pending."""
    latest = {(each.chat_id, each.user_id, each.thread_id): each for each in batch}
    return any(each.goes_on for each in latest.values())


def _belongs_to(update: Incoming, last: Incoming) -> bool:
    if not last.goes_on or update.album_id != last.album_id:
        return False
    if not update.kind == last.kind == "message":
        return False
    if update.album_id:
        return True
    texts = bool(update.text) and update.forwarded_from == last.forwarded_from
    return texts and not update.attachments and not update.text.startswith("/")


CONFLICT, UNKNOWN_TOKEN = 409, frozenset({401, 404})
_TOO_MANY = 429
_KEEPING_S = 2.0
_ALBUM_S = 0.4
_MOST_ROUNDS = 5
"""Limit of the rounds that wait for further parts while more of them arrive."""
_LONGEST_WAIT_S = 20.0
"""The longest accepted retry delay; for a longer one polling fails with an error."""
_KNOWN = 500
_AGAIN_S = 1.0
"""The pause after a response without news that came earlier than requested."""
_LAST_WORD_S = 1.0
_TRIES = 3
_PAUSES_S = (0.3, 1.0, 3.0)

Kept = asyncio.Future[None]


class Source(Protocol):
    """The source of updates."""

    async def poll(self, offset: int | None, wait_s: int, limit: int = 100) -> list[Incoming]:
        """Wait for updates."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why polling cannot continue."""

    code: str
    words: str
    retryable: bool = True


@dataclass(slots=True)
class ConflictCount:
    """Count of consecutive conflicts with another poller of the bot; outlives connections."""

    number: int = 0


class Poller:
    """Long polling. The server forgets an update when the next one is requested, no sooner.

    Updates that are not stored yet are requested again every two seconds, together with new ones,
    so that a chat that accepts its messages slowly does not block others.

    Args:
        source: The API.
        wait_s: How long the server waits before an empty response.
        hand_over: Accepts new updates in order; returns a future for each, which is done when the
            update need not be delivered again.
        heard: Called at each response.
        pause: Waits for the given number of seconds.
    """

    def __init__(
        self,
        source: Source,
        wait_s: int,
        hand_over: Callable[[Sequence[Incoming]], Sequence[Kept]],
        heard: Callable[[], None],
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._source = source
        self._wait_s = wait_s
        self._hand_over = hand_over
        self._heard = heard
        self._pause = pause
        self._handed: dict[int, Kept] = {}
        self._next: int | None = None
        self._asked_from: int | None = None
        self._call: asyncio.Task[list[Incoming]] | None = None
        self._answered = asyncio.Event()
        self._quick = self._hurried = False
        self._seen: OrderedDict[tuple[int, str], None] = OrderedDict()

    async def run(self) -> Failure:
        """Poll until an error occurs that a retry does not fix; return that error."""
        troubles = 0
        while True:
            try:
                batch = await self._ask()
            except (RefusalError, OSError) as error:
                failure = self._judge(error, troubles)
                if failure is not None:
                    return failure
                self._forget()
                await self._pause(_wait_after(error, troubles))
                troubles += 1
                continue
            if batch is None:  # cancelled to poll again
                continue
            troubles = 0
            self._heard()
            self._answered.set()
            await self._take(batch)
            if not batch and self._hurried:  # it did not wait although requested
                await self._pause(_AGAIN_S)

    async def first_answer(self) -> Failure | None:
        """Check whether polling is possible, without accepting anything; None: it is."""
        for troubles in range(_TRIES):
            try:
                await self._source.poll(None, 0, 1)
            except (RefusalError, OSError) as error:
                failure = self._judge(error, troubles)
                if failure is not None:
                    return failure
                await self._pause(_wait_after(error, troubles))
            else:
                break
        return None

    async def poll_again(self) -> None:
        """Cancel the running request, and return when a new one was answered."""
        self._answered.clear()
        self._quick = True
        if self._call is not None:
            self._call.cancel()
        await self._answered.wait()

    async def acknowledge_rest(self) -> None:
        """Acknowledge what was stored since the last request."""
        if self._next is not None and self._next != self._asked_from:
            with contextlib.suppress(RefusalError, OSError):
                async with asyncio.timeout(_LAST_WORD_S):
                    await self._source.poll(self._next, 0, 1)

    # Helpers

    async def _ask(self) -> list[Incoming] | None:
        at_once = self._quick or bool(self._handed)
        self._quick = False
        self._asked_from = self._next
        wait_s = 0 if at_once else self._wait_s
        began = time.monotonic()
        call = self._call = asyncio.ensure_future(self._source.poll(self._next, wait_s))
        try:
            await asyncio.wait({call})
        finally:
            self._call = None
            if not call.done():
                call.cancel()
                await asyncio.wait({call})
        if call.cancelled():
            return None
        self._hurried = time.monotonic() - began < min(_AGAIN_S, wait_s) / 2
        return call.result()

    def _judge(self, error: Exception, troubles: int) -> Failure | None:
        """Return what an error means; None: poll again."""
        code = error.code if isinstance(error, RefusalError) else 0
        if code in UNKNOWN_TOKEN:
            return Failure("bad_token", f"Telegram rejected the token: {error}.", retryable=False)
        if code == _TOO_MANY:
            wait = _wait_after(error, troubles)
            if wait <= _LONGEST_WAIT_S:
                return None
            return Failure("rate_limited", f"Telegram requires a pause of {wait:.0f} s: {error}.")
        log.info("A request to Telegram failed: %s", error)
        if troubles + 1 < _TRIES:
            return None
        if code == CONFLICT:
            return Failure(
                "conflict", f"Another program fetches the messages of this bot: {error}."
            )
        return Failure("connection_lost", str(error) or "Telegram does not respond.")

    def _forget(self) -> None:
        """Drop the acknowledged position: the server may be another one by now."""
        self._handed.clear()
        self._next = None

    async def _take(self, batch: list[Incoming]) -> None:
        again = bool(batch) and all(_name(each) in self._seen for each in batch)
        fresh = self._fresh(batch)
        if may_go_on(fresh):
            fresh = await self._with_rest(fresh)
        if fresh:
            for update, kept in zip(fresh, self._hand_over(fresh), strict=True):
                self._handed[update.update_id] = kept
                self._see(update)
        if self._handed:
            await self._wait_for_keeping(is_new=bool(fresh))
        if again and not self._handed:  # a server that forgets nothing is not polled without pause
            await self._pause(_AGAIN_S)

    def _fresh(self, batch: list[Incoming]) -> list[Incoming]:
        """Return the updates that were not passed on yet, each once."""
        return list(dict.fromkeys(each for each in batch if each.update_id not in self._handed))

    def _see(self, update: Incoming) -> None:
        self._seen[_name(update)] = None
        if len(self._seen) > _KNOWN:
            self._seen.popitem(last=False)

    async def _with_rest(self, fresh: list[Incoming]) -> list[Incoming]:
        for _ in range(_MOST_ROUNDS):
            await self._pause(_ALBUM_S)
            try:
                more = self._fresh(await self._source.poll(self._asked_from, 0))
            except (RefusalError, OSError):
                break
            if len(more) <= len(fresh):
                break
            fresh = more
            if not may_go_on(fresh):
                break
        return fresh

    async def _wait_for_keeping(self, *, is_new: bool) -> None:
        waiting = [kept for kept in self._handed.values() if not kept.done()]
        if waiting:
            when = asyncio.ALL_COMPLETED if is_new else asyncio.FIRST_COMPLETED
            try:
                await asyncio.wait(waiting, timeout=_KEEPING_S, return_when=when)
            finally:  # also when there are no more polls
                self._count_kept()
        else:
            self._count_kept()

    def _count_kept(self) -> None:
        """Set the next position: all updates before it are stored."""
        unkept = [number for number, kept in self._handed.items() if not _is_kept(kept)]
        last = max(self._handed)
        self._next = min(unkept) if unkept else last + 1
        self._handed = {n: kept for n, kept in self._handed.items() if n >= self._next}


def _wait_after(error: Exception, troubles: int) -> float:
    asked = error.retry_after if isinstance(error, RefusalError) else None
    return asked or _PAUSES_S[min(troubles, len(_PAUSES_S) - 1)]


def _name(update: Incoming) -> tuple[int, str]:
    return update.update_id, update.message_id


def _is_kept(kept: Kept) -> bool:
    return kept.done() and not kept.cancelled()
