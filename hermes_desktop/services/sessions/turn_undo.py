"""Undo of turns: the files that they changed, and the conversation. Blocking."""

import contextlib
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from hermes_desktop.agent.undo.restoring import (
    MOST_DIFF_LINES,
    PutBack,
    Step,
    Undo,
    difference,
    keep_present,
    plan_undo,
    put_back,
    undone,
)
from hermes_desktop.agent.undo.turn_record import new_name, records_since
from hermes_desktop.agent.undo.turn_undo import UndoStore
from hermes_desktop.agent.undo.undo_record import UndoRecord, begin_undo
from hermes_desktop.core.errors import BusyError, NotFoundError, RefusedError
from hermes_desktop.services.sessions.session_actions import RunningTurn, RunningTurnError
from hermes_desktop.services.sessions.undo_plan import (
    TurnUndoPlan,
    TurnUndoResult,
    UndoChoice,
    UndoneRestored,
)
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.records.records import Message

_MOST_TURNS = 1000
_MOST_NAMED = 40


class TurnUndoing:
    """Undoes turns in one home. Blocking; may be called on any thread.

    Args:
        db: The shared file, open for writing.
        store: What is kept of the home's turns.
        locks: The locks of conversations, so that no turn begins meanwhile.
        running_turn: Finds running turns.
    """

    def __init__(
        self,
        db: SessionDB,
        store: UndoStore,
        locks: ConversationLocks,
        running_turn: RunningTurn,
    ) -> None:
        self._db = db
        self._store = store
        self._locks = locks
        self._running_turn = running_turn

    # ------------------------------------------------------------------------------ looking

    def require_writable(self) -> None:
        """Raise ``StateReadOnlyError`` where only another program may change conversations."""
        self._db.require_writable()

    def plan(self, session_id: str, turns: int = 1, *, message_id: int = 0) -> TurnUndoPlan:
        """Return what undoing the last turns would do; changes nothing.

        Args:
            session_id: Any part of the conversation.
            turns: How many; fewer if there are no more.
            message_id: A message of the first of these turns, instead of their number; 0: none.

        Raises:
            NotFoundError: The session is gone, has no turn, or the message is none of its own.
            RunningTurnError: A turn runs in it.
        """
        shown = self._db.resolve_resume_session_id(session_id)
        if self._db.get_session(shown) is None:
            raise NotFoundError(
                "This session no longer exists.", f"There is no session with the ID {shown}."
            )
        self._refuse_running(shown)
        asked = self._db.list_recent_user_messages(
            shown, limit=_MOST_TURNS if message_id else turns
        )
        if message_id:
            asked = self._up_to(asked, shown, message_id)
        if not asked:
            raise NotFoundError("There is nothing to undo.", "It has no messages from you.")
        first = asked[-1]
        records = records_since(
            self._store.records,
            shown,
            self._db.get_compression_lineage(shown),
            message_id=first["id"],
            since=float(first["timestamp"] or 0.0),
        )
        return TurnUndoPlan(
            shown,
            first["id"],
            len(asked),
            str(first["preview"]),
            plan_undo(self._store, records),
            tuple(self._db.active_message_ids(shown, first["id"])),
        )

    def messages(self, plan: TurnUndoPlan) -> tuple[Message, ...]:
        """Return the first messages that a plan would remove."""
        return tuple(self._db.messages_by_ids(plan.rows[:_MOST_NAMED]))

    def difference(self, step: Step, most_lines: int = MOST_DIFF_LINES) -> str:
        """Return what would change in a file, as a unified difference; "" where it has no text."""
        return difference(self._store, step, most_lines)

    def last_undo(self, session_id: str) -> str:
        """Return the latest undo of a conversation that can be reverted; "" for none."""
        shown = self._db.resolve_resume_session_id(session_id)
        parts = {shown, *self._db.get_compression_lineage(shown)}
        found = [each.id for each in self._store.undos.all() if each.session_id in parts]
        return found[-1] if found else ""

    # ------------------------------------------------------------------------------ undoing

    def undo(
        self,
        plan: TurnUndoPlan,
        choice: UndoChoice | None = None,
        *,
        alone: bool = False,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> TurnUndoResult:
        """Restore the files, then remove the messages.

        If the program is killed in between, the same call finishes the work. What is replaced is
        kept before, so that :meth:`redo` can bring it back.

        Args:
            plan: The plan.
            choice: What of it is carried out.
            alone: The caller keeps turns out of the session already.
            on_progress: Called after each file.
            cancel: Once set, the remaining files and the messages stay.

        Raises:
            RunningTurnError: A turn has begun.
            BusyError: Another program is about to answer.
            NotFoundError: A file of ``only`` was not changed.
            RefusedError: Something was added to the conversation since the plan was made, or what
                is there now cannot be kept.
        """
        self._db.require_writable()
        choice = choice or UndoChoice()
        takes_turns = bool(plan.message_id) and not choice.only
        takes_messages = takes_turns and not choice.files_only
        with self._alone_in(plan.session_id, alone=alone):
            self._check(plan)
            files = _chosen(plan.files, choice)
            record, files, failed = self._begin(
                plan, files, plan.rows if takes_messages else (), takes_turns=takes_turns
            )
            done = self._put_back(files, on_progress, cancel)
            done = replace(done, failed=(*failed, *done.failed))
            rows = 0
            if takes_turns and not done.stopped:
                undone(self._store, plan.files.records)
            if takes_messages and not done.stopped:
                taken = self._db.rewind_to_message(plan.session_id, plan.message_id)
                rows = int(taken["rewound_count"])
            if record.id and not done.stopped:
                self._store.undos.write(replace(record, finished=True))
        tried = {*files.steps, *(step for step, _ in done.failed)}
        relevant = _only(plan.files, choice.only).steps if choice.only else plan.files.steps
        left = (each for each in relevant if each.state == "changed-since" and each not in tried)
        return TurnUndoResult(done, tuple(left), rows, record.id)

    def redo(
        self,
        session_id: str,
        undo_id: str = "",
        *,
        alone: bool = False,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> UndoneRestored:
        """Take back an undo: files and messages are as they were before it.

        If the program is killed in between, the same call finishes the work.

        Args:
            session_id: Any part of the conversation.
            undo_id: The undo; "": the latest one there.
            alone: The caller keeps turns out of the session already.
            on_progress: Called after each file.
            cancel: Once set, the remaining files and the messages stay.

        Raises:
            NotFoundError: There is no undo to revert.
            RunningTurnError: A turn runs in the session.
            BusyError: Another program is about to answer.
            RefusedError: The conversation has gone on since.
        """
        self._db.require_writable()
        record = self._store.undos.get(undo_id or self.last_undo(session_id))
        if record is None:
            raise NotFoundError(
                "There is nothing to restore.", "No turn was undone here in the last 14 days."
            )
        shown = self._db.resolve_resume_session_id(record.session_id)
        with self._alone_in(shown, alone=alone):
            self._refuse_running(shown)
            self._refuse_gone_on(record, shown)
            files = plan_undo(self._store, record.folders)
            done = self._put_back(replace(files, steps=files.having("ready")), on_progress, cancel)
            rows = 0
            if not done.stopped:
                if record.rows:
                    rows = self._db.restore_messages(record.session_id, record.rows)
                self._mark_as_before(record)
            if not done.stopped and not done.failed:
                self._store.undos.remove(record.id)
        return UndoneRestored(done, files.having("changed-since", "not-kept"), rows)

    # ------------------------------------------------------------------------------ its parts

    @contextlib.contextmanager
    def _alone_in(self, session_id: str, *, alone: bool) -> Iterator[None]:
        if alone:
            yield
            return
        lock = self._locks.attempt(session_id)
        try:
            if not lock.try_now():
                raise BusyError(
                    "A reply is being written in this session.", "", "Wait until it is finished."
                )
            yield
        finally:
            lock.give_back()

    def _check(self, plan: TurnUndoPlan) -> None:
        self._refuse_running(plan.session_id)
        if not plan.message_id:
            return
        asked = self._db.list_recent_user_messages(plan.session_id, limit=plan.turns)
        if not asked or asked[-1]["id"] != plan.message_id:
            raise RefusedError(
                "The session was changed in the meantime.",
                "Nothing was changed.",
                "Check it again.",
            )

    def _begin(
        self, plan: TurnUndoPlan, files: Undo, rows: tuple[int, ...], *, takes_turns: bool
    ) -> tuple[UndoRecord, Undo, list[tuple[Step, str]]]:
        """Keep what is about to be replaced.

        Returns:
            The record of the undo; the files without those that others changed and that cannot be
            kept; and these, with the reason.
        """
        folders = keep_present(self._store, files)
        kept = {(each.folder, path): e for each in folders for path, e in each.before.items()}
        lost = [
            each
            for each in files.steps
            if each.state == "changed-since"
            and each.now is not None
            and each.now.kind == "file"
            and not ((e := kept.get((each.folder, each.path))) and e.content)
        ]
        turns = {each.id: each.state for each in plan.files.records} if takes_turns else {}
        record = UndoRecord(
            new_name(time.time_ns()),
            plan.session_id,
            plan.message_id if rows else 0,
            folders,
            rows,
            turns,
        )
        if not files.steps and not rows:
            return replace(record, id=""), files, []
        try:
            record = begin_undo(self._store.undos, record)
        except OSError as error:
            raise RefusedError(
                "Nothing was undone.",
                f"The present files cannot be saved first: {error.strerror}.",
                "Free some space on the disk of your Hermes home.",
            ) from error
        steps = tuple(each for each in files.steps if each not in lost)
        why = "its present content cannot be saved first"
        return record, replace(files, steps=steps), [(each, why) for each in lost]

    def _put_back(
        self, files: Undo, on_progress: OnProgress, cancel: CancelSignal | None
    ) -> PutBack:
        return put_back(
            self._store,
            files,
            overwrite=True,
            on_step=lambda done, total: on_progress(Progress("Updating files", done, total)),
            cancelled=cancel.is_set if cancel is not None else _never,
        )

    def _mark_as_before(self, undo: UndoRecord) -> None:
        for name, state in undo.turns.items():
            record = self._store.records.get(name)
            if record is not None:
                self._store.records.write(replace(record, state=state))

    def _refuse_gone_on(self, record: UndoRecord, shown: str) -> None:
        if not record.rows:
            return
        now = self._db.active_message_ids(record.session_id, record.rows[0])
        if shown != record.session_id or not set(now) <= set(record.rows):
            raise RefusedError(
                "This can no longer be restored.",
                "The session continued after the turn was undone.",
                "Undo what came after it first.",
            )

    def _up_to(
        self, asked: Sequence[dict[str, Any]], session_id: str, message_id: int
    ) -> list[dict[str, Any]]:
        """Return the user messages from the turn of a message on."""
        found = self._db.messages_by_ids([message_id])
        if not found or found[0].session_id != session_id or not found[0].active:
            raise NotFoundError(
                "This turn cannot be undone.",
                "It was summarized, or undone already.",
                "Undo a later one.",
            )
        for count, each in enumerate(asked, 1):
            if each["id"] <= message_id:
                return list(asked[:count])
        return []

    def _refuse_running(self, session_id: str) -> None:
        turn = self._running_turn(session_id)
        if turn is not None:
            raise RunningTurnError(session_id, turn, "undone")


def _never() -> bool:
    return False


def _chosen(files: Undo, choice: UndoChoice) -> Undo:
    """Return the files of a plan that are put back."""
    if choice.only:
        files = _only(files, choice.only)
    steps = files.having("ready", "changed-since") if choice.overwrite else files.having("ready")
    if choice.chosen is not None:
        steps = tuple(e for e in files.having("ready", "changed-since") if e in choice.chosen)
    return replace(files, steps=steps)


def _only(files: Undo, wanted: Collection[str]) -> Undo:
    steps = tuple(each for each in files.steps if each.shown in wanted)
    missing = sorted(set(wanted) - {each.shown for each in steps})
    if missing:
        raise NotFoundError(
            f"{missing[0]} is not among the changed files.",
            "Nothing was undone.",
            "List the files with --dry-run.",
        )
    return replace(files, steps=steps)
