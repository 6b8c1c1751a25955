"""Admission of messages: plugins, authorization, duplicates and commands; then their turn."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_desktop import plugins
from hermes_desktop.commands.parsing import parse_command
from hermes_desktop.commands.registry import resolve_command
from hermes_desktop.core.session_context import reset_session_vars
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.core_parts import CoreParts
from hermes_desktop.gateway.runner.queue import BusyChats, TurnQueue
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns import turn_outcome
from hermes_desktop.gateway.turns.turn import TurnRecord, inbound_text
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

if TYPE_CHECKING:
    import asyncio

NOT_ASKED = "This request is no longer waiting for your answer."

log = logging.getLogger(__name__)


class Admission:
    """Admits messages and passes them on to their turn. On the event loop.

    Args:
        gateway: The gateway that plugins get to see.
        is_authorized: Returns whether a sender may write.
    """

    def __init__(
        self,
        core: CoreParts,
        busy: BusyChats,
        queue: TurnQueue,
        *,
        gateway: object,
        is_authorized: Callable[[SessionSource | None], bool],
    ) -> None:
        self._state = core.state
        self._chats = core.chats
        self._incoming = core.incoming
        self._hook_calls = core.hook_calls
        self._busy = busy
        self._queue = queue
        self._replies = core.replies
        self._gateway = gateway
        self._is_authorized = is_authorized

    def accept(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        """Accept a message; messages of one chat are answered in the order of these calls.

        Returns:
            The task that answers it; its result is the delivered text.
        """
        if event.source is not None:
            self.replay(event.source.platform)
        return self._start(event)

    def replay(self, platform: Platform) -> None:
        """Answer the messages that an earlier run did not, before any new ones."""
        if not self._state.draining:
            for event in self._incoming.take_left_over(platform):
                self._start(event)

    def _start(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        state = self._state
        tasks = state.late_messages if state.message_tasks.closed else state.message_tasks
        return tasks.start(self._handle(event), name=f"turn {event.turn_id}")

    async def _handle(self, event: MessageEvent) -> str | None:
        try:
            answer = await self._process(event)
        except Exception:  # a bug; it would occur again after the next start
            await self._incoming.finished(event)
            raise
        await self._incoming.finished(event)
        return answer

    async def _process(self, event: MessageEvent) -> str | None:
        reset_session_vars()
        source = event.source
        adapter = self._state.adapters.get(source.platform) if source is not None else None
        if source is None or adapter is None:
            log.warning("A message was refused: its platform is not served")
            return None
        if self._state.startup_restore_in_progress and not event.internal:
            await self._state.restored.wait()
        if not event.internal:
            await self._incoming.wait_for_platform(source.platform)
        session_key = self._state.session_key(source)
        record = TurnRecord(event.turn_id, session_key, event.text, event.message_id)
        if await self._stops_command(event, source, session_key):
            await self._close_without_turn(event, adapter, record, turn_outcome.answered(""))
            return None
        async with self._state.entrance.hold(session_key):
            admitted = await self._admit(event, source, session_key)
            ended = None if isinstance(admitted, MessageEvent) else admitted
            if isinstance(admitted, MessageEvent):
                event, source = admitted, admitted.source or source
                record.prompt = inbound_text(event, source, self._state.config)
                ended = await self._busy.handle(event, source, adapter, record)
        if ended is None:  # nothing was awaited since the entrance: the order is kept
            return await self._queue.answer(event, source, adapter, record)
        await self._close_without_turn(event, adapter, record, ended)
        return ended.delivery or None

    async def _close_without_turn(
        self,
        event: MessageEvent,
        adapter: PlatformAdapter,
        record: TurnRecord,
        outcome: TurnOutcome,
    ) -> None:
        """Complete a message that needed no turn: deliver the response and publish the end."""
        await self._replies.deliver(
            event, adapter, outcome.delivery, is_owed=outcome.outcome == "failed"
        )
        record.session_id = self._state.session_store.peek_session_id(record.session_key) or ""
        if adapter.platform is Platform.DESKTOP or outcome.outcome == "failed":
            self._state.bus.publish(turn_outcome.finished_event(record, outcome))

    # Checks before a turn

    async def _admit(
        self, event: MessageEvent, source: SessionSource, session_key: str
    ) -> MessageEvent | TurnOutcome:
        """Check a message before its turn; return it, a replacement, or its final outcome."""
        if event.internal:
            return event
        if plugins.has_callbacks("pre_gateway_dispatch"):
            seen = await self._before_dispatch(event)
            if seen is None:
                return turn_outcome.answered("")
            event = seen
        if not await self._is_admitted(source):
            log.warning("A message was refused: its sender may not write")
            return turn_outcome.answered(await self._refusal_of(source))
        if not await self._incoming.take_once(event, session_key):
            return turn_outcome.answered("")
        return await self._take_for_command(event, session_key)

    async def _stops_command(
        self, event: MessageEvent, source: SessionSource, session_key: str
    ) -> bool:
        """Return whether a message stopped the long-running command of its chat.

        Otherwise it would wait for that command: messages of a chat are processed sequentially.
        """
        stop = self._chats.peek(session_key).long_command
        if stop is None or event.internal or self._state.command_dispatch is None:
            return False
        typed = parse_command(
            event.text, self._state.adapters[source.platform].typed_command_prefix
        )
        command = resolve_command(typed.name) if typed is not None else None
        if command is None or command.name != "stop" or not await self._is_admitted(source):
            return False
        stop.set()
        return True

    async def _take_for_command(
        self, event: MessageEvent, session_key: str
    ) -> MessageEvent | TurnOutcome:
        """Process commands; return the message to continue with, or its final outcome.

        A plain word is also an answer while its chat has a pending approval, and so is any message
        while the assistant asks a question.
        """
        button = event.metadata.get("answers")
        if button is not None and not self._is_asked(str(button), session_key):
            return turn_outcome.answered(NOT_ASKED)
        if self._state.approvals is not None and event.source is not None:
            said = self._state.approvals.answer(event.text, event.source, session_key)
            if said is not None:
                return turn_outcome.answered(said)
        if self._state.questions is not None and self._state.questions.answer(event, session_key):
            return turn_outcome.answered("")
        if self._state.command_dispatch is None:
            return event
        try:
            taken = await self._state.command_dispatch(event, session_key)
        except Exception as error:  # a bug in a command; the sender still gets a reply
            log.exception("A command failed")
            return turn_outcome.from_error(error)
        return taken if isinstance(taken, MessageEvent) else turn_outcome.answered(taken)

    def _is_asked(self, question_id: str, session_key: str) -> bool:
        """Return whether a pressed button belongs to a pending request in this sender's chat."""
        attending = (self._state.approvals, self._state.questions)
        return any(
            each.waits_for_button(question_id, session_key)
            for each in attending
            if each is not None
        )

    async def _before_dispatch(self, event: MessageEvent) -> MessageEvent | None:
        """Pass a message to plugins; return it, a rewritten message, or None to drop it."""
        answers = await self._hook_calls.invoke(
            "pre_gateway_dispatch",
            event=event,
            gateway=self._gateway,
            session_store=self._state.session_store,
        )
        verdict = next((each for each in answers if isinstance(each, Mapping)), {})
        if verdict.get("action") == "skip":
            return None
        text = verdict.get("text")
        if verdict.get("action") == "rewrite" and isinstance(text, str):
            return replace(event, text=text)
        return event

    async def _is_admitted(self, source: SessionSource) -> bool:
        """Return whether a sender may write; files are read off the event loop."""
        if self._state.access is None:
            return self._is_authorized(source)
        try:
            return await self._state.access.admits(source)
        except Exception:  # if authorization fails, access is denied
            log.exception("A sender could not be authorized")
            return False

    async def _refusal_of(self, source: SessionSource) -> str:
        return (
            ""
            if self._state.access is None
            else await self._state.access.answer_to_stranger(source)
        )
