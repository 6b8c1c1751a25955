"""Session actions for the window, such as archive, delete and undo; awaited on the event loop."""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.loop_signals import calls_on_loop
from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.sessions.delete_plan import DeletePlan
from hermes_desktop.services.sessions.live_catalog import AsyncSessionList
from hermes_desktop.services.sessions.session_actions import PinResult, SessionActions
from hermes_desktop.services.sessions.state_watch import StateWatch
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.cancellation import OnProgress, silent
from hermes_desktop.state.trash.trash import TrashReceipt
from hermes_desktop.state.trash.trash_restore import Restored

log = logging.getLogger(__name__)

NAMED_SUBAGENTS = 5
"""The number of affected subagents that are listed by name."""


@dataclass(frozen=True, slots=True)
class DeletePreview:
    """The preview of a delete, for display.

    Attributes:
        plan: The plan to pass to :meth:`AsyncSessionActions.delete`.
        subagents: The labels of the first few subagents that are deleted too.
    """

    plan: DeletePlan
    subagents: tuple[str, ...] = ()


class AsyncSessionActions:
    """Asynchronous facade of :class:`SessionActions`, called on the event loop.

    Every method may raise ``BusyError``, ``StateError`` and the errors of the method it wraps.

    Args:
        actions: The blocking actions, which refuse while a turn runs.
        db: The database from which names in previews are read.
        writers: The ``state-write`` worker, for quick operations.
        bulk: The ``state-bulk`` worker, for the trash.
        catalog: The list model that is notified which rows we change, listed or not.
        watch: The watcher that checks the file after each change.
    """

    def __init__(
        self,
        actions: SessionActions,
        db: SessionDB,
        *,
        writers: WorkerThreads,
        bulk: WorkerThreads,
        catalog: AsyncSessionList,
        watch: StateWatch,
    ) -> None:
        self._actions = actions
        self._db = db
        self._writers = writers
        self._bulk = bulk
        self._catalog = catalog
        self._watch = watch

    @property
    def why_not(self) -> str:
        """Why no session may be changed, in one sentence; "" where changes are allowed."""
        return self._db.condition.title

    async def plan_delete(self, ids: Collection[str]) -> DeletePreview:
        """Find what would be deleted with these sessions; changes nothing.

        Raises:
            RunningTurnError: A turn runs in one of them.
        """
        return await self._bulk.run(self._preview, tuple(ids))

    async def delete(
        self, plan: DeletePlan, *, force: bool = False, on_progress: OnProgress = silent
    ) -> TrashReceipt:
        """Move the planned conversations to the trash.

        Args:
            plan: The plan from :meth:`plan_delete`.
            force: Keep a copy however large it is.
            on_progress: Called on the loop with the progress; never after the end.

        Raises:
            RunningTurnError: A turn has begun in one of them; nothing was deleted.
            TrashTooLargeError: The copy would be very large; ask the user, then call with
                ``force``.
            TrashDiskFullError: The disk has no room for the copy; nothing was deleted.
        """
        with calls_on_loop(on_progress) as tell:
            receipt = await self._bulk.run(
                lambda: self._actions.delete(plan, force=force, on_progress=tell)
            )
        self._watch.check_now()
        return receipt

    async def undo_delete(self, receipt: TrashReceipt) -> tuple[Restored, ...]:
        """Restore what a delete moved to the trash.

        Raises:
            NotFoundError: It is not in the trash any more.
        """
        restored = await self._bulk.run(self._actions.undo, receipt)
        self._watch.check_now()
        return restored

    async def archive(self, ids: Collection[str]) -> tuple[str, ...]:
        """Archive conversations. Returns the given ids that were not archived before.

        Raises:
            NotFoundError: One of them is gone; nothing was changed.
            RunningTurnError: A turn runs in one of them; nothing was changed.
        """
        self._catalog.expect(ids)
        changed = await self._writers.run(self._actions.archive, tuple(ids))
        self._watch.check_now()
        return changed

    async def unarchive(self, ids: Collection[str]) -> tuple[str, ...]:
        """Unarchive conversations. Returns the given ids that were archived before.

        Raises:
            NotFoundError: One of them is gone; nothing was changed.
        """
        self._catalog.expect(ids)
        changed = await self._writers.run(self._actions.unarchive, tuple(ids))
        self._watch.check_now()
        return changed

    async def pin(self, ids: Collection[str]) -> PinResult:
        """Pin conversations.

        Raises:
            NotFoundError: One of them is gone; nothing was changed.
        """
        return await self._repin(ids, self._actions.pin)

    async def unpin(self, ids: Collection[str]) -> PinResult:
        """Unpin conversations.

        Raises:
            NotFoundError: One of them is gone; nothing was changed.
        """
        return await self._repin(ids, self._actions.unpin)

    async def _repin(
        self, ids: Collection[str], change: Callable[[Collection[str]], PinResult]
    ) -> PinResult:
        self._catalog.expect(ids)
        done = await self._writers.run(change, tuple(ids))
        self._watch.check_now()
        return done

    async def tidy_later(self, *, after_s: float = 5.0) -> None:
        """Finish what a crash interrupted and drop trash older than 30 days, after a delay.

        Failures are only logged: the user did not request it, and the next delete repeats it.
        """
        await asyncio.sleep(after_s)
        try:
            await self._bulk.run(self._actions.tidy_trash)
        except HermesError as error:
            log.warning("The trash was not tidied: %s %s", error.title, error.detail)
        else:
            self._watch.check_now()

    async def close(self) -> None:
        """Close our own file after the running operation has ended."""
        await self._bulk.run(self._actions.close)

    def _preview(self, ids: tuple[str, ...]) -> DeletePreview:
        plan = self._actions.plan_delete(ids)
        found = (self._db.summary(each) for each in plan.subagents[:NAMED_SUBAGENTS])
        return DeletePreview(plan, tuple(each.label for each in found if each is not None))
