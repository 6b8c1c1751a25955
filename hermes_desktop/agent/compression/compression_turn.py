"""Context management of one turn: before it, between its steps, when the model refuses, at its end.

Other programs may compact the conversation, too. They set aside every message that is stored when
their summary is done, even those they had not read, or continue in a new session without them. So a
turn waits until they are done, and a question that was set aside during the turn is stored again:
the reply must not be stored without it, or in an ended session.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_desktop.agent.compression.compression_plan import is_summary
from hermes_desktop.agent.compression.compression_settings import MOST
from hermes_desktop.agent.compression.context_compression import (
    CompactionRequest,
    CompactionResult,
    Compactor,
)
from hermes_desktop.agent.context_length import ENOUGH, estimate
from hermes_desktop.agent.providers.base import Reply
from hermes_desktop.agent.types import (
    CallNote,
    CancelSignal,
    ContextNews,
    ConversationMessage,
    ToolListener,
    TurnNews,
)
from hermes_desktop.core.errors import HermesError, NotFoundError, TooLongError
from hermes_desktop.core.files.lock_holder import is_ours, runs_here
from hermes_desktop.core.text.stored_text import estimate_text
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import Message

if TYPE_CHECKING:
    from hermes_desktop.agent.turns.tool_rounds import ToolRounds

log = logging.getLogger(__name__)

SMALL = 3_000
"""Below this many tokens the window is not determined: every model accepts them."""
LEAST_MESSAGES = 4
SMALL_WINDOW = (
    "The server on this machine loaded this model with a context window of {:,} tokens. With "
    "tools, {:,} or more are recommended; with less, the model forgets earlier messages."
)
SHORTENING = "Compressing the session so that it fits the context window of the model…"
"""Note shown while a summary is written."""


class ContextLimiter:
    """The limiter that keeps one agent's turns within the model's context. On the turn's thread.

    Args:
        care: Compacts conversations.
        store: Where a conversation is read again from.

    Attributes:
        exhausted: The last turn's conversation is too long and cannot be compacted further.
        moved: Called with the session a conversation continues in, as soon as it does.
        listener: Notified of the context usage and of compaction; None for no listener.
    """

    def __init__(self, care: Compactor, store: SessionDB) -> None:
        self.care = care
        self.exhausted = False
        self.moved: Callable[[str], None] = lambda _: None
        self.listener: ToolListener | None = None
        self._store = store
        self._tried = False
        self._seen: tuple[str, int, int] = ("", 0, 0)

    def goes_on_in(self, session_id: str, cancel: CancelSignal) -> str | None:
        """Return where a conversation continues if other programs have compacted it or do so now.

        Blocking.

        Args:
            session_id: The conversation.
            cancel: Ends the wait for them.

        Returns:
            The session, which must be read again; None: no other program compacted it.
        """
        found = wait_for_foreign_compaction(self._store, session_id, cancel, self.listener)
        if found is None:
            row = self._store.get_session(session_id)
            if row is None or row["end_reason"] != "compression":
                return None
            found = self._store.get_compression_tip(session_id)
        self.forget()
        return found

    def before_turn(
        self,
        session_id: str,
        prompt: str,
        history: Sequence[ConversationMessage],
        cancel: CancelSignal,
    ) -> CompactionResult | None:
        """Compact the conversation if the coming request would be too long.

        Args:
            session_id: The conversation.
            prompt: The system prompt.
            history: The messages, including the user's new one: it is stored by then, so that it is
                not lost if the process is killed.
            cancel: Cancels the compaction.

        Returns:
            The result; None when there was nothing to do.
        """
        self.exhausted = self._tried = False
        size = self._size(session_id, prompt, history)
        return self._shorten_from(size, session_id, history, cancel)

    def between(self, rounds: "ToolRounds") -> None:
        """Compact before a turn's next request, as tool outputs may have filled the context."""
        session_id = rounds.turn.session_id
        size = self._size(session_id, rounds.prompt, rounds.history)
        done = self._shorten_from(size, session_id, rounds.history, rounds.turn.cancel)
        if done is not None and done.changed:
            self._read_anew(rounds, done)

    def after_refusal(self, rounds: "ToolRounds", reply: Reply) -> bool:
        """Compact after the model refused; return whether to ask again, once per turn."""
        error = reply.error
        if not isinstance(error, TooLongError) or reply.text or not self.care.settings.enabled:
            return False
        sent = self._size(rounds.turn.session_id, rounds.prompt, rounds.history)
        self.care.learn(error, sent)
        if self._tried:
            self.exhausted = True
            return False
        self._tried = True
        wish = CompactionRequest("overflow", seen=estimate(rounds.history))
        done = self._shorten(rounds.turn.session_id, wish, rounds.turn.cancel)
        if not done.changed:
            self.exhausted = done.kind in {"nothing", "failed"}
            return False
        self._read_anew(rounds, done)
        return True

    def forget(self) -> None:
        """Discard the length of the last request, because the conversation was read again."""
        self._seen = ("", 0, 0)

    def note(self, session_id: str, reply: Reply, history: Sequence[ConversationMessage]) -> None:
        """Record the length of a request, as counted by the model."""
        used = reply.finished
        if used is not None and used.input_tokens:
            self._seen = (session_id, len(history), used.input_tokens)

    def report_usage(self, reply: Reply) -> None:
        """Report the context usage, as counted by the model."""
        used = reply.finished
        if used is None or not used.input_tokens:
            return
        self.care.window()  # a local server has just answered, so one query is enough
        self._tell_size(used.input_tokens + used.output_tokens)
        small = self.care.found_small()
        if small is not None:
            self._tell(CallNote(SMALL_WINDOW.format(small, ENOUGH), lasting=True))

    def tidy(
        self, session_id: str, messages: int, last_prompt_tokens: int, cancel: CancelSignal
    ) -> CompactionResult | None:
        """Compact a conversation that is nearly too long already, before its next turn.

        Args:
            session_id: The conversation.
            messages: The number of its messages.
            last_prompt_tokens: How long its latest request was, 0 if unknown.
            cancel: Cancels the compaction.
        """
        if not self.care.settings.enabled or messages < LEAST_MESSAGES:
            return None
        if not self._is_full(session_id, messages, last_prompt_tokens):
            return None
        if self.care.is_blocked(session_id):
            return None
        self._seen = ("", 0, 0)
        return self._shorten(session_id, CompactionRequest("hygiene", in_place=True), cancel)

    def _is_full(self, session_id: str, messages: int, last_prompt_tokens: int) -> bool:
        if messages >= self.care.settings.most_messages:
            return True
        size = last_prompt_tokens
        if not size and not self.care.settings.in_place:
            return False  # by the same estimate it is rotated when its turn begins
        if not size:
            size = estimate(self._store.get_messages_as_conversation(session_id))
        if size < SMALL:
            return False
        window = self.care.window()
        return window.certain and size >= window.tokens * MOST

    def _size(self, session_id: str, prompt: str, history: Sequence[ConversationMessage]) -> int:
        seen_id, count, tokens = self._seen
        if seen_id == session_id and count <= len(history):
            return tokens + estimate(history[count:])
        return estimate(history) + estimate_text(prompt)

    def _shorten_from(
        self,
        size: int,
        session_id: str,
        history: Sequence[ConversationMessage],
        cancel: CancelSignal,
    ) -> CompactionResult | None:
        if size < SMALL or len(history) < LEAST_MESSAGES or not self.care.settings.enabled:
            return None
        if size < self.care.threshold():
            return None
        try:
            if self.care.is_blocked(session_id):
                return None
        except HermesError as error:
            log.warning("Cannot determine whether %s may be compacted: %s", session_id, error.title)
            return None
        wish = CompactionRequest("threshold", seen=estimate(history))
        done = self._shorten(session_id, wish, cancel)
        log.info("%s had about %d tokens; compacting it: %s", session_id, size, done.kind)
        if done.changed:
            self._seen = ("", 0, 0)
        return done

    def _shorten(
        self, session_id: str, wish: CompactionRequest, cancel: CancelSignal
    ) -> CompactionResult:
        """Compact the conversation, and notify the listener while that takes time."""
        told = threading.Event()

        def begins() -> None:
            told.set()
            self._tell(CallNote(SHORTENING))

        try:
            done = self.care.shorten(session_id, wish, cancel, begins)
        finally:
            if told.is_set():
                self._tell(CallNote(""))
        if done.kind == "failed" and done.error is not None:
            self._tell(CallNote(f"The session could not be compressed: {done.error.title}"))
        elif done.kind == "done":
            self._tell_size(done.after, about=True)
        return done

    def _tell_size(self, tokens: int, *, about: bool = False) -> None:
        window = self.care.window(ask=False)
        known = window.tokens if window.certain else None
        limit = self.care.threshold(ask=False) if self.care.settings.enabled else None
        self._tell(ContextNews(tokens, known, limit, about))

    def _tell(self, news: TurnNews) -> None:
        if self.listener is None:
            return
        try:
            self.listener(news)
        except Exception:
            log.exception("A listener to a turn failed")

    def _read_anew(self, rounds: "ToolRounds", done: CompactionResult) -> None:
        """Continue with the conversation as it is stored now, in whichever session."""
        self._seen = ("", 0, 0)
        if done.session_id != rounds.turn.session_id:
            rounds.turn = replace(rounds.turn, session_id=done.session_id)
            rounds.writer.move(done.session_id)
            rounds.hooks.move(done.session_id)
            self.moved(done.session_id)
        rounds.history[:] = self._store.get_messages_as_conversation(done.session_id)


