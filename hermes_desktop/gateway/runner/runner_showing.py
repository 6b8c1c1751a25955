"""Display of running turns in their chat: typing signs and streamed replies. On the event loop."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery.growing_files import IncompleteMessages
from hermes_desktop.gateway.delivery.growing_files import Place as GrowingPlace
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.platforms.messages import Question, Shown
from hermes_desktop.gateway.runner.runner_claims import RunnerClaims
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.inbound_text import inbound_text
from hermes_desktop.gateway.turns.stream_replies import Place, ReplyStream
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.typing_signs import keep_typing

_ASK_S = 20.0

log = logging.getLogger(__name__)


class RunnerDisplay(RunnerClaims):
    """Typing signs and streamed replies.

    Attributes:
        _streams: By turn id: the reply that is streamed to its chat.
    """

    @cached_property
    def _growing(self) -> IncompleteMessages | None:
        """The messages with incomplete replies; read from a file on first use."""
        return IncompleteMessages(self.home) if self.home is not None else None

    @cached_property
    def _streams(self) -> dict[str, ReplyStream]:
        return {}

    async def _fetch_media(
        self, event: MessageEvent, adapter: PlatformAdapter, record: TurnRecord
    ) -> MessageEvent:
        """Fetch the attachments of a message that is answered now.

        Raises:
            WaitAbandonedError: The turn was ended and is not to be started later.
        """
        fetching = asyncio.ensure_future(adapter.with_media(event))
        ending = asyncio.ensure_future(record.ending.wait())
        try:
            await asyncio.wait({fetching, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not fetching.done():
                if self._draining:  # the next run fetches it
                    return event
                raise WaitAbandonedError
            fetched = fetching.result()
        finally:
            fetching.cancel()
            ending.cancel()
        if fetched is not event and fetched.source is not None:
            record.prompt = inbound_text(fetched, fetched.source, self.config)
        return fetched

    @contextlib.contextmanager
    def _showing(
        self, record: TurnRecord, source: SessionSource, adapter: PlatformAdapter
    ) -> Iterator[None]:
        """Show the chat that its reply is being written, for the duration of the context."""
        if adapter.platform is Platform.DESKTOP:
            yield
            return
        settings = self.config.platforms.get(source.platform)
        stream = self._new_stream(record, source, adapter)
        if stream is not None:
            self._streams[record.turn_id] = stream
            stream.start(self._notices)
        typing = None
        if settings is None or settings.typing_indicator:
            signs = keep_typing(
                self.adapters.get, source.platform, source.chat_id, source.thread_id
            )
            typing = self._notices.start(signs, name="typing")
        try:
            yield
        finally:
            if typing is not None:
                typing.cancel()

    def _new_stream(
        self, record: TurnRecord, source: SessionSource, adapter: PlatformAdapter
    ) -> ReplyStream | None:
        streaming = self.config.streaming
        wanted = streaming.enabled and streaming.transport != "off"
        if not wanted or not adapter.edits_messages or not self.inbox_kept:
            return None
        place = Place(
            source.platform,
            source.chat_id,
            source.thread_id,
            record.message_id if self._quotes(source.platform) else None,
        )

        async def stands(message_id: str) -> None:
            if self._growing is not None:
                here = (place.platform.value, place.chat_id, message_id)
                await self._aside(self._growing.add, here)

        return ReplyStream(
            self.adapters.get, place, streaming, self._cleaned_of_secrets, stands=stands
        )

    def _quotes(self, platform: Platform) -> bool:
        """Return whether replies are shown as replies to the message."""
        settings = self.config.platforms.get(platform)
        return settings is None or settings.reply_to_mode != "off"

    async def _settle_stream(self, event: MessageEvent, text: str) -> tuple[Shown, ...]:
        """End the stream; return the messages that are to contain the complete reply."""
        stream = self._streams.pop(event.turn_id, None)
        if stream is None:
            return ()
        await stream.settle()
        standing = stream.standing(text) if text else ()
        kept = {each.message_id for each in standing}
        await self._grow_no_more([each for each in stream.places() if each[2] not in kept])
        if not standing:
            await stream.leave_unfinished()
        return standing

    async def _grow_no_more(self, places: Iterable[GrowingPlace], *, whole: bool = True) -> None:
        """Record that messages are not edited any more.

        Args:
            places: The messages.
            whole: Whether they are complete; if not, they are deleted when their reply is sent
                again.
        """
        growing, found = self._growing, list(places)
        if growing is not None and found:
            with contextlib.suppress(HermesError, RuntimeError):  # the runner stops
                await self._aside(growing.remove if whole else growing.leave, *found)

    async def _take_unfinished_away(self, platform: Platform) -> None:
        """Delete abandoned incomplete messages; their reply is sent again."""
        adapter, growing = self.adapters.get(platform), self._growing
        if growing is None or adapter is None or not adapter.edits_messages:
            return
        for place in await self._aside(growing.left_behind, platform.value):
            if await adapter.delete_message(place[1], place[2]):
                await self._aside(growing.taken_away, place)

    async def _ask_chat(
        self, adapter: PlatformAdapter, source: SessionSource, asked: Question
    ) -> None:
        """Send a chat a question with buttons; as plain text should that fail."""
        clean = replace(asked, words=self._cleaned_of_secrets(asked.words))
        result = None
        # This includes a time-out, after which the question may or may not be visible.
        with contextlib.suppress(OSError):
            async with asyncio.timeout(_ASK_S):
                result = await adapter.ask(source.chat_id, clean, thread_id=source.thread_id)
        if result is None or not result.success:
            await self._say(adapter, source, asked.words)

    def _cleaned_of_secrets(self, text: str) -> str:
        """Return a text without secrets."""
        return text
