"""Undo of turns: the files that they changed, and the conversation. Blocking."""

import contextlib
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from hermes_desktop.agent.undo.reviews import reviews_of
from hermes_desktop.agent.undo.turn_record import TurnRecord, least_name, new_name
from hermes_desktop.agent.undo.turn_undo import UndoStore
from hermes_desktop.agent.undo.undo_record import UndoRecord, begin_undo
from hermes_desktop.core.errors import BusyError, NotFoundError, RefusedError
from hermes_desktop.services.sessions.session_actions import RunningTurn, RunningTurnError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, Progress, silent
from hermes_desktop.state.records.records import Message

__all__ = [
    "ChangedByTurn",
    "PutBack",
    "SessionChanges",
    "Step",
    "TurnUndoPlan",
    "TurnUndoResult",
    "TurnUndoing",
    "Undo",
    "UndoChoice",
    "UndoneRestored",
    "UnseenFiles",
    "typed_undo",
]

_MOST_TURNS = 1000
_MOST_NAMED = 40
_CLOCK_SLACK_S = 3600.0


@dataclass(frozen=True, slots=True)
class TurnUndoPlan:
    """What undoing the last turns of a session would do.

    Attributes:
        session_id: The newest part of the conversation.
        message_id: The first user message that is removed; 0: none is.
        turns: The number of turns.
        text: The beginning of that message.
        files: What would be put back.
        rows: The rows of the messages that would be removed.
    """

    session_id: str
    message_id: int
    turns: int
    text: str
    files: Undo
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class UndoChoice:
    """What of a plan is carried out.

    Attributes:
        overwrite: Also put back files that somebody else changed since.
        files_only: Leave the conversation as it is.
        only: Put back these files only, as they are shown, and leave the conversation.
        chosen: Put back exactly these files of the plan; None: those that nobody changed since.
    """

    overwrite: bool = False
    files_only: bool = False
    only: Collection[str] = ()
    chosen: Collection[Step] | None = None


@dataclass(frozen=True, slots=True)
class TurnUndoResult:
    """What was undone.

    Attributes:
        files: What was put back.
        left: Files that were left because somebody changed them since.
        rows: The number of removed messages; 0: the conversation stayed.
        undo_id: The undo, to take it back with :meth:`TurnUndoing.redo`; "": nothing was replaced.
    """

    files: PutBack
    left: tuple[Step, ...]
    rows: int
    undo_id: str = ""