WAITING = "Another program is compressing this session; your message waits until it has finished…"
LONGEST_S = 150.0
_LOOK_S = 0.2


def wait_for_foreign_compaction(
    store: SessionDB,
    session_id: str,
    cancel: CancelSignal,
    tell: ToolListener | None,
    longest_s: float = LONGEST_S,
) -> str | None:
    """Wait while another program compacts a conversation. Blocking; never raises.

    Args:
        store: The store of the conversation.
        session_id: The conversation.
        cancel: Ends the wait.
        tell: Notified of the wait; None for no listener.
        longest_s: The time-out of the wait.

    Returns:
        Where the conversation continues, which must be read again; None: there was no wait.
    """
    try:
        if not _is_shortened(store, session_id):
            return None
        log.info("Another program is compacting %s", session_id)
        _say(tell, WAITING)
        try:
            pause, end = threading.Event(), time.monotonic() + longest_s
            while _is_shortened(store, session_id) and not cancel.is_set():
                if time.monotonic() >= end:
                    log.warning("No longer waiting for the compaction of %s", session_id)
                    break
                pause.wait(_LOOK_S)  # never set
        finally:
            _say(tell, "")
        return store.get_compression_tip(session_id)
    except HermesError as error:
        log.warning("Cannot determine whether %s is being compacted: %s", session_id, error.title)
        return None


