"""The agent: one turn of a conversation, from the typed text to the stored reply."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hermes_desktop.agent.compression.compression_turn import ContextLimiter, restore_question
from hermes_desktop.agent.providers.base import ChatProvider, Reply
from hermes_desktop.agent.session_titles import TitleWriter
from hermes_desktop.agent.steering import Heard, Steering
from hermes_desktop.agent.turns.folder_news import folder_news
from hermes_desktop.agent.turns.system_prompt import PromptBuilder
from hermes_desktop.agent.turns.tool_rounds import (
    MAX_TURNS,
    Listeners,
    PersistedCallback,
    RowWriter,
    ToolRounds,
    Tools,
    ToolTurn,
    sent_fields,
    text_to_send,
)
from hermes_desktop.agent.turns.turn_hooks import TurnHooks
from hermes_desktop.agent.turns.turn_results import failed_result, finished_result, gone_error
from hermes_desktop.agent.types import (
    AgentResult,
    CallNote,
    CancelSignal,
    ConversationMessage,
    StreamCallback,
    ToolListener,
    amounts_of,
)
from hermes_desktop.agent.undo.runs_later import runs_later_note
from hermes_desktop.agent.undo.turn_undo import TurnUndo, UndoStore
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.core.session_context import set_current_session_id
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation import without_memory
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.records.content_codec import clean_text

log = logging.getLogger(__name__)

_TOOLS_END_S = 0.5
"""How long the end of a stopped turn waits for its tools."""
INTERRUPTED = "interrupted"
"""``finish_reason`` of an incomplete reply: stopped by the user, or broken off."""


class AIAgent:
    """An agent that runs turns, one at a time.

    It owns a provider and a history in memory, not a conversation.

    Args:
        provider: The model provider.
        store: Where turns are stored; written by the agent itself.
        prompts: Where the system prompts it sends are stored.
        session_id: The session it starts with.
        source: ``sessions.source`` of a row it creates.
        clock: For the date in a new system prompt.
        soul_path: The user's description of the assistant.
        session_fields: Further columns of a row it creates, as ``create_session`` takes them.
        tools: The tools; None for none.
        max_turns: How often the model is called in one turn.
        room: Keeps conversations within the context of the model; None: they are not compacted.
        titles: Sets titles of conversations; None: they get none.
        undo: Where what a turn changes is kept before; None: turns cannot be undone.
        folder: The folder in which its tools work; "" if they need none.

    Attributes:
        session_id: The session of the next turn.
        on_moved: Called on the turn's thread with the session a conversation continues in; or None.
        tells_tools: Its caller may listen to its tools.
        says_what_it_heard: :meth:`steer` takes a callback for when a hint is stored.
        tells_plugins: It notifies plugins of its turns itself; its caller need not.
    """

    tells_plugins = True
    tells_tools = True
    says_what_it_heard = True

    def __init__(  # noqa: PLR0913 - each part is given, none is looked up
        self,
        *,
        provider: ChatProvider,
        store: SessionDB,
        prompts: SessionPrompts,
        session_id: str,
        source: str,
        clock: Clock,
        soul_path: Path | None = None,
        session_fields: Mapping[str, Any] = MappingProxyType({}),
        tools: Tools | None = None,
        max_turns: int = MAX_TURNS,
        room: ContextLimiter | None = None,
        titles: TitleWriter | None = None,
        undo: UndoStore | None = None,
        folder: str = "",
    ) -> None:
        self.session_id = session_id
        self._provider = provider
        self._store = store
        self._prompts = prompts
        self._source = source
        self._new_prompt = PromptBuilder(clock, soul_path, tools)
        self._session_fields = dict(session_fields)
        self._tools = tools
        self._max_turns = max_turns
        self.room = room
        self._titles = titles
        self._undo = undo
        self._folder = folder
        self.on_moved: Callable[[str], None] | None = None
        if room is not None:
            room.moved = self._switch_session
        self._cached_system_prompt: str | None = None
        self._prompt_kept_for: str | None = None
        self._history: list[ConversationMessage] | None = None
        self._row_seen = False
        self._cancel = threading.Event()
        self._steering = Steering()

    @property
    def model(self) -> str:
        """The name of the model that answers."""
        return self._provider.choice.model

    # ------------------------------------------------------------------------- between two turns

    def bind(
        self,
        session_id: str,
        history: Sequence[ConversationMessage] | None,
        *,
        has_row: bool = False,
    ) -> None:
        """Set the session of the next turn.

        Args:
            session_id: The session.
            history: The history to continue; None keeps the one in memory for the same session, and
                reads that of another session from the store.
            has_row: The session is known to have a row. If the row is gone when the turn begins,
                the session was deleted, and no new row is created.
        """
        if session_id != self.session_id:
            self.session_id = session_id
            self._cached_system_prompt = None
            self._history = None
            self._row_seen = False
        if history is not None:
            self._history = list(history)
            if self.room is not None:
                self.room.forget()
        self._row_seen = self._row_seen or has_row or bool(history)

    def interrupt(self, message: str | None = None) -> None:
        """Stop the running turn; does nothing if there is none. Thread-safe."""
        if message:
            log.info("Interrupted: %s", message)
        self._cancel.set()

    def steer(self, text: str, heard: Heard | None = None) -> bool:
        """Send a hint to the running turn, after the result of its next tool. Thread-safe.

        Hints that no tool result follows are returned in the turn's result as ``pending_steer``.

        Args:
            text: The user's text.
            heard: Called once it is stored with the model's input.

        Returns:
            False when no turn accepts hints.
        """
        return self._tools is not None and self._steering.add(clean_text(text), heard)

    def release_clients(self) -> None:
        """Close idle connections; the next turn opens new ones."""
        self._provider.close()
        if self.room is not None:
            self.room.care.close()

    def close(self) -> None:
        """Stop the running turn and release all resources."""
        self.interrupt()
        self.release_clients()
        if self._tools is not None:
            self._tools.close()
        if self._titles is not None:
            self._titles.close()

    # --------------------------------------------------------------------------------- one turn

    def run_conversation(  # noqa: PLR0913 - the first five are what callers of an agent know
        self,
        user_message: str,
        system_message: str | None = None,
        conversation_history: Sequence[ConversationMessage] | None = None,
        task_id: str | None = None,
        stream_callback: StreamCallback | None = None,
        *,
        reasoning_callback: StreamCallback | None = None,
        persisted_callback: PersistedCallback | None = None,
        tool_callback: ToolListener | None = None,
        turn_note: str = "",
        platform_message_id: str | None = None,
    ) -> AgentResult:
        """Store the user's message, call the model, store the reply. Blocks the turn's thread.

        Args:
            user_message: The user's message; halves of surrogate pairs become U+FFFD.
            system_message: Added to the system prompt when that is built, in the first turn.
            conversation_history: Replaces the history in memory.
            task_id: Name of the turn for logs.
            stream_callback: Receives each piece of the reply.
            reasoning_callback: Receives each piece of the model's thinking.
            persisted_callback: Receives the id of each stored row, the user's first.
            tool_callback: Receives starts and ends of tools, notes, the context usage; any thread.
            turn_note: Precedes the message in the model's input, now and whenever the conversation
                is sent again; not part of the stored text as typed.
            platform_message_id: The platform's id of the message.

        Returns:
            The result. It has ``failed`` set if the model does not answer, or if the session's row
            was deleted during the turn (``error_kind`` is then ``session_gone``).

        Raises:
            UsageError: The text is blank.
            StateError: The store failed before the text was stored.
            BusyError: Likewise, because other programs hold the store.
        """
        cancel, text = threading.Event(), text_to_send(user_message)
        self._cancel = cancel
        set_current_session_id(self.session_id)
        log.debug("Turn %s of %s begins", task_id or "", self.session_id)
        if conversation_history is not None:
            self._history = list(conversation_history)
        self._follow_others(cancel, tool_callback)
        writer = RowWriter(self._store, self.session_id, persisted_callback)
        hooks = TurnHooks(self.session_id, task_id, self._provider.choice, self._source, cancel)
        try:
            prompt, history = self._prepare(system_message)
            sent = sent_fields(text, clean_text(self._with_news(turn_note, prompt, history)))
            writer.write("user", text, platform_message_id=platform_message_id, **sent)
        except NotFoundError:
            return self._gone(hooks, text)
        history.append({"role": "user", "content": without_memory(text), **sent})
        history = self._make_room(prompt, history, writer, hooks)
        self._let_plugins_add(hooks, text, history)
        rounds = ToolRounds(
            provider=self._provider,
            tools=self._tools,
            most=self._max_turns,
            prompt=prompt,
            history=history,
            writer=writer,
            hooks=hooks,
            turn=self._tool_turn(task_id, cancel, writer),
            listeners=Listeners(stream_callback, reasoning_callback, tool_callback),
            count=self._count_tokens,
            room=self.room,
            steering=self._steering,
        )
        result = self._run(rounds)
        hooks.over(result, text, rounds.history)
        return result

    def _with_news(self, note: str, prompt: str, history: Sequence[ConversationMessage]) -> str:
        """Return the note for the model, with its working folder if that has changed."""
        news = folder_news(self._folder, prompt, history) if self._folder else ""
        return "\n\n".join(part for part in (note.strip(), news) if part)

    def _gone(self, hooks: TurnHooks, text: str) -> AgentResult:
        known = self._history or []
        gone = gone_error(self.session_id)
        result = failed_result(self.session_id, gone, "session_gone", known)
        hooks.over(result, text, known)
        return result

    def _run(self, rounds: ToolRounds) -> AgentResult:
        """Run the rounds until the turn is over, and accept hints until then."""
        self._steering.begin()
        try:
            reply = rounds.run()
        finally:
            unheard = self._steering.end()
        result = self._conclude(reply, rounds)
        if rounds.turn.undo is not None:
            result["runs_later"] = self._finish_undo(rounds.turn.undo, rounds)
        if unheard:
            result["pending_steer"] = unheard
        return result

    def _tool_turn(self, task_id: str | None, cancel: CancelSignal, writer: RowWriter) -> ToolTurn:
        undo = TurnUndo(self._undo, self.session_id, writer.ids[0]) if self._undo else None
        return ToolTurn(self.session_id, task_id or self.session_id, cancel, undo=undo)

    def _finish_undo(self, undo: TurnUndo, rounds: ToolRounds) -> list[str]:
        """Compare what the turn changed, and return which files other programs run later.

        If a tool of a stopped turn does not end immediately, that is done in the background.
        """
        if not undo.began:
            return []
        session_id = self.session_id
        try:
            asked = self._store.list_recent_user_messages(session_id, limit=1)
        except HermesError:
            asked = []
        # After a compaction it is another row.
        message_id = asked[0]["id"] if asked else rounds.writer.ids[0]
        if not undo.ended_within(_TOOLS_END_S):
            ending = threading.Thread(
                target=undo.finish, args=(session_id, message_id), name="undo", daemon=True
            )
            ending.start()
            return []
        found = [each for done in undo.finish(session_id, message_id) for each in done.runs_later]
        listener = rounds.listeners.tools
        if found and listener is not None:
            listener(CallNote(runs_later_note(found, session_id), lasting=True))
        return [each.path for each in found]

    def _follow_others(self, cancel: CancelSignal, heard: ToolListener | None) -> None:
        """Wait for a compaction by other programs, and follow the conversation."""
        if self.room is None:
            return
        self.room.listener = heard
        goes_on_in = self.room.goes_on_in(self.session_id, cancel) if self._row_seen else None
        if goes_on_in is not None:
            self._history = None  # read again
            self._switch_session(goes_on_in)

    def _make_room(
        self, prompt: str, history: list[ConversationMessage], writer: RowWriter, hooks: TurnHooks
    ) -> list[ConversationMessage]:
        """Compact the conversation, if the coming request would be too long for the model."""
        if self.room is None:
            return history
        done = self.room.before_turn(self.session_id, prompt, history, self._cancel)
        if done is None or not done.changed:
            return history
        self._switch_session(done.session_id)
        writer.move(done.session_id)
        hooks.move(done.session_id)
        self._history = self._store.get_messages_as_conversation(done.session_id)
        return self._history

    def _switch_session(self, session_id: str) -> None:
        """Continue in this session."""
        moved = session_id != self.session_id
        self.session_id = session_id
        set_current_session_id(session_id)
        if moved and self.on_moved is not None:
            self.on_moved(session_id)

    def _let_plugins_add(
        self, hooks: TurnHooks, text: str, history: list[ConversationMessage]
    ) -> None:
        """Append the plugins' context to the model's input; the message itself stays."""
        is_first_turn = len(history) == 1
        if is_first_turn:
            hooks.session_started()
        context = hooks.context(text, history, is_first_turn=is_first_turn)
        if not context:
            return
        asked = history[-1]
        asked["api_content"] = f"{asked.get('api_content') or asked['content']}\n\n{context}"
        try:
            self._store.set_latest_user_api_content(self.session_id, text, asked["api_content"])
        except HermesError as error:
            # It is sent now; without it in later requests, the model reads a little again.
            log.warning("What plugins added is not kept: %s", error.title)

    def _prepare(self, system_message: str | None) -> tuple[str, list[ConversationMessage]]:
        """Return the prompt and the history of this turn; creates a missing row."""
        row = self._store.get_session(self.session_id)
        if row is None and self._row_seen:
            raise NotFoundError("The session is gone.")
        prompt = self._prompt(system_message)  # stored before there is a row
        if row is None:
            fields = {"model": self.model, **self._session_fields}
            self._store.create_session(self.session_id, self._source, **fields)
        if self._history is None:
            self._history = self._store.get_messages_as_conversation(self.session_id)
        self._row_seen = True
        return prompt, self._history

    def _prompt(self, system_message: str | None) -> str:
        """Return the session's system prompt, the same for every turn and all our processes."""
        prompt = known = self._cached_system_prompt
        if prompt is None or self._prompt_kept_for != self.session_id:
            prompt = self._prompts.settle(
                self.session_id,
                lambda stored: known or self._new_prompt.build(stored, system_message),
            )
            self._cached_system_prompt, self._prompt_kept_for = prompt, self.session_id
        return prompt

    def _conclude(self, reply: Reply, rounds: ToolRounds) -> AgentResult:
        """Store the last reply and return the result."""
        text = without_memory(reply.text)
        reason = reply.finished.finish_reason if reply.finished else INTERRUPTED
        lost = rounds.lost
        if isinstance(lost, NotFoundError):
            lost = gone_error(self.session_id)
        if text and lost is None:
            try:
                self._switch_session(restore_question(self._store, rounds))
                rounds.writer.write(
                    "assistant",
                    reply.text,
                    finish_reason=reason,
                    reasoning=reply.reasoning or None,
                )
            except NotFoundError:
                lost = gone_error(self.session_id)
            except HermesError as error:
                log.exception("The reply could not be stored")
                lost = error
            else:
                entry = {"role": "assistant", "content": text, "finish_reason": reason}
                rounds.history.append(entry)
        known = finished_result(self.session_id, reply, rounds.history, rounds.writer.ids, lost)
        known["api_calls"] = rounds.asked
        if reply.error is not None and self.room is not None and self.room.exhausted:
            known["compression_exhausted"] = True
        if known["completed"] and self._titles is not None:
            self._titles.after_turn(self.session_id, rounds.history)
        return known

    def _count_tokens(self, reply: Reply) -> None:
        used = reply.finished
        if used is None or not (used.input_tokens or used.output_tokens):
            return
        choice = self._provider.choice
        try:
            self._store.update_token_counts(
                self.session_id,
                only_existing=True,
                **amounts_of(used, choice),
            )
        except HermesError as error:
            # The reply is stored; a missing figure must not make it look lost.
            log.warning("Token counts of %s were not stored: %s", self.session_id, error.title)
