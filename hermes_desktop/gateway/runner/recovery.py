"""Resuming, after a restart, what the last run of the gateway could not finish."""

import contextlib
import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from hermes_desktop.core.errors import HermesError, RefusedError
from hermes_desktop.gateway.access.refusals import closing
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery import resume_after_restart as resuming
from hermes_desktop.gateway.delivery.resume_after_restart import InterruptedChat, ResumeDecision
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.runner.core_parts import CoreParts
from hermes_desktop.gateway.runner.state import RunnerState
from hermes_desktop.gateway.runtime_files.restart_files import RestartFiles
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.turns import turn_outcome
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

log = logging.getLogger(__name__)


class ResumeMarks:
    """Marks chats while their turns run, and clears the marks.

    A chat of a messaging platform is marked as long as a turn of it runs, so that the mark survives
    a killed process. A private runner marks nothing.
    """

    def __init__(self, state: RunnerState, chats: Chats) -> None:
        self._state = state
        self._chats = chats

    @property
    def files(self) -> RestartFiles | None:
        """The files that one run leaves for the next; None for a private runner."""
        return RestartFiles(self._state.home) if self._state.home is not None else None

    def applies_to(self, adapter: PlatformAdapter) -> bool:
        """Return whether chats of a platform are marked while their turns run."""
        return self._state.home is not None and adapter.platform is not Platform.DESKTOP

    def is_cut_off(self, record: TurnRecord, outcome: TurnOutcome) -> bool:
        """Return whether a shutdown interrupted a turn that the next run will resume."""
        ended = self._state.draining and outcome.outcome == "stopped"
        return ended and record.marked and not record.unwanted

    def not_begun(self, record: TurnRecord) -> TurnOutcome:
        """Return the outcome of a message that arrives during shutdown."""
        if self._state.restart_requested and self._state.inbox_kept:
            self._state.left_for_next_run.add(record.turn_id)
            return turn_outcome.stopped()
        return turn_outcome.from_error(closing())

    def mark(
        self, record: TurnRecord, adapter: PlatformAdapter, session_entry: SessionEntry
    ) -> None:
        """Mark the chat of a starting turn, in case the process is killed. Blocks."""
        if not self.applies_to(adapter):
            return
        if session_entry.resume_pending and not record.note:
            record.note = resuming.NOTE_FOR_NEW_MESSAGE
        chat = self._chats[record.session_key]
        chat.marked_here, chat.attempt_counted = True, False
        self._state.session_store.mark_resume_pending(record.session_key, resuming.CUT_OFF)
        record.marked = True

    async def settle(self, record: TurnRecord, outcome: TurnOutcome) -> None:
        """Clear the resume mark of the chat after the reply was delivered.

        Still under the claim, so that no other turn of the chat can have been marked.
        """
        if not record.marked:
            return
        settle = partial(self._settle_chat, record, outcome.prompt_tokens)
        if self.is_cut_off(record, outcome):
            settle = partial(self._cut_off_chat, record)
        try:
            await self._state.aside(settle)
        except (HermesError, RuntimeError) as error:
            log.warning("The end of a turn of %s was not noted: %s", record.session_key, error)

    def _cut_off_chat(self, record: TurnRecord) -> None:
        reason = "restart_timeout" if self._state.restart_requested else "shutdown_timeout"
        self._state.session_store.mark_resume_pending(record.session_key, reason)

    def _settle_chat(self, record: TurnRecord, prompt_tokens: int | None) -> None:
        if record.unwanted:
            self._state.session_store.clear_resume_pending(record.session_key)
        else:
            self._state.session_store.settle_turn(record.session_key, prompt_tokens)
        self.forget_attempts(record.session_key)

    def forget_attempts(self, session_key: str) -> None:
        """Drop the attempts of a chat that needs no resuming any more, or never again. Blocks."""
        files = self.files
        if files is None or not self._chats.peek(session_key).resumed:
            return
        counts = files.failure_counts()
        if counts.pop(session_key, None) is not None:
            files.set_failure_counts(counts)

    def note_end(self, *, in_order: bool) -> None:
        """Record that the run ended, and whether all its turns did. Blocks."""
        files = self.files
        if files is None:
            return
        self._take_back_attempts(files)
        if in_order:
            files.note_clean_end()

    def _take_back_attempts(self, files: RestartFiles) -> None:
        """Do not count attempts to resume a chat whose turn had not begun when the run ended."""
        not_begun = [key for key, chat in self._chats.items() if chat.attempt_counted]
        if not not_begun:
            return
        counts = files.failure_counts()
        for session_key in not_begun:
            self._chats[session_key].attempt_counted = False
            counts[session_key] = counts.get(session_key, 0) - 1
        files.set_failure_counts({key: count for key, count in counts.items() if count > 0})


