"""A reply that grows in its chat while it is being written: one message, changed now and then.

What stands there at the end is handed to whoever delivers the reply, who changes it for the last
time instead of sending the same text again.
"""

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.events import ToolStarted, TurnDelta
from hermes_desktop.gateway.config.config_policies import StreamingConfig
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.platforms.messages import Piece, SendResult, Shown

log = logging.getLogger(__name__)

MOST_STRIKES = 3
_CALL_S = 30.0
_SHARE = 4.0
"""A text that takes long to make ready is shown so many times that long after."""
_UNFINISHED = " …"
_NOT_YET = re.compile(r"[A-Za-z0-9_\-.:/+=]{1,200}\Z")
"""A word that still grows: it may be the beginning of a secret, which is known by its whole."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reply goes."""

    platform: Platform
    chat_id: str
    thread_id: str | None = None
    reply_to: str | None = None


@dataclass(slots=True)
class _Segment:
    """What is said without a tool between."""

    text: str = ""
    shown: list[Shown] = field(default_factory=list)


class ReplyStream:
    """Shows one reply. On the loop.

    What is said before a tool is used stays as a message of its own. A platform that asks to wait
    is asked half as often from then on; the third time nothing is changed any more before the end.

    Args:
        adapter_of: The adapter of a platform as it is now.
        place: Where the reply goes.
        settings: How often.
        clean: Takes secrets out.
        stands: Told of each message that begins to show the reply, before it is changed.
        pause: Waits so many seconds.

    Attributes:
        done: The reply was written to its end.
    """

    def __init__(
        self,
        adapter_of: Callable[[Platform], PlatformAdapter | None],
        place: Place,
        settings: StreamingConfig,
        clean: Callable[[str], str] = lambda text: text,
        *,
        stands: Callable[[str], Awaitable[None]] | None = None,
        pause: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self._adapter_of = adapter_of
        self._place = place
        self._settings = settings
        self._clean = clean
        self._stands = stands
        self._pause = pause
        self._segments = [_Segment()]
        self._ids: list[str] = []
        self._interval = max(0.0, settings.edit_interval)
        self._reading_s = 0.0
        self._strikes = 0
        self._off = False
        self._said_in_all = 0
        self._shown_of_it = 0
        self._answered_to = False
        self._news = asyncio.Event()
        self._closing = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self.done = False

    # Fed by the turn

    def feed(self, news: object) -> None:
        """Take a piece of news of the turn."""
        if isinstance(news, TurnDelta) and news.kind == "text":
            self._segments[-1].text += news.text
            self._said_in_all += len(news.text)
        elif isinstance(news, TurnDelta) and news.kind == "retracted":
            self._segments[-1].text = self._segments[-1].text.removesuffix(news.text)
        elif isinstance(news, ToolStarted) and self._segments[-1].text.strip():
            self._segments.append(_Segment())
        else:
            return
        self._news.set()

    # Showing

    def start(self, tasks: TaskSet) -> None:
        """Show what comes, until :meth:`settle`."""
        self._running = tasks.start(self._run(), name="growing reply")

    async def _run(self) -> None:
        try:
            while not self._closing.is_set() and not self._off:
                await self._first(self._news.wait())
                self._news.clear()
                await self._gather()
                if not self._closing.is_set():
                    await self._round()
        except Exception:  # the reply itself is delivered all the same
            log.exception("Showing a reply while it is written failed")
            self._off = True

    async def _gather(self) -> None:
        """Wait as long as there must be between two changes, and once more for a few words."""
        adapter = self._adapter_of(self._place.platform)
        least = adapter.edit_pause_s(self._place.chat_id) if adapter is not None else 0.0
        wait = max(self._interval, least, _SHARE * self._reading_s)
        await self._first(self._pause(wait))
        fresh = self._said_in_all - self._shown_of_it
        if fresh < self._settings.buffer_threshold and len(self._segments) == 1:
            await self._first(self._pause(wait))

    async def _first(self, waiting: Any) -> None:
        """Await something, but no longer than until the end."""
        tasks = {asyncio.ensure_future(waiting), asyncio.ensure_future(self._closing.wait())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    async def _round(self) -> None:
        while len(self._segments) > 1 and not self._off:
            await self._complete(self._segments[0])
            if not self._off:
                self._segments.pop(0)
        segment = self._segments[0]
        ready = _NOT_YET.sub("", segment.text)
        if self._off or not ready.strip():
            return
        self._shown_of_it = self._said_in_all
        await self._put(segment, self._clean(ready).rstrip() + self._settings.cursor)

    async def _complete(self, segment: _Segment, ending: str = "") -> None:
        await self._put(segment, self._clean(segment.text).strip() + ending)

    async def _put(self, segment: _Segment, text: str) -> None:
        """Let the chat show this text of a segment."""
        adapter = self._adapter_of(self._place.platform)
        if adapter is None:  # it is connected again, or the reply is owed
            return
        began = time.monotonic()
        pieces = await adapter.cut_aside(text)
        self._reading_s = time.monotonic() - began
        for number, piece in enumerate(pieces):
            if number < len(segment.shown):
                before = segment.shown[number]
                if before.piece == piece:
                    continue
                result = await self._called(
                    adapter.edit_piece(self._place.chat_id, before.message_id, piece)
                )
                if result.success:
                    segment.shown[number] = Shown(before.message_id, piece)
            else:
                result = await self._send(adapter, piece)
                if result.success and result.message_id is not None:
                    segment.shown.append(Shown(result.message_id, piece))
                    self._ids.append(result.message_id)
                    if self._stands is not None:
                        await self._stands(result.message_id)
                elif result.success:
                    self._off = True
            if not result.success:
                self._struck(segment, result)
                return
        await self._take_away(adapter, segment, len(pieces))

    async def _take_away(self, adapter: PlatformAdapter, segment: _Segment, keep: int) -> None:
        """Delete the messages that a text which became shorter no longer needs."""
        for surplus in segment.shown[keep:]:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CALL_S):
                    # First, because not every platform can delete.
                    (empty,) = adapter.cut(_UNFINISHED.strip())
                    await adapter.edit_piece(self._place.chat_id, surplus.message_id, empty)
                    await adapter.delete_message(self._place.chat_id, surplus.message_id)
        del segment.shown[keep:]

    async def _send(self, adapter: PlatformAdapter, piece: Piece) -> SendResult:
        place = self._place
        result = await self._called(
            adapter.send_piece(
                place.chat_id,
                piece,
                reply_to=None if self._answered_to else place.reply_to,
                thread_id=place.thread_id,
            )
        )
        self._answered_to = self._answered_to or result.success
        if not result.success and not result.retryable:  # nobody knows whether it stands there
            self._off = True
        return result

    async def _called(self, call: Any) -> SendResult:
        try:
            async with asyncio.timeout(_CALL_S):
                result: SendResult = await call
        except (OSError, TimeoutError) as error:
            return SendResult(success=False, error=str(error) or "no answer in time")
        return result

    def _struck(self, segment: _Segment, result: SendResult) -> None:
        """The platform did not take a change."""
        log.info("%s did not take a change: %s", self._place.platform.value, result.error)
        if result.error_kind == "not_found":  # somebody took the message away
            segment.shown.clear()
            self._off = True
            return
        self._strikes += 1
        self._interval = max(2 * self._interval, result.retry_after or 0.0)
        self._off = self._off or self._strikes >= MOST_STRIKES

    # The end

    async def settle(self) -> None:
        """Change nothing more; returns when the last change is over."""
        self._closing.set()
        if self._running is not None:
            await asyncio.wait({self._running})
        while len(self._segments) > 1:
            segment = self._segments.pop(0)
            if segment.shown:
                await self._complete(segment)

    def places(self) -> list[tuple[str, str, str]]:
        """Platform, chat and message of all that shows a part of it now."""
        chat = (self._place.platform.value, self._place.chat_id)
        return [(*chat, message_id) for message_id in self._ids]

    def standing(self, reply: str) -> tuple[Shown, ...]:
        """The messages that show the beginning of this reply; none: it is another text."""
        segment = self._segments[-1]
        said = _NOT_YET.sub("", segment.text).strip()
        if self.done or (said and reply.strip().startswith(said)):
            return tuple(segment.shown)
        return ()

    async def leave_unfinished(self) -> None:
        """Let what stands there look like what it is: something that was not said to its end."""
        segment = self._segments[-1]
        if segment.shown:
            await self._complete(segment, _UNFINISHED)
