"""Session actions: rename, archive, delete, undo. Blocking; may be called on any thread.

The window and the command line use the same functions, so both refuse the same things. Nothing here
imports asyncio or Qt.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.errors import NotFoundError, RefusedError
from hermes_desktop.services.sessions.bulk_sessions import BulkPlan
from hermes_desktop.services.sessions.delete_plan import DeletePlan, PlannedConversation
from hermes_desktop.services.sessions.session_catalog import existing_summary, gone_session
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.conversations.session_prompts import SessionPrompts
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, silent
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import (
    TrashReceipt,
    empty_trash,
    expire_trash,
    list_trash,
    trash_sessions,
)
from hermes_desktop.state.trash.trash_restore import Restored, restore_from_trash, settle_trash
from hermes_desktop.state.trash.trash_table import TrashItem

RunningTurn = Callable[[str], str | None]
"""Returns the running turn of a session as a phrase that ends a sentence; None if there is none."""


class RunningTurnError(RefusedError):
    """A turn runs in the session.

    Attributes:
        session_id: The session it runs in.
        turn: The phrase that :data:`RunningTurn` returned.
    """

    def __init__(self, session_id: str, turn: str, verb: str) -> None:
        super().__init__(
            f"The session cannot be {verb} now: a turn is running in it.",
            f"In session {session_id}: {turn}.",
            "Stop that turn or wait for its end, then try again.",
        )
        self.session_id = session_id
        self.turn = turn


def never_running(_: str) -> str | None:
    """Return None, for programs in which no turn can run."""
    return None


DELETED, PRUNED = "deleted", "pruned"
"""The reasons that the list of the trash shows."""


PINS_ARE_OURS = (
    "Hermes Desktop stores this pin itself. `hermes sessions prune` does not know it and can "
    "still delete the session."
)


@dataclass(frozen=True, slots=True)
class PinResult:
    """The result of pinning or unpinning.

    Attributes:
        ids: The given ids that were changed.
        known_to_hermes: Whether `hermes` knows these pins; if not, show :data:`PINS_ARE_OURS`.
    """

    ids: tuple[str, ...]
    known_to_hermes: bool


class SessionActions:
    """Changes sessions in one home. Blocking; may be called on any thread.

    All methods may raise ``BusyError`` (another program keeps a file locked) and ``StateError``.

    Args:
        db: The shared file, open for writing. The caller closes it.
        own_path: Our own file with the trash; created with the first delete.
        clock: The clock.
        running_turn: Finds running turns; called on the caller's thread.
    """

    def __init__(
        self,
        db: SessionDB,
        own_path: Path,
        *,
        clock: Clock | None = None,
        running_turn: RunningTurn = never_running,
    ) -> None:
        self._db = db
        self._own = DesktopDatabase(own_path)
        self._clock = clock or SystemClock()
        self._running_turn = running_turn

    def close(self) -> None:
        """Close our own file."""
        self._own.close()

    # ---------------------------------------------------------------------------------- deleting

    def plan_delete(self, ids: Collection[str]) -> DeletePlan:
        """Find what would be deleted with these sessions: all segments, and subagents.

        Raises:
            RunningTurnError: A turn runs in one of them.
        """
        self._db.require_writable()
        planned: list[PlannedConversation] = []
        missing: list[str] = []
        covered: set[str] = set()
        for session_id in ids:
            if session_id in covered:
                continue
            conversation = self._conversation(session_id)
            if conversation is None:
                missing.append(session_id)
                continue
            covered.update(conversation.segments, conversation.subagents)
            planned.append(conversation)
        plan = DeletePlan(tuple(planned), tuple(missing))
        self._refuse_running((*plan.segments, *plan.subagents), DELETED)
        return plan

    def delete(
        self,
        plan: DeletePlan,
        *,
        force: bool = False,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> TrashReceipt:
        """Move the planned conversations to the trash; :meth:`undo` restores them.

        What was added to a conversation since it was planned is deleted with it.

        Args:
            plan: The plan from :meth:`plan_delete`.
            force: Keep a copy in the trash however large it is.
            on_progress: Called for each conversation, and during a long one.
            cancel: Once set, the conversation in progress is restored, and the rest stays.

        Raises:
            RunningTurnError: A turn has begun in one of them; nothing was deleted.
            TrashTooLargeError: The copy would be very large; nothing was deleted.
            TrashDiskFullError: The disk has no room for the copy; nothing was deleted.
        """
        self._db.require_writable()
        self._refuse_running((*plan.segments, *plan.subagents), DELETED)
        self.tidy_trash()
        return trash_sessions(
            self._db,
            self._own,
            [each.segments[0] for each in plan.conversations],
            deleted_at=self._clock.time(),
            reason=DELETED,
            force=force,
            on_progress=on_progress,
            cancel=cancel,
        )

    def prune(
        self,
        plan: BulkPlan,
        *,
        force: bool = False,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> TrashReceipt:
        """Move the planned sessions to the trash, each separately; :meth:`undo` restores them.

        Children of a session, subagents included, become independent sessions. A session that was
        reopened, used or pinned since the plan stays.

        Args:
            plan: The plan from ``bulk_sessions.plan_prune``.
            force: Keep a copy in the trash however large it is.
            on_progress: Called for each session.
            cancel: Once set, the remaining sessions stay.

        Raises:
            TrashTooLargeError: The copy would be very large; nothing was deleted.
            TrashDiskFullError: The disk has no room for the copy; nothing was deleted.
        """
        self._db.require_writable()
        self.tidy_trash()
        return trash_sessions(
            self._db,
            self._own,
            [each.id for each in self._db.candidates(plan.choice)],
            deleted_at=self._clock.time(),
            reason=PRUNED,
            taking=self._db.ended_session_of(plan.choice),
            force=force,
            on_progress=on_progress,
            cancel=cancel,
        )

    def undo(self, receipt: TrashReceipt) -> tuple[Restored, ...]:
        """Undo a deletion. Items that are no longer in the trash are skipped.

        Raises:
            NotFoundError: None of its items is in the trash any more.
        """
        there = {item.trash_id for item in self.trash()}
        wanted = [item.trash_id for item in receipt.items if item.trash_id in there]
        if receipt.items and not wanted:
            raise NotFoundError(
                "This is no longer in the trash.",
                "It was restored or permanently deleted in the meantime.",
                "Check the list of the trash.",
            )
        return self.restore(wanted)

    # ------------------------------------------------------------------------------------- trash

    def trash(self) -> tuple[TrashItem, ...]:
        """Return what can be restored, the latest first."""
        return list_trash(self._own)

    def restore(
        self,
        trash_ids: Collection[int],
        *,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> tuple[Restored, ...]:
        """Restore conversations as they were; a taken id or title is replaced by a new one.

        Args:
            trash_ids: The ids of the trash items.
            on_progress: Called for each conversation, and during a long one.
            cancel: Once set, the remaining items stay in the trash.

        Raises:
            NotFoundError: The trash has no such item.
        """
        self._db.require_writable()
        return restore_from_trash(
            self._db, self._own, trash_ids, on_progress=on_progress, cancel=cancel
        )

    def empty_trash(self, *, older_than: float | None = None) -> int:
        """Delete trash permanently, optionally only items older than a time. Returns the count.

        Args:
            older_than: Epoch seconds; only items deleted before are removed.
        """
        self._db.require_writable()
        settle_trash(self._db, self._own)
        return empty_trash(self._own, older_than=older_than)

    def tidy_trash(self) -> int:
        """Finish what a crash interrupted, drop items older than 30 days, and return their count.

        Nothing is done where the shared file may not be written: what was interrupted stays open.
        """
        if not self._db.look_again().writable:
            return 0
        settle_trash(self._db, self._own)
        self.forget_prompts()
        return expire_trash(self._own, now=self._clock.time())

    def forget_prompts(self, deleted: Collection[str] = ()) -> None:
        """Delete the stored prompts of sessions without a row, in particular of ``deleted``."""
        SessionPrompts(self._db, self._own).forget_gone(deleted)

    # ------------------------------------------------------------------------- renaming, archiving

    def rename(self, session_id: str, title: str | None) -> str | None:
        """Set the title of a session's conversation; a blank one removes it.

        Returns:
            The title as it was stored, None when it was removed.

        Raises:
            NotFoundError: The session is gone.
            TitleError: The title is too long, or another session has it.
        """
        self._db.require_writable()
        shown = existing_summary(self._db, session_id).id
        if not self._db.set_session_title(shown, title):
            raise gone_session(session_id)
        return self._db.get_session_title(shown)

    def archive(self, ids: Collection[str]) -> tuple[str, ...]:
        """Hide conversations from the lists, all segments of each.

        Returns:
            The given ids that were not hidden before.

        Raises:
            NotFoundError: One of them is gone; nothing was changed.
            RunningTurnError: A turn runs in one of them; nothing was changed.
        """
        self._db.require_writable()
        fresh = tuple(each for each in ids if not existing_summary(self._db, each).archived)
        for session_id in fresh:
            members = self._db.lineage_ids_for_delete(session_id).session_ids
            self._refuse_running(members, "archived")
        return self._set_archived(fresh, archived=True)

    def unarchive(self, ids: Collection[str]) -> tuple[str, ...]:
        """Show conversations in the lists again.

        Returns:
            The given ids that were hidden before.

        Raises:
            NotFoundError: One of them is gone; nothing was changed.
        """
        self._db.require_writable()
        hidden = tuple(each for each in ids if existing_summary(self._db, each).archived)
        return self._set_archived(hidden, archived=False)

    def pin(self, ids: Collection[str]) -> PinResult:
        """Pin conversations, which excludes them from pruning and automatic deletion.

        Raises:
            NotFoundError: One of them is gone; nothing was changed.
        """
        return self._set_pinned(ids, pinned=True)

    def unpin(self, ids: Collection[str]) -> PinResult:
        """Unpin conversations.

        Raises:
            NotFoundError: One of them is gone; nothing was changed.
        """
        return self._set_pinned(ids, pinned=False)

    def _set_pinned(self, ids: Collection[str], *, pinned: bool) -> PinResult:
        for session_id in ids:
            existing_summary(self._db, session_id)
        changed = (each for each in ids if self._db.set_session_pinned(each, pinned=pinned))
        return PinResult(tuple(changed), self._db.shares_pins)

    def _set_archived(self, ids: Collection[str], *, archived: bool) -> tuple[str, ...]:
        return tuple(each for each in ids if self._db.set_session_archived(each, archived))

    # ------------------------------------------------------------------------------------ reading

    def _conversation(self, session_id: str) -> PlannedConversation | None:
        scope = self._db.lineage_ids_for_delete(session_id)
        summary = self._db.summary(session_id)
        if not scope.session_ids or summary is None:
            return None
        messages, size = self._extent(session_id)
        return PlannedConversation(
            id=summary.id,
            label=summary.label,
            source=summary.source,
            segments=scope.session_ids,
            subagents=scope.subagent_ids,
            messages=messages,
            bytes=size,
            pinned=summary.pinned,
        )

    def _extent(self, session_id: str) -> tuple[int, int]:
        what = self._db.read(lambda conn: trash_rows.belongings(conn, session_id))
        if what is None:
            return 0, 0
        counts = self._db.read(lambda conn: trash_rows.existing(conn, what.session_ids))
        return sum(counts.values()), self._db.read(lambda conn: trash_rows.size_of(conn, what))

    def _refuse_running(self, session_ids: Collection[str], verb: str) -> None:
        for session_id in session_ids:
            turn = self._running_turn(session_id)
            if turn is not None:
                raise RunningTurnError(session_id, turn, verb)
