"""Long changes in many short transactions: how much one takes, and room for others in between.

Others wait while a transaction runs, and how long a row takes depends on its words, on the machine
and on what else it does. So each step looks how long the last one took.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from hermes_desktop.state.database import connection
from hermes_desktop.state.records.stopping import CancelSignal

if TYPE_CHECKING:
    from hermes_desktop.state.facade.store_face import WritingFace

T = TypeVar("T")

MOST_ROWS = 1_000
MOST_BYTES = 2_000_000
"""What may be changed in one transaction without measuring: a fifth of a second, about."""

_GOAL_S = 0.15
_FIRST, _LEAST, _MOST = 100_000, 30_000, 4_000_000
_ROW = 500
"""What a row weighs beside its words, in bytes."""
_PAUSE_S = 0.02
"""Programs that wait for the file look again some milliseconds later."""


class Ended(Enum):
    """Why a long change ended before its last step."""

    CANCELLED = "a person stopped it"
    CHANGED = "somebody else changed what it is about"
    GONE = "what it is about is not there"
    CROSSED = "another process of ours does something else with it"


Work = Callable[[sqlite3.Connection, Sequence[T]], Ended | None]
"""One step, inside its transaction; what it returns ends the whole, None goes on."""

OnStep = Callable[[int], None]
"""Hears how many pieces are done."""


@dataclass(frozen=True, slots=True)
class Piece(Generic[T]):
    """One row of a long change.

    Attributes:
        value: The row, or its id.
        bytes: About how long its words are.
    """

    value: T
    bytes: int


def fits_one(rows: int, size: int) -> bool:
    """Whether so many rows with so many bytes of words may be changed in one transaction."""
    return rows <= MOST_ROWS and size <= MOST_BYTES


def unheard(_: int) -> None:
    """Tell nobody."""


def in_steps(
    db: "WritingFace",
    pieces: Sequence[Piece[T]],
    work: Work[T],
    *,
    on_step: OnStep = unheard,
    cancel: CancelSignal | None = None,
) -> Ended | None:
    """Do ``work`` to all pieces, a portion in each transaction.

    Args:
        db: The file.
        pieces: All of it, in order.
        work: One step.
        on_step: Called after each step, outside the transaction.
        cancel: Looked at between two steps.
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


def _timed(db: "WritingFace", portion: Sequence[T], work: Work[T], pace: "_Pace") -> Ended | None:
    began = 0.0

    def step(conn: sqlite3.Connection) -> Ended | None:
        nonlocal began  # only now the file is locked
        began = db._clock.monotonic()  # noqa: SLF001 - same package
        return work(conn, portion)

    ended = db._execute_write(step)  # noqa: SLF001 - same package
    pace.took(db._clock.monotonic() - began)  # noqa: SLF001 - same package
    return ended


class _Pace:
    """How much the next step takes, by how long the last one took."""

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
