"""Compaction of conversations, to keep them within the context of their model.

All changes are made to the rows in state.db, under a lock that all programs respect, and written
in one transaction. If another program was faster, its result is used.
"""

import contextlib
import logging
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hermes_desktop.agent.compression.compression_plan import Limits, Message, Plan, make_plan
from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.compression.compression_summary import (
    Summarizer,
    SummaryUsage,
    fallback_summary,
)
from hermes_desktop.agent.context_length import ContextWindows, Window, estimate
from hermes_desktop.agent.providers.base import ChatProvider
from hermes_desktop.agent.types import CancelSignal, amounts_of
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import (
    BusyError,
    HermesError,
    NotFoundError,
    ProviderError,
    RefusedError,
)
from hermes_desktop.core.files.lock_holder import new_holder_id, pid_of
from hermes_desktop.core.ids import new_session_id
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.compaction import Compaction, CompressionLock
from hermes_desktop.state.conversations.session_prompts import SessionPrompts

log = logging.getLogger(__name__)

Why = Literal["threshold", "overflow", "hygiene", "by_hand"]
Kind = Literal["done", "followed", "nothing", "busy", "failed", "cancelled"]

COOLDOWN_S = 600.0
MOST_VAIN = 2
"""After this many ineffective compactions in a row, none starts automatically."""
_REFRESH_S = 60.0
_HELPFUL = 0.9
_FAR_LESS = 0.6
_MOST_SUMMARY = 8_000
_CHAT_ID_DIGITS = 8
_SOON = "Try again in a moment."


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The result of a compaction.

    Attributes:
        kind: ``followed``: another program did it, or the conversation has already moved.
        session_id: Where the conversation continues.
        before: About how many tokens it had.
        after: About how many it has.
        messages: How many messages the summary replaces.
        without_model: No model could write the summary.
        error: Why nothing was done, with ``busy`` and ``failed``.
    """

    kind: Kind
    session_id: str
    before: int = 0
    after: int = 0
    messages: int = 0
    without_model: bool = False
    error: HermesError | None = None

    @property
    def changed(self) -> bool:
        """Whether the conversation must be read again."""
        return self.kind in {"done", "followed"}


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """The parameters of a compaction.

    Attributes:
        why: The reason. A summary without a model is acceptable for ``overflow`` only.
        focus: What is to be kept above all.
        exchanges: How many of the user's last messages stay; None: as set in the settings.
        in_place: None: as set in the settings.
        seen: About how many tokens the requester knows of, 0 if unknown. If state.db contains far
            less by now, another program was faster.
    """

    why: Why
    focus: str = ""
    exchanges: int | None = None
    in_place: bool | None = None
    seen: int = 0


class Compactor:
    """The compactor of one agent's conversations. Blocking; one thread at a time.

    Args:
        store: The store of the conversations.
        prompts: Their system prompts, which continuations keep.
        provider: The model that answers.
        windows: The context windows of models.
        settings: When and how.
        clock: For ids and times.
        auxiliary: Asked for summaries first; None: the model that answers.
    """

    def __init__(  # noqa: PLR0913 - each part is given, none is looked up
        self,
        *,
        store: SessionDB,
        prompts: SessionPrompts,
        provider: ChatProvider,
        windows: ContextWindows,
        settings: CompressionSettings,
        clock: Clock,
        auxiliary: ChatProvider | None = None,
    ) -> None:
        self.settings = settings
        self._store = store
        self._prompts = prompts
        self._provider = provider
        self._windows = windows
        self._clock = clock
        self._auxiliary = auxiliary
        self._vain: dict[str, int] = {}

    def close(self) -> None:
        """Close idle connections; a later call opens new ones. Thread-safe."""
        for each in (self._provider, self._auxiliary):
            if each is not None:
                each.close()

    # ----------------------------------------------------------------------------------- decisions

    def window(self, *, ask: bool = True) -> Window:
        """Return the context window of the model."""
        return self._windows.window(self._provider.choice, ask=ask)

    def found_small(self) -> int | None:
        """Return the model's window if its server reported a small one; once, else None."""
        return self._windows.found_small(self._provider.choice)

    def threshold(self, *, ask: bool = True) -> int:
        """Return the number of tokens from which a conversation is compacted."""
        max_tokens = self._provider.choice.max_tokens
        return self.settings.threshold_tokens(self.window(ask=ask), max_tokens)

    def learn(self, error: HermesError, sent_tokens: int) -> None:
        """Learn the window from a refusal."""
        words = f"{error.title} {error.detail}"
        window = self._windows.learn(self._provider.choice, words, sent_tokens)
        log.info("%s takes %d tokens", self._provider.choice.model, window.tokens)

    def is_blocked(self, session_id: str) -> bool:
        """Return whether automatic compaction is off: disabled, ineffective or just failed."""
        if not self.settings.enabled or self._vain.get(session_id, 0) >= MOST_VAIN:
            return True
        if self._store.get_compression_fallback_streak(session_id) >= MOST_VAIN:
            return True
        return self._store.get_compression_failure_cooldown(session_id) is not None

    # ---------------------------------------------------------------------------------- compaction

    def preview(self, session_id: str, wish: CompactionRequest) -> CompactionResult:
        """Return the expected result, as far as it is known before a summary is written."""
        rows = self._store.get_messages(session_id)
        plan = make_plan(rows, self._limits(wish, rows))
        before = estimate(rows)
        if plan is None:
            return CompactionResult("nothing", session_id, before, before)
        after = estimate(map(dict, plan.messages(""))) + self._summary_tokens(rows)
        return CompactionResult("done", session_id, before, min(before, after), len(plan.middle))

    def shorten(
        self,
        session_id: str,
        wish: CompactionRequest,
        cancel: CancelSignal,
        begins: Callable[[], object] = lambda: None,
    ) -> CompactionResult:
        """Compact a conversation. Does not raise expected errors; see :class:`CompactionResult`.

        Args:
            session_id: The conversation.
            wish: The parameters.
            cancel: Cancels it; then nothing is changed.
            begins: Called if there is something to compact, before the slow part.
        """
        holder = new_holder_id()
        if not self._store.try_acquire_compression_lock(session_id, holder):
            return CompactionResult("busy", session_id, error=self._why_busy(session_id))
        try:
            with self._kept(session_id, holder):
                done = self._locked(session_id, wish, holder, cancel, begins)
        except NotFoundError:
            return CompactionResult("nothing", session_id)
        except (BusyError, RefusedError) as error:
            return CompactionResult("busy", session_id, error=error)
        except HermesError as error:
            log.warning("%s was not compacted: %s", session_id, error.title)
            return CompactionResult("failed", session_id, error=error)
        finally:
            self._store.release_compression_lock(session_id, holder)
        self._note_guards(session_id, wish, done)
        return done

    def _why_busy(self, session_id: str) -> HermesError:
        try:
            held = self._store.compression_lock(session_id)
        except HermesError as error:
            return error
        return _busy(held, self._clock.time())

    @contextlib.contextmanager
    def _kept(self, session_id: str, holder: str) -> Iterator[None]:
        """Refresh the lock while a summary is written."""
        over = threading.Event()

        def refresh() -> None:
            while not over.wait(_REFRESH_S):
                self._store.refresh_compression_lock(session_id, holder)

        thread = threading.Thread(target=refresh, name="compression-lock", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _locked(
        self,
        session_id: str,
        wish: CompactionRequest,
        holder: str,
        cancel: CancelSignal,
        begins: Callable[[], object],
    ) -> CompactionResult:
        rows = self._store.get_messages(session_id)
        before = estimate(rows)
        overtaken = self._overtaken(session_id, wish, before)
        if overtaken is not None:
            return overtaken
        plan = make_plan(rows, self._limits(wish, rows))
        if plan is None:
            return CompactionResult("nothing", session_id, before, before)
        begins()
        summary, error = self._summary(session_id, plan, rows, wish, cancel)
        if summary is None:
            kind: Kind = "failed" if error is not None else "cancelled"
            return CompactionResult(kind, session_id, before, before, error=error)
        messages = plan.messages(summary)
        after = estimate(map(dict, messages))
        made = CompactionResult(
            "done", session_id, before, after, len(plan.middle), without_model=error is not None
        )
        if after >= before:
            return replace(made, kind="nothing")
        wanted = Compaction(session_id, holder, messages, rows[-1]["id"], len(rows))
        return self._write(made, wanted, wish)

    def _overtaken(
        self, session_id: str, wish: CompactionRequest, size: int
    ) -> CompactionResult | None:
        """Return the result if nothing is left to do; None if compaction is still needed."""
        row = self._store.get_session(session_id)
        if row is None:
            return CompactionResult("nothing", session_id)
        if row["end_reason"] == "compression":
            tip = self._store.get_compression_tip(session_id)
            if tip != session_id:
                return CompactionResult("followed", tip)
        if size < wish.seen * _FAR_LESS:
            return CompactionResult("followed", session_id, size, size)
        return None

    def _write(
        self, made: CompactionResult, wanted: Compaction, wish: CompactionRequest
    ) -> CompactionResult:
        in_place = self.settings.in_place if wish.in_place is None else wish.in_place
        if in_place:
            self._store.compact_in_place(wanted)
            return made
        digits = (
            _CHAT_ID_DIGITS if len(made.session_id.rpartition("_")[2]) == _CHAT_ID_DIGITS else 6
        )
        new_id = new_session_id(self._clock.now(), hex_digits=digits)
        self._prompts.carry(made.session_id, new_id)  # before there is a row that needs it
        self._store.rotate_session(wanted, new_id)
        log.info("%s continues as %s", made.session_id, new_id)
        return replace(made, session_id=new_id)

    # -------------------------------------------------------------------------------- the summary

    def _summary(
        self,
        session_id: str,
        plan: Plan,
        rows: Sequence[Message],
        wish: CompactionRequest,
        cancel: CancelSignal,
    ) -> tuple[str | None, HermesError | None]:
        """Return the summary, and why no model wrote it. (None, None): cancelled."""
        asked = [each for each in (self._auxiliary, self._provider) if each is not None]
        writer = Summarizer(asked, self._windows, self._summary_tokens(rows))
        try:
            return writer.write(plan, wish.focus, cancel), None
        except ProviderError as error:
            if wish.why != "overflow":
                return None, error
            return fallback_summary(plan), error
        finally:
            self._book(session_id, writer.spent)

    def _book(self, session_id: str, spent: Sequence[SummaryUsage]) -> None:
        for each in spent:
            try:
                self._store.record_auxiliary_usage(
                    session_id,
                    "compression",
                    only_existing=True,
                    **amounts_of(each.finished, each.choice),
                )
            except HermesError as error:  # only a figure, not the conversation
                log.warning("The token usage of a summary was not stored: %s", error.title)

    def _summary_tokens(self, rows: Sequence[Message]) -> int:
        part = min(estimate(map(dict, rows)), self.threshold())
        return max(300, min(_MOST_SUMMARY, part // 8))

    def _limits(self, wish: CompactionRequest, rows: Sequence[Message]) -> Limits:
        settings = self.settings
        tokens = int(self.threshold() * settings.target_ratio)
        if wish.why in {"by_hand", "hygiene"}:  # compact even what fits
            tokens = min(tokens, estimate(map(dict, rows)) // 2)
        return Limits(settings.protect_first_n, settings.protect_last_n, tokens, wish.exchanges)

    def _note_guards(
        self, session_id: str, wish: CompactionRequest, done: CompactionResult
    ) -> None:
        """Record what prevents us from repeating an ineffective compaction."""
        helped = done.kind == "done" and done.after <= done.before * _HELPFUL
        vain = 0 if helped else self._vain.get(session_id, 0) + (done.kind in {"done", "nothing"})
        if wish.why == "by_hand" and done.kind == "done":
            vain = 0
        self._vain = {done.session_id: vain}
        try:
            self._note_on_row(session_id, wish, done)
        except HermesError as error:
            log.warning("The outcome of a compaction was not stored: %s", error.title)

    def _note_on_row(
        self, session_id: str, wish: CompactionRequest, done: CompactionResult
    ) -> None:
        store = self._store
        if done.kind == "failed" and wish.why != "by_hand":
            until = self._clock.time() + COOLDOWN_S
            why = done.error.title if done.error is not None else ""
            store.record_compression_failure_cooldown(session_id, until, why)
        if done.kind != "done":
            return
        streak = store.get_compression_fallback_streak(session_id)
        wanted = streak + 1 if done.without_model else 0
        if wanted or streak:
            store.set_compression_fallback_streak(done.session_id, wanted)
        if store.get_compression_failure_cooldown(done.session_id) is not None:
            store.clear_compression_failure_cooldown(done.session_id)


def _busy(held: CompressionLock | None, now: float) -> BusyError:
    """Describe why it has to wait, and for how long at most if the holder of the lock is dead."""
    title = "The session is already being compressed."
    if held is None:
        return BusyError(title, "Another program or window is doing this.", _SOON)
    pid = pid_of(held.holder)
    who = "This program" if pid == os.getpid() else "Another program"
    number = f" (process {pid})" if pid is not None else ""
    since = max(0, round(now - held.acquired_at))
    minutes = max(1, math.ceil((held.expires_at - now) / 60))
    left = f"{minutes} minutes" if minutes > 1 else "a minute"
    return BusyError(
        title,
        f"{who}{number} has been doing this for {since} s.",
        f"{_SOON} If it was killed, the wait ends after {left} at most.",
    )
