"""The loop of a turn: calls the model, runs its tool calls, stores and returns their results."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hermes_desktop.agent.compression.compression_turn import ContextLimiter
from hermes_desktop.agent.providers.base import ChatProvider, Reply, ask
from hermes_desktop.agent.steering import Hint, Steering, told, tool_text, with_hints
from hermes_desktop.agent.turns.turn_hooks import TurnHooks
from hermes_desktop.agent.turns.wire_messages import wire_messages
from hermes_desktop.agent.types import (
    CancelSignal,
    ChatRequest,
    ConversationMessage,
    StreamCallback,
    TextDelta,
    ToolCall,
    ToolListener,
)
from hermes_desktop.agent.undo.turn_undo import TurnUndo
from hermes_desktop.core.errors import HermesError, UsageError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation import without_memory
from hermes_desktop.state.records.content_codec import clean_text

log = logging.getLogger(__name__)

PersistedCallback = Callable[[int], None]
"""Receives the id of each stored row, on the thread of the turn."""


class RowWriter:
    """A writer that appends the rows of one turn and records their ids.

    Args:
        store: The store to write to.
        session_id: The session of the rows.
        persisted: Called with each row id.
    """

    def __init__(
        self, store: SessionDB, session_id: str, persisted: PersistedCallback | None
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._persisted = persisted
        self.ids: list[int] = []

    def move(self, session_id: str) -> None:
        """Write to this session from now on: the conversation continues there."""
        self._session_id = session_id

    def write(self, role: str, content: str, **fields: Any) -> None:
        """Append a row.

        Raises:
            NotFoundError: The session's row is gone.
            HermesError: The store failed.
        """
        row_id = self._store.append_message(self._session_id, role, content, **fields)
        self.ids.append(row_id)
        if self._persisted is not None:
            try:
                self._persisted(row_id)
            except Exception:
                log.exception("A listener to stored rows failed")


def sent_fields(text: str, note: str) -> dict[str, str]:
    """Return the column for the sent text, where reading the row would give a different one.

    That is the case with a note, and with a typed mark of remembered text, which is removed when
    rows are read.
    """
    if note.strip():
        return {"api_content": f"{note.strip()}\n\n{text}"}
    return {} if without_memory(text) == text.strip() else {"api_content": text}


def text_to_send(typed: str) -> str:
    """Return the user's typed text, as it is stored and sent.

    Raises:
        UsageError: It is blank.
    """
    text = clean_text(typed)
    if not text.strip():
        raise UsageError("There is nothing to send.", "The message is blank.", "Write a message.")
    return text


MAX_TURNS = 90
"""How often the model is called in one turn, unless ``agent.max_turns`` is set."""
SUM_UP = (
    "No more tools can be used in this turn: the limit of steps is reached. Say in a few sentences "
    "what was done, what was found, and what is still open."
)


MOST_SENSELESS = 5
"""How many answers in a row may consist of invalid calls only."""
NO_SENSE = (
    "Your last tool calls were all invalid, so no more are run in this turn. "
    "Say in a few sentences what you wanted to do and what prevented it."
)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call, as it is sent to the model and stored.

    Attributes:
        made_sense: The call was complete and named an existing tool with valid arguments.
    """

    call_id: str
    name: str
    content: str
    made_sense: bool = True


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """The turn that tools work for.

    Attributes:
        listener: Notified when each tool begins and ends; any thread; None for no listener.
        cut_off: The answer was cut off: none of its calls is run.
        step: Number of the model's answer, from 1.
        undo: Keeps what the turn is about to change; None: it cannot be undone.
    """

    session_id: str
    task_id: str
    cancel: CancelSignal
    listener: ToolListener | None = None
    cut_off: bool = False
    step: int = 0
    undo: TurnUndo | None = None