@dataclass(frozen=True, slots=True)
class UndoneRestored:
    """What taking back an undo restored.

    Attributes:
        files: The files.
        left: Files that were left because somebody changed them after the undo.
        rows: The number of messages that are back.
    """

    files: PutBack
    left: tuple[Step, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class UnseenFiles:
    """Changed files that run automatically later and that the user has not looked at yet.

    Attributes:
        plan: Puts all of them back; the conversation stays.
        run_by: What runs each of them, by the path that is shown.
        reviews: The names of the reviews that they belong to.
    """

    plan: TurnUndoPlan
    run_by: Mapping[str, str] = field(default_factory=dict)
    reviews: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedByTurn:
    """The last turn of a session, which changed files.

    Attributes:
        message_id: The row of the user's message.
        last_id: The row of its last message.
        files: How many; 0: not known, because the turn was interrupted.
    """

    message_id: int
    last_id: int
    files: int


@dataclass(frozen=True, slots=True)
class SessionChanges:
    """What the turns of a session changed, as far as the user can act on it.

    Attributes:
        unseen: Files that run later and wait for the user.
        last_turn: The last turn, if it changed files and can be undone.
    """

    unseen: UnseenFiles | None = None
    last_turn: ChangedByTurn | None = None


def typed_undo(text: str) -> int:
    """Return how many turns a typed ``/undo`` takes back; 0 for any other message.

    Where a preview can be shown, it is handled there; with other words behind it, it is sent like
    any command.
    """
    found = re.fullmatch(r"/undo(?:\s+([1-9][0-9]{0,2}))?", text.strip(), re.IGNORECASE)
    return int(found[1] or 1) if found is not None else 0


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
        records = self._records(shown, first["id"], float(first["timestamp"] or 0.0))
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
        parts = self._parts(self._db.resolve_resume_session_id(session_id))
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

    # ------------------------------------------------------------------- changes of a session

    def changes(self, session_id: str) -> SessionChanges:
        """Return what the turns of a session changed, as far as the user can act on it.

        Raises:
            StateError: The shared file cannot be read.
        """
        return SessionChanges(self.unseen(session_id), self.last_turn(session_id))

    def last_turn(self, session_id: str) -> ChangedByTurn | None:
        """Return the last turn if it changed files and can be undone; None otherwise.

        Raises:
            StateError: The shared file cannot be read.
        """
        if not self._db.condition.writable or not self._store.records.names():
            return None
        shown = self._db.resolve_resume_session_id(session_id)
        asked = self._db.list_recent_user_messages(shown, limit=1)
        if not asked:
            return None
        message_id = int(asked[0]["id"])
        since = float(asked[0]["timestamp"] or 0.0)
        records = self._records(shown, message_id, since, least_name(since - _CLOCK_SLACK_S))
        interrupted = any(each.state == "running" for each in records)
        files = {
            (record.folder, path)
            for record in records
            for path, entry in record.after.items()
            if (left := entry or record.before.get(path)) and left.kind != "folder"
        }
        if not (interrupted or files) or (interrupted and self._running_turn(shown) is not None):
            return None
        last_id = max(self._db.active_message_ids(shown, message_id), default=message_id)
        return ChangedByTurn(message_id, last_id, 0 if interrupted else len(files))

    def unseen(self, session_id: str) -> UnseenFiles | None:
        """Return the changed files that run later and wait for the user; None for none.

        Raises:
            StateError: The shared file cannot be read.
        """
        if not self._store.reviews.names():
            return None
        shown = self._db.resolve_resume_session_id(session_id)
        run_by: dict[str, str] = {}
        records: list[TurnRecord] = []
        waiting = reviews_of(self._store.reviews, self._parts(shown))
        for review in waiting:
            record = self._store.records.get(review.id)
            if record is None or record.state == "undone":
                continue
            paths = {each.path: each.by for each in review.files}
            run_by |= paths
            records.append(_narrowed(record, paths))
        files = plan_undo(self._store, records)
        steps = tuple(e for e in files.steps if e.state != "as-before" and e.now is not None)
        if not steps:
            return None
        plan = TurnUndoPlan(shown, 0, 0, "", Undo((), steps))
        shown_by = {each.shown: run_by[each.path] for each in steps}
        return UnseenFiles(plan, shown_by, tuple(each.id for each in waiting))

    def keep(self, files: UnseenFiles) -> None:
        """Note that the user has looked at these files; they are not shown again."""
        for name in files.reviews:
            self._store.reviews.remove(name)

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

    def _parts(self, session_id: str) -> set[str]:
        return set(self._db.get_compression_lineage(session_id)) | {session_id}

    def _records(
        self, session_id: str, message_id: int, since: float, least: str = ""
    ) -> Sequence[TurnRecord]:
        """Return the records of the turns from a message on.

        After a compaction the message may be another row; then the time decides.

        Args:
            session_id: The newest part of the conversation.
            message_id: The row of the message.
            since: When it was written.
            least: The least name of the records that are read.
        """
        parts = self._parts(session_id)
        return [
            each
            for each in self._store.records.all(least)
            if each.session_id in parts
            and each.state != "undone"
            and (
                (each.session_id == session_id and each.message_id >= message_id)
                or each.began / 1e9 >= since
            )
        ]

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


def _narrowed(record: TurnRecord, paths: Collection[str]) -> TurnRecord:
    """Return a record with these files only."""
    return replace(
        record,
        before={path: each for path, each in record.before.items() if path in paths},
        after={path: each for path, each in record.after.items() if path in paths},
        why_not="",
    )


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
