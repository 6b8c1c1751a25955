"""Undo of turns: the files that they changed, and the conversation. Blocking."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from hermes_desktop.agent.undo.restoring import (
    PutBack,
    Step,
    Undo,
    difference,
    plan_undo,
    put_back,
    undone,
)
from hermes_desktop.agent.undo.turn_record import TurnRecord
from hermes_desktop.agent.undo.turn_undo import UndoStore
from hermes_desktop.core.errors import BusyError, NotFoundError, RefusedError
from hermes_desktop.services.sessions.session_actions import RunningTurn, RunningTurnError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks


@dataclass(frozen=True, slots=True)
class TurnUndoPlan:
    """What undoing the last turns of a session would do.

    Attributes:
        session_id: The newest part of the conversation.
        message_id: The first user message that is taken back; 0: none is.
        turns: The number of turns.
        text: The beginning of that message.
        files: What would be put back.
    """

    session_id: str
    message_id: int
    turns: int
    text: str
    files: Undo


@dataclass(frozen=True, slots=True)
class TurnUndoResult:
    """What was undone.

    Attributes:
        files: What was put back.
        left: Files that were left because somebody changed them since.
        rows: The number of messages taken back; 0: the conversation stayed.
    """

    files: PutBack
    left: tuple[Step, ...]
    rows: int


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

    def plan(self, session_id: str, turns: int = 1) -> TurnUndoPlan:
        """Return what undoing the last turns would do; changes nothing.

        Args:
            session_id: Any part of the conversation.
            turns: How many; fewer if there are no more.

        Raises:
            NotFoundError: The session is gone, or has no turn.
            RunningTurnError: A turn runs in it.
        """
        shown = self._db.resolve_resume_session_id(session_id)
        if self._db.get_session(shown) is None:
            raise NotFoundError(
                "This session no longer exists.", f"There is no session with the ID {shown}."
            )
        self._refuse_running(shown)
        asked = self._db.list_recent_user_messages(shown, limit=turns)
        if not asked:
            raise NotFoundError("There is nothing to undo.", "It has no messages from you.")
        first = asked[-1]
        records = self._records(shown, first["id"], float(first["timestamp"] or 0.0))
        files = plan_undo(self._store, records)
        return TurnUndoPlan(shown, first["id"], len(asked), str(first["preview"]), files)

    def difference(self, step: Step) -> str:
        """Return what would change in a file, as a unified difference; "" where it has no text."""
        return difference(self._store, step)

    def undo(
        self,
        plan: TurnUndoPlan,
        *,
        overwrite: bool = False,
        files_only: bool = False,
        only: Collection[str] = (),
    ) -> TurnUndoResult:
        """Restore the files, then remove the messages.

        If the program is killed in between, the same call finishes the work.

        Args:
            plan: The plan.
            overwrite: Also put back files that somebody else changed since.
            files_only: Leave the conversation as it is.
            only: Put back these files only, as they are shown, and leave the conversation.

        Raises:
            RunningTurnError: A turn has begun.
            BusyError: Another program is about to answer.
            NotFoundError: A file of ``only`` was not changed.
            RefusedError: Something was added to the conversation since the plan was made.
        """
        self._db.require_writable()
        lock = self._locks.attempt(plan.session_id)
        try:
            if not lock.try_now():
                raise BusyError(
                    "A reply is being written in this session.", "", "Wait until it is finished."
                )
            self._refuse_running(plan.session_id)
            asked = self._db.list_recent_user_messages(plan.session_id, limit=plan.turns)
            if not asked or asked[-1]["id"] != plan.message_id:
                raise RefusedError(
                    "The session was changed in the meantime.",
                    "Nothing was changed.",
                    "Check it again.",
                )
            files = _only(plan.files, only) if only else plan.files
            done = put_back(self._store, files, overwrite=overwrite)
            left = () if overwrite else files.having("changed-since")
            rows = 0
            if not only:
                undone(self._store, plan.files.records)
            if not only and not files_only:
                taken = self._db.rewind_to_message(plan.session_id, plan.message_id)
                rows = int(taken["rewound_count"])
        finally:
            lock.give_back()
        return TurnUndoResult(done, left, rows)

    def _records(self, session_id: str, message_id: int, since: float) -> Sequence[TurnRecord]:
        """Return the records of the turns from a message on.

        After a compaction the message may be another row; then the time decides.
        """
        parts = set(self._db.get_compression_lineage(session_id)) | {session_id}
        return [
            each
            for each in self._store.records.all()
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