def _is_shortened(store: SessionDB, session_id: str) -> bool:
    """Return whether a program that would not preserve new messages compacts it now."""
    holder = store.get_compression_lock_holder(session_id)
    return holder is not None and not is_ours(holder) and runs_here(holder)


def _say(tell: ToolListener | None, text: str) -> None:
    if tell is None:
        return
    try:
        tell(CallNote(text))
    except Exception:
        log.exception("A listener to a turn failed")


_KEPT = ("content", "api_content")


def restore_question(store: SessionDB, rounds: "ToolRounds") -> str:
    """Store the question again if it was set aside. Blocking.

    Returns:
        The session in which the conversation continues.

    Raises:
        NotFoundError: It is gone.
        HermesError: The store failed.
    """
    session_id = rounds.turn.session_id
    row = store.get_session(session_id)
    if row is None:
        raise NotFoundError("The session no longer exists.")
    goes_on_in = session_id
    if row["end_reason"] == "compression":
        goes_on_in = store.get_compression_tip(session_id)
    written = store.messages_by_ids(rounds.writer.ids[:1])
    if goes_on_in == session_id and not any(map(_was_set_aside, written)):
        return session_id
    asked = _questions(rounds.history)
    told = _questions(store.get_messages_as_conversation(goes_on_in))
    rounds.writer.move(goes_on_in)
    rounds.hooks.move(goes_on_in)
    same = [each for each in asked if each["content"] == asked[-1]["content"]]
    if len(same) > sum(each["content"] == asked[-1]["content"] for each in told):
        log.info("The question of %s is stored again in %s", session_id, goes_on_in)
        kept = {name: asked[-1][name] for name in _KEPT if asked[-1].get(name)}
        if written:
            kept["timestamp"] = written[0].timestamp  # so that it is shown once
        rounds.writer.write("user", kept.pop("content"), **kept)
    return goes_on_in


def _was_set_aside(message: Message) -> bool:
    """Return whether a message was summarized; a message the user took back stays so."""
    return message.compacted and not message.active


def _questions(history: Sequence[Any]) -> list[Any]:
    return [each for each in history if each["role"] == "user" and not is_summary(each)]
