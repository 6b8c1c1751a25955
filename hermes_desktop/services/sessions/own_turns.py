"""Registry of turns that run or wait in this program, for operations that must not disturb them."""

import threading

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.services.sessions.open_turns import ForeignTurns
from hermes_desktop.state import SessionDB

_MOST_WORDS = 60
_REMEMBERED = 1_000


class OwnTurns:
    """Finds the turn that runs in a session, ours or one of another program. Any thread.

    Args:
        db: The shared file.
        bus: The event bus that reports our own turns.
        clock: The clock.
        foreign: Detects the turns of other programs.
    """

    def __init__(self, db: SessionDB, bus: EventBus, clock: Clock, foreign: ForeignTurns) -> None:
        self._db = db
        self._clock = clock
        self._foreign = foreign
        self._lock = threading.Lock()
        self._running: dict[str, TurnQueued | TurnStarted] = {}
        self._ended_at: dict[str, float] = {}
        bus.subscribe(TurnQueued, self._begun)
        bus.subscribe(TurnStarted, self._begun)
        bus.subscribe(TurnFinished, self._finished)

    def turn_in(self, session_id: str) -> str | None:
        """Return the turn as a phrase that ends a sentence, None when there seems to be none.

        Raises:
            StateError: The shared file cannot be read.
        """
        with self._lock:
            ours = next((e for e in self._running.values() if e.session_id == session_id), None)
            ended_at = self._ended_at.get(session_id)
        if ours is not None:
            state = "waits for its turn" if isinstance(ours, TurnQueued) else "is being answered"
            return f"“{_words(ours.prompt)}” {state} in this window"
        if ended_at is not None:
            summary = self._db.summary(session_id)
            if summary is None or summary.last_active <= ended_at:
                return None  # our own failed turn left the unanswered message
        return self._foreign.turn_in(session_id)

    def _begun(self, event: TurnQueued | TurnStarted) -> None:
        with self._lock:
            self._running[event.turn_id] = event

    def _finished(self, event: TurnFinished) -> None:
        with self._lock:
            self._running.pop(event.turn_id, None)
            self._ended_at.pop(event.session_id, None)
            self._ended_at[event.session_id] = self._clock.time()
            if len(self._ended_at) > _REMEMBERED:
                del self._ended_at[next(iter(self._ended_at))]


def _words(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_WORDS else flat[: _MOST_WORDS - 1] + "…"
