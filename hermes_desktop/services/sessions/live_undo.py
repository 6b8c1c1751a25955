"""Undoing turns from the window; awaited on the event loop."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.loop_signals import calls_on_loop
from hermes_desktop.services.sessions.session_actions import RunningTurnError
from hermes_desktop.services.sessions.session_changes import (
    SessionChanges,
    TurnChanges,
    UnseenFiles,
)
from hermes_desktop.services.sessions.state_watch import StateWatch
from hermes_desktop.services.sessions.turn_undo import TurnUndoing
from hermes_desktop.services.sessions.undo_plan import (
    Step,
    TurnUndoPlan,
    TurnUndoResult,
    UndoChoice,
    UndoneRestored,
)
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, silent
from hermes_desktop.state.records.records import Message

T = TypeVar("T")

MOST_LINES = 2_000
"""How many lines of a difference are shown."""
ABOUT_TO_BEGIN = "a message waits for its turn in this window"


@dataclass(frozen=True, slots=True)
class TurnUndoPreview:
    """What undoing turns would do, for display.

    Attributes:
        plan: The plan to pass to :meth:`AsyncTurnUndo.undo`.
        messages: The first messages that it takes back.
    """

    plan: TurnUndoPlan
    messages: tuple[Message, ...] = ()


class AsyncTurnUndo:
    """Asynchronous facade of :class:`TurnUndoing` and :class:`TurnChanges`, called on the loop.

    Every method may raise ``BusyError``, ``StateError`` and the errors of the method it wraps.

    Args:
        undoing: Undoes turns; refuses while one runs.
        changes: Finds what turns changed.
        worker: Runs both; long.
        watch: The watcher that checks the shared file after each change.
        answering: Returns whether this program has accepted a message of a session that it has not
            answered yet; called on the loop.
    """

    def __init__(
        self,
        undoing: TurnUndoing,
        changes: TurnChanges,
        *,
        worker: WorkerThreads,
        watch: StateWatch,
        answering: Callable[[str], bool],
    ) -> None:
        self._undoing = undoing
        self._changes = changes
        self._worker = worker
        self._watch = watch
        self._answering = answering

    async def preview(
        self, session_id: str, turns: int = 1, *, message_id: int = 0
    ) -> TurnUndoPreview:
        """Find what undoing the last turns would do; changes nothing.

        Args:
            session_id: The session.
            turns: How many turns.
            message_id: A message of the first of these turns, instead of their number; 0: none.

        Raises:
            RunningTurnError: A turn runs in the session, or is about to begin.
        """

        def look() -> TurnUndoPreview:
            self._undoing.require_writable()
            plan = self._undoing.plan(session_id, turns, message_id=message_id)
            return TurnUndoPreview(plan, self._undoing.messages(plan))

        found = await self._worker.run(look)
        # Before its turn begins, an accepted message is known here alone.
        if self._answering(session_id):
            raise RunningTurnError(session_id, ABOUT_TO_BEGIN, "undone")
        return found

    async def difference(self, step: Step) -> str:
        """Return what would change in a file, as a unified difference; "" where it has no text."""
        return await self._worker.run(partial(self._undoing.difference, step, MOST_LINES))

    async def undo(
        self,
        plan: TurnUndoPlan,
        choice: UndoChoice,
        *,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> TurnUndoResult:
        """Carry out a plan; see :meth:`TurnUndoing.undo`. Progress is reported on the loop."""
        call = partial(self._undoing.undo, plan, choice, cancel=cancel)
        return await self._changed(call, on_progress)

    async def redo(
        self,
        session_id: str,
        undo_id: str = "",
        *,
        on_progress: OnProgress = silent,
        cancel: CancelSignal | None = None,
    ) -> UndoneRestored:
        """Take back an undo; see :meth:`TurnUndoing.redo`. Progress is reported on the loop."""
        call = partial(self._undoing.redo, session_id, undo_id, cancel=cancel)
        return await self._changed(call, on_progress)

    async def changes(self, session_id: str) -> SessionChanges:
        """Return what the turns of a session changed, as far as the user can act on it."""
        return await self._worker.run(partial(self._changes.of, session_id))

    async def keep(self, files: UnseenFiles) -> None:
        """Note that the user has looked at these files."""
        await self._worker.run(partial(self._changes.keep, files))

    async def _changed(self, call: Callable[..., T], on_progress: OnProgress) -> T:
        """Run a call that changes the shared file, and have the file checked at once."""
        with calls_on_loop(on_progress) as tell:
            done = await self._worker.run(partial(call, on_progress=tell))
        self._watch.check_now()
        return done