class Tools(Protocol):
    """The tools of an agent."""

    def definitions(self) -> tuple[Mapping[str, Any], ...]:
        """Return the tools in the format of the API; the same bytes for the life of the agent."""
        ...

    def prompt_part(self) -> str:
        """Return their part of the system prompt of a new session; "" for none. Blocking."""
        ...

    def run(self, calls: Sequence[ToolCall], turn: ToolTurn) -> list[ToolResult]:
        """Run the calls: one result for each call, in their order. Blocking; never raises.

        When the turn is cancelled, results that say so follow within a fraction of a second.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


@dataclass(frozen=True, slots=True)
class Listeners:
    """The listeners of a running turn."""

    text: StreamCallback | None = None
    reasoning: StreamCallback | None = None
    tools: ToolListener | None = None


@dataclass(slots=True)
class ToolRounds:
    """One turn from the stored question to the last reply. Blocking; on the turn's thread.

    Attributes:
        provider: The model provider.
        tools: None for a model without tools.
        most: The maximum number of model calls.
        history: The conversation with the question; grows.
        writer: Stores calls and results as they come.
        count: Called with each reply, for the token counts.
        room: Compacts before the next request; None: nothing is ever compacted.
        steering: The user's hints, sent after the next result.
        asked: How often the model was called.
        lost: Why something could not be stored; the turn ends with it.
        senseless: How many answers in a row contained only invalid calls.
    """

    provider: ChatProvider
    tools: Tools | None
    most: int
    prompt: str
    history: list[ConversationMessage]
    writer: RowWriter
    hooks: TurnHooks
    turn: ToolTurn
    listeners: Listeners
    count: Callable[[Reply], None]
    room: ContextLimiter | None = None
    steering: Steering | None = None
    asked: int = 0
    lost: HermesError | None = None
    senseless: int = 0

    def run(self) -> Reply:
        """Run until there is nothing more to do; return the last reply, which is not stored yet."""
        reply = self._run()
        instead = reply.finished.instead if reply.finished is not None else ""
        if instead and not reply.text.strip():
            reply.take(TextDelta(instead))
            if self.listeners.text is not None:
                self.listeners.text(instead)
        return reply

    def _run(self) -> Reply:
        definitions = self.tools.definitions() if self.tools is not None else ()
        while True:
            reply = self._ask(definitions)
            calls = reply.finished.tool_calls if reply.finished is not None else ()
            if not calls or self.tools is None or not definitions:
                return reply
            if not self._do(reply, calls) or self.turn.cancel.is_set():
                return Reply()
            if reply.text and self.listeners.text is not None:
                self.listeners.text("\n\n")
            if self.asked >= self.most or self.senseless >= MOST_SENSELESS:
                log.info("The turn ends after %d steps", self.asked)
                return self._ask((), SUM_UP if self.asked >= self.most else NO_SENSE)

    def _ask(self, definitions: tuple[Mapping[str, Any], ...], more: str = "") -> Reply:
        if self.room is None:
            return self._ask_once(definitions, more)
        if self.asked:
            self.room.between(self)
        reply = self._ask_once(definitions, more)
        if self.room.after_refusal(self, reply):
            reply = self._ask_once(definitions, more)
            self.room.after_refusal(self, reply)
        self.room.note(self.turn.session_id, reply, self.history)
        self.room.report_usage(reply)
        return reply

    def _ask_once(self, definitions: tuple[Mapping[str, Any], ...], more: str) -> Reply:
        provider = self.provider
        entries = [*self.history, {"role": "user", "content": more}] if more else self.history
        request = ChatRequest(
            provider.choice.model,
            wire_messages(self.prompt, entries),
            provider.choice.max_tokens,
            definitions,
        )
        self.asked += 1
        self.hooks.asking(request)
        cancel, heard = self.turn.cancel, self.listeners
        reply = ask(provider, request, cancel, heard.text, heard.reasoning, heard.tools)
        self.hooks.answered(request, reply)
        self.count(reply)
        return reply

    def _do(self, reply: Reply, calls: Sequence[ToolCall]) -> bool:
        """Store the calls, run them, store the results; False when nothing more can be stored."""
        assert self.tools is not None  # noqa: S101 - the caller looked
        assert reply.finished is not None  # noqa: S101 - likewise
        reason = reply.finished.finish_reason
        stored = [call.stored() for call in calls]
        fields = {"tool_calls": stored, "finish_reason": reason}
        thinking = {"reasoning": reply.reasoning} if reply.reasoning else {}
        try:
            self.writer.write("assistant", reply.text, **fields, **thinking)
        except HermesError as error:
            self.lost = error
            return False
        text = without_memory(reply.text)
        self.history.append({"role": "assistant", "content": text, **fields})
        *first, last = self.tools.run(calls, self._turn(reason))
        made_sense = last.made_sense or any(result.made_sense for result in first)
        self.senseless = 0 if made_sense else self.senseless + 1
        return all(self._keep(result) for result in first) and self._keep_last(last)

    def _turn(self, reason: str) -> ToolTurn:
        turn = self.turn
        return ToolTurn(
            turn.session_id,
            turn.task_id,
            turn.cancel,
            self.listeners.tools,
            reason == "length",
            self.asked,
            turn.undo,
        )

    def _keep_last(self, result: ToolResult) -> bool:
        """Store the last result of a round, with the user's hints."""
        hints = self.steering.take() if self.steering is not None else ()
        if not self._keep(result, hints):
            if self.steering is not None:
                self.steering.put_back(hints)
            return False
        told(hints)
        return True

    def _keep(self, result: ToolResult, hints: tuple[Hint, ...] = ()) -> bool:
        ids = {"tool_call_id": result.call_id, "tool_name": result.name}
        content = with_hints(tool_text(result.content), hints)
        try:
            self.writer.write("tool", content, **ids)
        except HermesError as error:
            self.lost = error
            return False
        self.history.append({"role": "tool", "content": content, **ids})
        return True
