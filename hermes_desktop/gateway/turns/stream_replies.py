"""Streaming of a reply to its chat: one message, edited repeatedly while the text is generated.

The final messages are passed to the deliverer of the reply, which edits them a last time instead of
sending the same text again. A killed process leaves incomplete messages behind, and so does a
connection that breaks before the last edit. They are recorded, and deleted before the reply, or its
outcome, is sent again.
"""

import asyncio
import contextlib
import json
import logging
import re
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.core.events import ToolStarted, TurnDelta
from hermes_desktop.core.files.atomic_files import make_private_folder, write_text_atomic
from hermes_desktop.gateway.config.config_policies import StreamingConfig
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.platforms.messages import Piece, SendResult, Shown
from hermes_desktop.gateway.runtime_files.identity_files import read_json

log = logging.getLogger(__name__)

FILE = "desktop/growing-replies.json"
_MOST, _PARTS = 200, 3

MessagePlace = tuple[str, str, str]
"""Platform, chat, message."""


class IncompleteMessages:
    """The list of a home. Blocking; any thread. What cannot be read or written is skipped.

    Args:
        home: The home; it must exist.
    """

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._lock = threading.Lock()
        self._left_behind: list[MessagePlace] | None = None
        self._now: list[MessagePlace] = []

    def add(self, place: MessagePlace) -> None:
        """Record a message that shows an incomplete reply."""
        with self._lock:
            self._known()
            self._now.append(place)
            self._write()

    def remove(self, *places: MessagePlace) -> None:
        """Remove messages that are about to show their complete reply."""
        with self._lock:
            known = [each for each in self._now if each not in places]
            if known != self._now:
                self._now = known
                self._write()

    def leave(self, *places: MessagePlace) -> None:
        """Record messages that stay incomplete and are to be deleted."""
        with self._lock:
            known = self._known()
            self._now = [each for each in self._now if each not in places]
            known.extend(each for each in places if each not in known)
            self._write()

    def left_behind(self, platform: str) -> list[MessagePlace]:
        """Return the messages to delete in chats of a platform."""
        with self._lock:
            return [each for each in self._known() if each[0] == platform]

    def taken_away(self, place: MessagePlace) -> None:
        """Remove a message that was deleted or cannot be deleted."""
        with self._lock:
            known = self._known()
            if place in known:
                known.remove(place)
                self._write()

    def _known(self) -> list[MessagePlace]:
        """Return the abandoned messages, also of earlier runs; read with the first call."""
        if self._left_behind is None:
            data = read_json(self._path)
            rows = data if isinstance(data, list) else []
            found = [row for row in rows if isinstance(row, list) and len(row) == _PARTS]
            self._left_behind = [(str(a), str(b), str(c)) for a, b, c in found]
        return self._left_behind

    def _write(self) -> None:
        try:
            make_private_folder(self._path.parent)
            write_text_atomic(self._path, json.dumps([*self._known(), *self._now][-_MOST:]))
        except OSError as error:
            log.warning("%s cannot be written: %s", FILE, error)


MOST_STRIKES = 3
_CALL_S = 30.0
_SHARE = 4.0
"""Edits are paused for this multiple of the time that formatting the text took."""
_UNFINISHED = " …"
_NOT_YET = re.compile(r"[A-Za-z0-9_\-.:/+=]{1,200}\Z")
"""An incomplete word: it may be the beginning of a secret, which is only recognized as a whole."""


@dataclass(frozen=True, slots=True)
class Place:
    """The destination of a reply."""

    platform: Platform
    chat_id: str
    thread_id: str | None = None
    reply_to: str | None = None


@dataclass(slots=True)
class _Segment:
    """The text between two uses of tools."""

    text: str = ""
    shown: list[Shown] = field(default_factory=list)


class ReplyStream:
    """Streams one reply to its chat. On the event loop.

    Text before the use of a tool stays as a separate message. After a platform asks to wait, edits
    are half as frequent; after the third time there are no more edits before the end.

    Args:
        adapter_of: Returns the current adapter of a platform.
        place: The destination of the reply.
        settings: The edit rate.
        clean: Removes secrets.
        stands: Called with each message that starts to show the reply, before it is edited.
        pause: Waits for the given number of seconds.

    Attributes:
        done: The reply was generated completely.
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

    # Input from the turn

    def feed(self, news: object) -> None:
        """Process an event of the turn."""
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

    # Display

    def start(self, tasks: TaskSet) -> None:
        """Show new text until :meth:`settle`."""
        self._running = tasks.start(self._run(), name="growing reply")

    async def _run(self) -> None:
        try:
            while not self._closing.is_set() and not self._off:
                await self._first(self._news.wait())
                self._news.clear()
                await self._gather()
                if not self._closing.is_set():
                    await self._round()
        except Exception:  # the reply itself is delivered nevertheless
            log.exception("Showing a reply while it is written failed")
            self._off = True

    async def _gather(self) -> None:
        """Wait for the minimum time between two edits, twice if there is little new text."""
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
        """Show this text of a segment in the chat."""
        adapter = self._adapter_of(self._place.platform)
        if adapter is None:  # it is reconnecting; otherwise the reply will be owed
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
        if not result.success and not result.retryable:  # whether it was delivered is unknown
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
        """Handle that the platform refused an edit."""
        log.info("%s did not take a change: %s", self._place.platform.value, result.error)
        if result.error_kind == "not_found":  # the message was deleted
            segment.shown.clear()
            self._off = True
            return
        self._strikes += 1
        self._interval = max(2 * self._interval, result.retry_after or 0.0)
        self._off = self._off or self._strikes >= MOST_STRIKES

    # The end

    async def settle(self) -> None:
        """Stop editing; return when the last edit is over."""
        self._closing.set()
        if self._running is not None:
            await asyncio.wait({self._running})
        while len(self._segments) > 1:
            segment = self._segments.pop(0)
            if segment.shown:
                await self._complete(segment)

    def places(self) -> list[tuple[str, str, str]]:
        """Return platform, chat and message of everything that shows a part of it now."""
        chat = (self._place.platform.value, self._place.chat_id)
        return [(*chat, message_id) for message_id in self._ids]

    def standing(self, reply: str) -> tuple[Shown, ...]:
        """Return the messages that show the beginning of this reply; none for another text."""
        segment = self._segments[-1]
        said = _NOT_YET.sub("", segment.text).strip()
        if self.done or (said and reply.strip().startswith(said)):
            return tuple(segment.shown)
        return ()

    async def leave_unfinished(self) -> None:
        """Mark the visible text as incomplete."""
        segment = self._segments[-1]
        if segment.shown:
            await self._complete(segment, _UNFINISHED)
