"""Detection of turns that run, or may be running, in a session: our own, and those of others."""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations import conversation_locks
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks, is_unanswered
from hermes_desktop.state.database.holders import Holder, foreign_holders

FRESH_S = 300.0
"""Seconds without activity after which a session counts as idle, whatever its last message is."""

_MOST_WORDS = 60
_MOST_NAMED = 3

FindHolders = Callable[[Path], Sequence[Holder]]


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn of another program.

    Attributes:
        about: The prompt, shortened to a line; "" if it is not stored yet.
        who: The program or programs, for display.
        certain: Whether it certainly runs; otherwise only the stored messages and the open file
            suggest it.
        ours: Whether it is a Hermes Desktop program, which holds the lock of the conversation.
        age_s: Seconds since it last stored something, where only the messages indicate the turn.
    """

    about: str
    who: str
    certain: bool = False
    ours: bool = False
    age_s: float = 0.0

    def __str__(self) -> str:
        """Return a phrase that can end a sentence."""
        about = f"“{self.about}”" if self.about else "a message"
        if self.certain:
            return f"{self.who} is answering {about}"
        return f"{about} had activity {self.age_s:.0f} s ago, and {self.who} may still be answering"


class ForeignTurns:
    """Detects in which sessions other programs are answering. Any thread; a call may take 0.1 s.

    Our own programs hold a lock while they answer, and newer releases of ``hermes`` have a lease.
    Older ones only store the prompt before they store the reply, and do not report when they give
    up. A message without a reply counts as their running turn for five minutes, as long as a
    foreign program has the shared file open, and no turn of this program left the message.

    Args:
        db: The shared file.
        clock: The clock.
        locks: The locks of our programs; None: they are not checked.
        holders: Finds foreign programs that have the file open.
    """

    def __init__(
        self,
        db: SessionDB,
        clock: Clock,
        locks: ConversationLocks | None = None,
        holders: FindHolders = foreign_holders,
    ) -> None:
        self._db = db
        self._clock = clock
        self._locks = locks
        self._holders = holders

    def turn_in(self, session_id: str) -> str | None:
        """Return the turn as a phrase that ends a sentence, None when there seems to be none.

        Raises:
            StateError: The shared file cannot be read.
        """
        found = self.find(session_id)
        return None if found is None else str(found)

    def find(self, session_id: str) -> OpenTurn | None:
        """Return the turn of another program in a session, None when there seems to be none.

        Raises:
            StateError: The shared file cannot be read.
        """
        owner = self._locks.owner(session_id) if self._locks is not None else None
        if owner is not None and owner.pid != os.getpid():
            return OpenTurn(self._newest_prompt(session_id), str(owner), certain=True, ours=True)
        return self.foreign(session_id)

    def foreign(self, session_id: str) -> OpenTurn | None:
        """Return the turn of a foreign program in a session, else None."""
        ids = self._db.get_compression_lineage(session_id) or [session_id]
        now = self._clock.time()
        lease = self._db.read(lambda conn: conversation_locks.lease_holder(conn, ids, now))
        if lease is not None:
            who = conversation_locks.lease_holder_label(lease)
            return OpenTurn(self._newest_prompt(session_id), who, certain=True)
        return self._by_messages(session_id)

    def holders(self) -> str:
        """Return which foreign programs have the shared file open, "" for none."""
        found = self._holders(self._db.db_path)
        words = ", ".join(map(str, found[:_MOST_NAMED]))
        more = len(found) - _MOST_NAMED
        return f"{words} and {more} more" if more > 0 else words

    def _by_messages(self, session_id: str) -> OpenTurn | None:
        row = self._db.get_session(session_id)
        if row is None or row.get("ended_at") is not None:
            return None
        last = self._db.read_messages(session_id, limit=1)
        if not last or not is_unanswered(last[0]):
            return None
        if self._locks is not None and last[0].id <= self._locks.unanswered_message(session_id):
            return None  # our own turn failed or was stopped
        age = self._clock.time() - last[0].timestamp
        if not 0 <= age < FRESH_S:
            return None
        who = self.holders()
        if not who:
            return None
        about = self._newest_prompt(session_id) or _words(last[0].content or last[0].role)
        return OpenTurn(about, who, age_s=age)

    def _newest_prompt(self, session_id: str) -> str:
        """Return the latest user prompt if it is among the last messages, else ""."""
        for message in reversed(self._db.read_messages(session_id, limit=20)):
            if message.role == "user" and message.content.strip():
                return _words(message.content)
        return ""


def _words(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_WORDS else flat[: _MOST_WORDS - 1] + "…"


_MOST_REMEMBERED = 1_000


class OwnTurns:
    """Finds the turn that runs in a session, in this or another program. Any thread.

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
            if len(self._ended_at) > _MOST_REMEMBERED:
                del self._ended_at[next(iter(self._ended_at))]
