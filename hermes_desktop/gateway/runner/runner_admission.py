"""Admission of messages: plugins, authorization, duplicates and commands. On the event loop."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from hermes_desktop import plugins
from hermes_desktop.commands.parsing import parse_command
from hermes_desktop.commands.registry import resolve_command
from hermes_desktop.gateway.access.authorization import is_authorized
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.runner.runner_background import RunnerBackground
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns import turn_outcome
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

NOT_ASKED = "This does not wait for your answer, or not any more."

log = logging.getLogger(__name__)


class RunnerAdmission(RunnerBackground):
    """Admission of messages before their turns."""

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
        if not await self._lets_in(source):
            log.warning("A message was refused: its sender may not write")
            return turn_outcome.answered(await self._answer_to_stranger(source))
        if not await self._take_once(event, session_key):
            return turn_outcome.answered("")
        return await self._take_for_command(event, session_key)

    async def _stops_command(
        self, event: MessageEvent, source: SessionSource, session_key: str
    ) -> bool:
        """Return whether a message stopped the long-running command of its chat.

        Otherwise it would wait for that command: messages of a chat are processed sequentially.
        """
        stop = self._long_commands.get(session_key)
        if stop is None or event.internal or self.command_dispatch is None:
            return False
        typed = parse_command(event.text, self.adapters[source.platform].typed_command_prefix)
        command = resolve_command(typed.name) if typed is not None else None
        if command is None or command.name != "stop" or not await self._lets_in(source):
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
        if self.approvals is not None and event.source is not None:
            said = self.approvals.answer(event.text, event.source, session_key)
            if said is not None:
                return turn_outcome.answered(said)
        if self.questions is not None and self.questions.answer(event, session_key):
            return turn_outcome.answered("")
        if self.command_dispatch is None:
            return event
        try:
            taken = await self.command_dispatch(event, session_key)
        except Exception as error:  # a bug in a command; the sender still gets a reply
            log.exception("A command failed")
            return turn_outcome.from_error(error)
        return taken if isinstance(taken, MessageEvent) else turn_outcome.answered(taken)

    def _is_asked(self, question_id: str, session_key: str) -> bool:
        """Return whether a pressed button belongs to a pending request in this sender's chat."""
        attending = (self.approvals, self.questions)
        return any(
            each.waits_for_button(question_id, session_key)
            for each in attending
            if each is not None
        )

    async def _before_dispatch(self, event: MessageEvent) -> MessageEvent | None:
        """Pass a message to plugins; return it, a rewritten message, or None to drop it."""
        answers = await self.boundaries.invoke(
            "pre_gateway_dispatch", event=event, gateway=self, session_store=self.session_store
        )
        verdict = next((each for each in answers if isinstance(each, Mapping)), {})
        if verdict.get("action") == "skip":
            return None
        text = verdict.get("text")
        if verdict.get("action") == "rewrite" and isinstance(text, str):
            return replace(event, text=text)
        return event

    def _is_user_authorized(self, source: SessionSource | None) -> bool:
        """Return whether a sender may write. May read a file."""
        if self.access is not None:
            return self.access.allows(source)
        return is_authorized(source, self.config)

    async def _lets_in(self, source: SessionSource) -> bool:
        """Return whether a sender may write; files are read off the event loop."""
        if self.access is None:
            return self._is_user_authorized(source)
        try:
            return await self.access.admits(source)
        except Exception:  # if authorization fails, access is denied
            log.exception("Whether a sender may write is unknown")
            return False

    async def _answer_to_stranger(self, source: SessionSource) -> str:
        return "" if self.access is None else await self.access.answer_to_stranger(source)
