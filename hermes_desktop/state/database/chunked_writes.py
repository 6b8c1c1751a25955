"""Long changes split into many short transactions, with pauses for other processes in between.

Other processes wait while a transaction runs, and the time a row takes depends on the length of its
text, on the machine and on its load. So the size of each step is adjusted to the duration of the
last one.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from hermes_desktop.state.database import connection
from hermes_desktop.state.records.cancellation import CancelSignal

if TYPE_CHECKING:
    from hermes_desktop.state.facade.store import Store

T = TypeVar("T")

MOST_ROWS = 1_000
MOST_BYTES = 2_000_000
"""Limits of what may be changed in one transaction without measuring: about a fifth of a second."""

_GOAL_S = 0.15
_FIRST, _LEAST, _MOST = 100_000, 30_000, 4_000_000
_ROW = 500
"""Overhead of a row in addition to its text, in bytes."""
_PAUSE_S = 0.02
"""Pause between two transactions; programs that wait for the file retry some milliseconds later."""


class Ended(Enum):
    """The reason why a long change ended before its last step."""

    CANCELLED = "cancelled by the user"
    CHANGED = "another program changed the data"
    GONE = "the data no longer exists"
    CROSSED = "another process of this program is changing the data"


Work = Callable[[sqlite3.Connection, Sequence[T]], Ended | None]
"""One step, inside its transaction; a result other than None ends the whole change."""

OnStep = Callable[[int], None]
"""Callback that receives the number of pieces done."""


@dataclass(frozen=True, slots=True)
class Piece(Generic[T]):
    """One row of a long change.

    Attributes:
        value: The row, or its id.
        bytes: Approximate length of its text.
    """

    value: T
    bytes: int


def fits_one(rows: int, size: int) -> bool:
    """Return whether this many rows and bytes of text may be changed in one transaction."""
    return rows <= MOST_ROWS and size <= MOST_BYTES


def unheard(_: int) -> None:
    """Ignore step reports."""


def in_steps(
    db: "Store",
    pieces: Sequence[Piece[T]],
    work: Work[T],
    *,
    on_step: OnStep = unheard,
    cancel: CancelSignal | None = None,
) -> Ended | None:
    """Run ``work`` on all pieces, one portion per transaction.

    Args:
        db: The file.
        pieces: All pieces, in order.
        work: One step.
        on_step: Called after each step, outside the transaction.
        cancel: Checked between two steps.

    Returns:
        None when all pieces are done, else why the change ended early.
    """
    pace = _Pace()
    done = 0
    for portion in pace.portions(pieces):
        if cancel is not None and cancel.is_set():
            return Ended.CANCELLED
        ended = _timed(db, portion, work, pace)
        if ended is not None:
            return ended
        done += len(portion)
        on_step(done)
        connection.step_aside(_PAUSE_S)
    return None


def _timed(db: "Store", portion: Sequence[T], work: Work[T], pace: "_Pace") -> Ended | None:
    began = 0.0

    def step(conn: sqlite3.Connection) -> Ended | None:
        nonlocal began  # set when the transaction has locked the file
        began = db._clock.monotonic()
        return work(conn, portion)

    ended = db._execute_write(step)
    pace.took(db._clock.monotonic() - began)
    return ended


class _Pace:
    """The size of the next step, derived from the duration of the last one."""

    def __init__(self) -> None:
        self._wanted = _FIRST
        self._given = 0

    def portions(self, pieces: Sequence[Piece[T]]) -> Iterator[list[T]]:
        portion: list[T] = []
        weight = 0
        for piece in pieces:
            portion.append(piece.value)
            weight += _ROW + piece.bytes
            if weight >= self._wanted:
                self._given = weight
                yield portion
                portion, weight = [], 0
        if portion:
            self._given = weight
            yield portion

    def took(self, seconds: float) -> None:
        fitting = int(self._given * _GOAL_S / max(seconds, 0.001))
        self._wanted = max(_LEAST, min(fitting, 2 * self._wanted, _MOST))
