"""Resuming, after a restart, what the last run of the gateway could not finish."""

import logging
from datetime import timedelta
from functools import cached_property, partial

from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery import resume_after_restart as resuming
from hermes_desktop.gateway.delivery.resume_after_restart import InterruptedChat, ResumeDecision
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.runner_busy import RunnerBusy
from hermes_desktop.gateway.runtime_files.restart_files import RestartFiles
from hermes_desktop.gateway.session import SessionEntry, SessionSource
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.gateway.turns.turn_outcome import TurnOutcome

log = logging.getLogger(__name__)


class RunnerRestoring(RunnerBusy):
    """Marks chats with running turns, and resumes those that a restart interrupted.

    A chat of a messaging platform is marked as long as a turn of it runs, so that the mark survives
    a killed process. A private runner marks and resumes nothing.

    Attributes:
        _cut_off: Session keys that were marked when this run started.
        _unanswered: By session key: a message whose reply was interrupted and that was followed by
            other messages in its session.
        _taken_up: Session keys that this run has already processed.
        _marked_here: Session keys that this run has marked: it answers them itself.
        _may_resume: False when the gateway was restarted repeatedly: nothing is resumed
            automatically then.
    """

    _may_resume = True

    @cached_property
    def _cut_off(self) -> set[str]:
        return set()

    @cached_property
    def _unanswered(self) -> dict[str, str]:
        return {}

    @cached_property
    def _taken_up(self) -> set[str]:
        return set()

    @cached_property
    def _marked_here(self) -> set[str]:
        return set()

    @property
    def _restart_files(self) -> RestartFiles | None:
        return RestartFiles(self.home) if self.home is not None else None

    def _is_marked(self, adapter: PlatformAdapter) -> bool:
        """Return whether chats of a platform are marked while their turns run."""
        return self.home is not None and adapter.platform is not Platform.DESKTOP

    # Start

    async def _look_back(self) -> None:
        """Find out how the last run ended, before any platform is connected."""
        self._restored.clear()
        self._startup_restore_in_progress = self.home is not None
        if self.home is not None:
            await self._aside(self._read_the_past)

    def _read_the_past(self) -> None:
        files = self._restart_files
        if files is None:
            return
        self._may_resume = True
        in_order = files.take_clean_end()
        try:
            self._cut_off.update(e.session_key for e in self.session_store.pending_chats())
            marked = 0 if in_order else self.session_store.suspend_recently_active()
        except HermesError as error:
            log.warning("Chats that were cut off cannot be found: %s", error)
            return
        if self._cut_off or marked:
            self._may_resume = files.record_start(self.clock.time()) < resuming.MAX_BOOTS
        if not self._may_resume:
            log.error("The gateway was started several times in a minute; nothing is taken up")

    async def _take_up(self) -> None:
        """Resume what was interrupted, then let the messages in that arrived meanwhile."""
        try:
            if self.home is not None:
                await self.resume_chats()
                await self._say_that_we_are_back()
        except Exception:  # new messages must be answered in any case
            log.exception("What was cut off could not be taken up")
        finally:
            self._startup_restore_in_progress = False
            self._restored.set()

    async def resume_chats(self, platform: Platform | None = None) -> int:
        """Resume chats that a restart interrupted, each at most once in this run.

        Args:
            platform: Only its chats, once it is connected; None: of all that have an adapter.

        Returns:
            The number of resumed chats.
        """
        if self.home is None:
            return 0
        found = await self._aside(self._find_cut_off, platform)
        fates = {entry.session_key: self._fate(cut_off) for entry, cut_off in found}
        continued = {key for key, fate in fates.items() if fate is ResumeDecision.CONTINUE}
        await self._aside(self._count_attempts, continued)
        for entry, _ in found:
            await self._deal_with(entry, fates[entry.session_key])
        return len(continued)

    def _fate(self, cut_off: InterruptedChat) -> ResumeDecision:
        fate = cut_off.fate(inbox_kept=self.inbox_kept)
        return (
            ResumeDecision.LEAVE
            if fate is ResumeDecision.CONTINUE and not self._may_resume
            else fate
        )

    def _find_cut_off(
        self, platform: Platform | None
    ) -> list[tuple[SessionEntry, InterruptedChat]]:
        """Return the chats to consider, with what is known of each. Blocks."""
        counts = self._restart_files.failure_counts() if self._restart_files is not None else {}
        return [
            (entry, self._describe(entry, counts.get(entry.session_key, 0)))
            for entry in self.session_store.pending_chats()
            if entry.resume_reason in resuming.RESUME_REASONS
            and entry.session_key not in self._taken_up | self._marked_here
            and platform in {None, entry.platform}
            and self._can_be_taken_up(entry)
        ]

    def _count_attempts(self, continued: set[str]) -> None:
        """Increment the attempts of these chats; counts of recovered chats are dropped."""
        if self._restart_files is None:
            return
        counts = self._restart_files.failure_counts()
        pending = {entry.session_key for entry in self.session_store.pending_chats()}
        counted = resuming.count_attempts(counts, continued, pending)
        if counted != counts:
            self._restart_files.set_failure_counts(counted)

    def _can_be_taken_up(self, entry: SessionEntry) -> bool:
        adapter = self.adapters.get(entry.platform) if entry.platform is not None else None
        return (
            adapter is not None
            and self._is_marked(adapter)
            and entry.origin is not None
            and getattr(adapter, "interactive_resume", True)
            and self._is_user_authorized(entry.origin)
        )

    def _describe(self, entry: SessionEntry, attempts: int) -> InterruptedChat:
        certain = entry.session_key in self._cut_off
        last = next(iter(self._database().read_messages(entry.session_id, limit=1)), None)
        used = self.clock.now() - entry.updated_at
        said = timedelta(seconds=self.clock.time() - (last.timestamp if last else 0.0))
        open_request = resuming.wants_answer(last, certain=certain, settled=used < said)
        fresh_s = self.config.running.resume_fresh_s
        return InterruptedChat(
            session_key=entry.session_key,
            session_id=entry.session_id,
            certain=certain,
            attempts=attempts,
            open_request=open_request or entry.session_key in self._unanswered,
            fresh=resuming.is_fresh(entry, self.clock.now(), fresh_s),
            ended=entry.expiry_finalized,
        )

    async def _deal_with(self, entry: SessionEntry, fate: ResumeDecision) -> None:
        """Apply the decision about a chat, once in this run."""
        source, session_key = entry.origin, entry.session_key
        adapter = self.adapters.get(source.platform) if source is not None else None
        done = fate is ResumeDecision.LEAVE or session_key in self._taken_up
        if source is None or adapter is None or done:
            return
        self._taken_up.add(session_key)
        if fate is ResumeDecision.CONTINUE:
            # A request made in time is answered in its session, whatever the reset policy says now.
            await self._aside(self.session_store.update_session, session_key)
            event = MessageEvent(resuming.PROMPT, source=source, internal=True)
            note = resuming.note_for(self._unanswered.pop(session_key, ""))
            self._enqueue(event, source, adapter, note=note)
            return
        store = self.session_store
        if fate is ResumeDecision.GIVE_UP:
            await self._aside(store.suspend_session, session_key)
        await self._aside(store.clear_resume_pending, session_key)
        await self._aside(self._forget_attempts, session_key)
        words = {
            ResumeDecision.TELL: resuming.SEND_AGAIN,
            ResumeDecision.GIVE_UP: resuming.GIVEN_UP,
        }.get(fate)
        if words is not None:  # not awaited: new messages must not wait for it
            told = self._deliver(MessageEvent(words, source=source), adapter, words)
            self._notices.start(told, name="tell of what was cut off")

    # While turns run

    def _mark_turn(
        self, record: TurnRecord, adapter: PlatformAdapter, session_entry: SessionEntry
    ) -> None:
        """Mark the chat of a starting turn, in case the process is killed. Blocks."""
        if not self._is_marked(adapter):
            return
        if session_entry.resume_pending and not record.note:
            record.note = resuming.NOTE_FOR_NEW_MESSAGE
        self._marked_here.add(record.session_key)
        self.session_store.mark_resume_pending(record.session_key, resuming.CUT_OFF)
        record.marked = True

    async def _settle_marks(self, record: TurnRecord, outcome: TurnOutcome) -> None:
        """Clear the resume mark of the chat after the reply was delivered.

        Still under the claim, so that no other turn of the chat can have been marked.
        """
        if not record.marked:
            return
        settle = partial(self._settle_chat, record, outcome.prompt_tokens)
        if self._is_cut_off(record, outcome):
            settle = partial(self._cut_off_chat, record)
        try:
            await self._aside(settle)
        except (HermesError, RuntimeError) as error:
            log.warning("The end of a turn of %s was not noted: %s", record.session_key, error)

    def _cut_off_chat(self, record: TurnRecord) -> None:
        reason = "restart_timeout" if self._restart_requested else "shutdown_timeout"
        self.session_store.mark_resume_pending(record.session_key, reason)

    def _settle_chat(self, record: TurnRecord, prompt_tokens: int | None) -> None:
        if record.unwanted:
            self.session_store.clear_resume_pending(record.session_key)
        else:
            self.session_store.settle_turn(record.session_key, prompt_tokens)
        self._forget_attempts(record.session_key)

    def _forget_attempts(self, session_key: str) -> None:
        """Drop the attempts of a chat that needs no resuming any more, or never again. Blocks."""
        files = self._restart_files
        if files is None or session_key not in self._taken_up:
            return
        counts = files.failure_counts()
        if counts.pop(session_key, None) is not None:
            files.set_failure_counts(counts)

    # Stop

    def _note_end(self, *, in_order: bool) -> None:
        if in_order and self._restart_files is not None:
            self._restart_files.note_clean_end()

    # Restart notices

    async def _ask_for_notice(self, chat: SessionSource) -> None:
        """Have the next run notify a chat that the gateway is back."""
        files = self._restart_files
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
        await self._aside(files.store_notice_chat, known)

    async def _say_that_we_are_back(self) -> None:
        files = self._restart_files
        if files is None:
            return
        chat = await self._aside(files.pop_notice_chat)
        try:
            source = SessionSource.from_dict(chat)
        except (KeyError, ValueError, TypeError):
            return
        adapter = self.adapters.get(source.platform)
        if adapter is not None:
            told = self._say(adapter, source, resuming.BACK)
            self._notices.start(told, name="tell that we are back")