class Recovery:
    """Resumes the chats that a restart interrupted. A private runner resumes nothing.

    Args:
        enqueue: Queues a message with a note for the model; may raise :class:`RefusedError`.
        is_authorized: Returns whether a sender may write; may read a file.
    """

    def __init__(
        self,
        core: CoreParts,
        marks: ResumeMarks,
        *,
        enqueue: Callable[[MessageEvent, SessionSource, PlatformAdapter, str], None],
        is_authorized: Callable[[SessionSource | None], bool],
    ) -> None:
        self._state = core.state
        self._chats = core.chats
        self._marks = marks
        self._replies = core.replies
        self._enqueue = enqueue
        self._is_authorized = is_authorized
        self._may_resume = True
        """False when the gateway was restarted repeatedly: nothing is resumed then."""

    async def look_back(self) -> None:
        """Find out how the last run ended, before any platform is connected."""
        self._state.restored.clear()
        self._state.startup_restore_in_progress = self._state.home is not None
        if self._state.home is not None:
            await self._state.aside(self._read_last_run)

    def _read_last_run(self) -> None:
        files = self._marks.files
        if files is None:
            return
        self._may_resume = True
        in_order = files.take_clean_end()
        try:
            marked = self._state.session_store.pending_chats()
            for entry in marked:
                self._chats[entry.session_key].was_marked = True
            unsure = 0 if in_order else self._state.session_store.suspend_recently_active()
        except HermesError as error:
            log.warning("Interrupted chats cannot be found: %s", error)
            return
        if marked or unsure:
            self._may_resume = files.record_start(self._state.clock.time()) < resuming.MAX_BOOTS
        if not self._may_resume:
            log.error("The gateway was started several times in a minute; nothing is resumed")

    async def resume(self) -> None:
        """Resume what was interrupted, then accept the messages that arrived in the meantime."""
        try:
            if self._state.home is not None:
                await self.resume_chats()
                await self._send_restart_notice()
        except Exception:  # new messages must be answered in any case
            log.exception("Interrupted chats could not be resumed")
        finally:
            self._state.startup_restore_in_progress = False
            self._state.restored.set()

    async def resume_chats(self, platform: Platform | None = None) -> int:
        """Resume chats that a restart interrupted, each at most once in this run.

        Args:
            platform: Only its chats, once it is connected; None: of all that have an adapter.

        Returns:
            The number of resumed chats.
        """
        if self._state.home is None:
            return 0
        found = await self._state.aside(self._find_interrupted, platform)
        fates = {entry.session_key: self._decide(chat) for entry, chat in found}
        continued = {key for key, fate in fates.items() if fate is ResumeDecision.CONTINUE}
        await self._state.aside(self._count_attempts, continued)
        for entry, _ in found:
            await self._apply(entry, fates[entry.session_key])
        return len(continued)

    def _decide(self, chat: InterruptedChat) -> ResumeDecision:
        fate = chat.fate(inbox_kept=self._state.inbox_kept)
        return (
            ResumeDecision.LEAVE
            if fate is ResumeDecision.CONTINUE and not self._may_resume
            else fate
        )

    def _find_interrupted(
        self, platform: Platform | None
    ) -> list[tuple[SessionEntry, InterruptedChat]]:
        """Return the chats to consider, with what is known of each. Blocks."""
        counts = self._marks.files.failure_counts() if self._marks.files is not None else {}
        return [
            (entry, self._describe(entry, counts.get(entry.session_key, 0)))
            for entry in self._state.session_store.pending_chats()
            if entry.resume_reason in resuming.RESUME_REASONS
            and platform in {None, entry.platform}
            and self._can_be_resumed(entry)
        ]

    def _count_attempts(self, continued: set[str]) -> None:
        """Increment the attempts of these chats; counts of recovered chats are dropped."""
        if self._marks.files is None:
            return
        counts = self._marks.files.failure_counts()
        pending = {entry.session_key for entry in self._state.session_store.pending_chats()}
        counted = resuming.count_attempts(counts, continued, pending)
        if counted != counts:
            self._marks.files.set_failure_counts(counted)
        for session_key in continued:
            self._chats[session_key].attempt_counted = True

    def _can_be_resumed(self, entry: SessionEntry) -> bool:
        chat = self._chats.peek(entry.session_key)
        if chat.resumed or chat.marked_here:
            return False
        adapter = self._state.adapters.get(entry.platform) if entry.platform is not None else None
        return (
            adapter is not None
            and self._marks.applies_to(adapter)
            and entry.origin is not None
            and getattr(adapter, "interactive_resume", True)
            and self._is_authorized(entry.origin)
        )

    def _describe(self, entry: SessionEntry, attempts: int) -> InterruptedChat:
        chat = self._chats.peek(entry.session_key)
        last = next(iter(self._state.database().read_messages(entry.session_id, limit=1)), None)
        used = self._state.clock.now() - entry.updated_at
        said = timedelta(seconds=self._state.clock.time() - (last.timestamp if last else 0.0))
        open_request = resuming.wants_answer(last, certain=chat.was_marked, settled=used < said)
        fresh_s = self._state.config.running.resume_fresh_s
        return InterruptedChat(
            session_key=entry.session_key,
            session_id=entry.session_id,
            certain=chat.was_marked,
            attempts=attempts,
            open_request=open_request or chat.unanswered is not None,
            fresh=resuming.is_fresh(entry, self._state.clock.now(), fresh_s),
            ended=entry.expiry_finalized,
        )

    async def _apply(self, entry: SessionEntry, fate: ResumeDecision) -> None:
        """Apply the decision about a chat, once in this run."""
        source, session_key = entry.origin, entry.session_key
        adapter = self._state.adapters.get(source.platform) if source is not None else None
        chat = self._chats[session_key]
        done = fate is ResumeDecision.LEAVE or chat.resumed
        if source is None or adapter is None or done:
            return
        chat.resumed = True
        if fate is ResumeDecision.CONTINUE:
            # A request made in time is answered in its session, whatever the reset policy says now.
            await self._state.aside(self._state.session_store.update_session, session_key)
            event = MessageEvent(resuming.PROMPT, source=source, internal=True)
            note = resuming.note_for(chat.unanswered or "")
            chat.unanswered = None
            with contextlib.suppress(
                RefusedError
            ):  # a stop was requested; it discounts the attempt
                self._enqueue(event, source, adapter, note)
            return
        store = self._state.session_store
        if fate is ResumeDecision.GIVE_UP:
            await self._state.aside(store.suspend_session, session_key)
        await self._state.aside(store.clear_resume_pending, session_key)
        await self._state.aside(self._marks.forget_attempts, session_key)
        words = {
            ResumeDecision.TELL: resuming.SEND_AGAIN,
            ResumeDecision.GIVE_UP: resuming.GIVEN_UP,
        }.get(fate)
        if words is not None:  # not awaited: new messages must not wait for it
            told = self._replies.deliver(MessageEvent(words, source=source), adapter, words)
            self._state.notices.start(told, name="interrupted chat")

    # Restart notices

    async def store_notice_chat(self, chat: SessionSource) -> None:
        """Have the next run notify a chat that the gateway is back."""
        files = self._marks.files
        if files is None:
            return
        facts = {
            "platform": chat.platform.value,
            "chat_id": chat.chat_id,
            "chat_type": chat.chat_type,
            "thread_id": chat.thread_id,
            "message_id": chat.message_id,
        }
        known = {name: value for name, value in facts.items() if value}
        await self._state.aside(files.store_notice_chat, known)

    async def _send_restart_notice(self) -> None:
        files = self._marks.files
        if files is None:
            return
        chat = await self._state.aside(files.pop_notice_chat)
        try:
            source = SessionSource.from_dict(chat)
        except (KeyError, ValueError, TypeError):
            return
        adapter = self._state.adapters.get(source.platform)
        if adapter is not None:
            told = self._replies.say(adapter, source, resuming.BACK)
            self._state.notices.start(told, name="restart notice")
