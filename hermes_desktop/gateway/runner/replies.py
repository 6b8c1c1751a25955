"""Replies on their way to the chats: typing signs, streamed text, delivery and notices."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery import delivery
from hermes_desktop.gateway.delivery.delivery import DeliveryDependencies, Reply, open_mail
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.platforms.messages import Question, Shown
from hermes_desktop.gateway.runner.state import RunnerState
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.stream_replies import (
    IncompleteMessages,
    MessagePlace,
    Place,
    ReplyStream,
)
from hermes_desktop.gateway.turns.turn import TurnRecord

log = logging.getLogger(__name__)

NOTICE_S = 15.0
_ASK_S = 20.0
_TYPING_EVERY_S = 4.0
_TYPING_CALL_S = 10.0


class StreamedReplies:
    """Typing signs, and replies that grow in their chat while they are written. On the loop."""

    def __init__(self, state: RunnerState) -> None:
        self._state = state
        self._streams: dict[str, ReplyStream] = {}

    @cached_property
    def _growing(self) -> IncompleteMessages | None:
        """The messages with incomplete replies; read from a file on first use."""
        return IncompleteMessages(self._state.home) if self._state.home is not None else None

    def of_turn(self, turn_id: str) -> ReplyStream | None:
        """Return the reply of a turn that grows in its chat."""
        return self._streams.get(turn_id)

    @contextlib.contextmanager
    def showing(
        self, record: TurnRecord, source: SessionSource, adapter: PlatformAdapter
    ) -> Iterator[None]:
        """Show the chat that its reply is being written, for the duration of the context."""
        if adapter.platform is Platform.DESKTOP:
            yield
            return
        settings = self._state.config.platforms.get(source.platform)
        stream = self._new_stream(record, source, adapter)
        if stream is not None:
            self._streams[record.turn_id] = stream
            stream.start(self._state.notices)
        typing = None
        if settings is None or settings.typing_indicator:
            signs = _keep_typing(
                self._state.adapters.get, source.platform, source.chat_id, source.thread_id
            )
            typing = self._state.notices.start(signs, name="typing")
        try:
            yield
        finally:
            if typing is not None:
                typing.cancel()

    def _new_stream(
        self, record: TurnRecord, source: SessionSource, adapter: PlatformAdapter
    ) -> ReplyStream | None:
        streaming = self._state.config.streaming
        wanted = streaming.enabled and streaming.transport != "off"
        if not wanted or not adapter.edits_messages or not self._state.inbox_kept:
            return None
        place = Place(
            source.platform,
            source.chat_id,
            source.thread_id,
            record.message_id if self.quotes(source.platform) else None,
        )

        async def stands(message_id: str) -> None:
            if self._growing is not None:
                here = (place.platform.value, place.chat_id, message_id)
                await self._state.aside(self._growing.add, here)

        return ReplyStream(
            self._state.adapters.get, place, streaming, self._state.without_secrets, stands=stands
        )

    def quotes(self, platform: Platform) -> bool:
        """Return whether replies are shown as replies to the message."""
        settings = self._state.config.platforms.get(platform)
        return settings is None or settings.reply_to_mode != "off"

    async def settle_stream(self, event: MessageEvent, text: str) -> tuple[Shown, ...]:
        """End the stream; return the messages that are to contain the complete reply."""
        stream = self._streams.pop(event.turn_id, None)
        if stream is None:
            return ()
        await stream.settle()
        standing = stream.standing(text) if text else ()
        kept = {each.message_id for each in standing}
        await self.mark_complete([each for each in stream.places() if each[2] not in kept])
        if not standing:
            await stream.leave_unfinished()
        return standing

    async def mark_complete(self, places: Iterable[MessagePlace], *, whole: bool = True) -> None:
        """Record that messages are not edited any more.

        Args:
            places: The messages.
            whole: Whether they are complete; if not, they are deleted when their reply is sent
                again.
        """
        growing, found = self._growing, list(places)
        if growing is not None and found:
            with contextlib.suppress(HermesError, RuntimeError):  # the runner stops
                await self._state.aside(growing.remove if whole else growing.leave, *found)

    async def delete_unfinished(self, platform: Platform) -> None:
        """Delete abandoned incomplete messages; their reply is sent again."""
        adapter, growing = self._state.adapters.get(platform), self._growing
        if growing is None or adapter is None or not adapter.edits_messages:
            return
        for place in await self._state.aside(growing.left_behind, platform.value):
            if await adapter.delete_message(place[1], place[2]):
                await self._state.aside(growing.taken_away, place)


async def _keep_typing(
    adapter_of: Callable[[Platform], PlatformAdapter | None],
    platform: Platform,
    chat_id: str,
    thread_id: str | None,
) -> None:
    """Show the typing sign until cancelled. Failures of the platform are ignored."""
    while True:
        adapter = adapter_of(platform)
        if adapter is not None:
            try:
                async with asyncio.timeout(_TYPING_CALL_S):
                    await adapter.show_typing(chat_id, thread_id=thread_id)
            except Exception as error:  # noqa: BLE001 - the reply matters, not the sign
                log.debug("%s shows no sign of typing: %s", platform.value, error)
        await asyncio.sleep(_TYPING_EVERY_S)


class Replies:
    """Delivers replies and notices to chats. On the loop."""

    def __init__(self, state: RunnerState, streams: StreamedReplies) -> None:
        self._state = state
        self._streams = streams

    def use_mail(self, parts: DeliveryDependencies) -> None:
        """Store messages and replies on the disk of a home. To be called before the start."""
        self._state.mail = open_mail(parts, self._state.adapters.get, self._redelivered)
        self._state.inbox_kept = True

    def _redelivered(self, session_key: str) -> None:
        """Clear the resume mark of a chat after a reply of an earlier run arrived."""

        async def clear() -> None:
            await self._state.aside(self._state.session_store.clear_resume_pending, session_key)
            for platform in list(self._state.adapters):
                await self._streams.delete_unfinished(platform)

        self._state.notices.start(clear(), name="redelivered")

    async def deliver(
        self, event: MessageEvent, adapter: PlatformAdapter, text: str, *, is_owed: bool = True
    ) -> None:
        """Deliver the reply to a message to its chat.

        Args:
            event: The message.
            adapter: Its platform.
            text: The reply.
            is_owed: It must arrive, now or later; False for replies to commands.
        """
        source = event.source
        if source is None:
            return
        if self._state.mail is None or adapter.platform is Platform.DESKTOP:
            await delivery.send(adapter, source.chat_id, text)
            return
        shown = await self._streams.settle_stream(event, text)
        places = [(source.platform.value, source.chat_id, each.message_id) for each in shown]
        result = await self._state.mail.deliverer.deliver(
            Reply(
                platform=source.platform,
                session_key=self._state.session_key(source),
                chat_id=source.chat_id,
                text=text,
                thread_id=source.thread_id,
                message_ref=event.message_id or event.turn_id,
                reply_to=event.message_id if self._streams.quotes(source.platform) else None,
                is_owed=is_owed,
                shown=shown,
                arrived=partial(self._streams.mark_complete, places),
            )
        )
        await self._streams.mark_complete(places, whole=result.success)

    async def _send(self, adapter: PlatformAdapter, source: SessionSource, text: str) -> None:
        """Send a chat a text that replies to no message."""
        await self.deliver(MessageEvent(text, source=source), adapter, text, is_owed=False)

    async def bring(self, source: SessionSource, reference: str, text: str) -> None:
        """Deliver a text to a chat, now or once its platform is connected."""
        if self._state.mail is None:
            adapter = self._state.adapters.get(source.platform)
            if adapter is not None:
                await delivery.send(adapter, source.chat_id, text)
            return
        await self._state.mail.deliverer.deliver(
            Reply(
                platform=source.platform,
                session_key=self._state.session_key(source),
                chat_id=source.chat_id,
                text=text,
                thread_id=source.thread_id,
                message_ref=reference,
            )
        )

    async def say(self, adapter: PlatformAdapter, source: SessionSource, text: str) -> None:
        """Send a chat a text outside its session. Bounded by a time-out, never raises."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._send(adapter, source, text), NOTICE_S)

    def say_soon(self, adapter: PlatformAdapter, source: SessionSource, text: str) -> None:
        """Send a chat a text outside its session, without waiting for it."""
        self._state.notices.start(self.say(adapter, source, text), name="say")

    def ask_soon(self, adapter: PlatformAdapter, source: SessionSource, asked: Question) -> None:
        """Send a chat a question with buttons, without waiting for it."""
        self._state.notices.start(self._ask(adapter, source, asked), name="ask")

    async def _ask(self, adapter: PlatformAdapter, source: SessionSource, asked: Question) -> None:
        """Send a chat a question with buttons; as plain text should that fail."""
        clean = replace(asked, words=self._state.without_secrets(asked.words))
        result = None
        # This includes a time-out, after which the question may or may not be visible.
        with contextlib.suppress(OSError):
            async with asyncio.timeout(_ASK_S):
                result = await adapter.ask(source.chat_id, clean, thread_id=source.thread_id)
        if result is None or not result.success:
            await self.say(adapter, source, asked.words)
