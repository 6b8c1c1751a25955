"""The sessions a bulk operation affects, and those that meet its conditions but are spared."""

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from hermes_desktop.state.sessions import archiving, pins
from hermes_desktop.state.sessions.bulk_filters import Candidate, SessionFilter


@dataclass(frozen=True, slots=True)
class SparedCounts:
    """Numbers of sessions that a bulk operation spares although the user may not expect it.

    Attributes:
        pinned: They meet the conditions, but are pinned.
        parts: They meet the conditions, but their conversation continues in a session that stays.
        used_since: They started long enough ago, but were used since. `hermes` 0.19 counts from the
            start.
    """

    pinned: int = 0
    parts: int = 0
    used_since: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """The sessions a bulk operation affects, the oldest first, and those it spares.

    Attributes:
        pinned: How many of the affected ones are pinned.
    """

    candidates: tuple[Candidate, ...]
    spared: SparedCounts = field(default_factory=SparedCounts)
    pinned: int = 0


def select(
    conn: sqlite3.Connection,
    choice: SessionFilter,
    own_pins: Collection[str],
    *,
    spare_parts: bool,
) -> Selection:
    """Apply the conditions, then spare pinned sessions and parts of continued conversations.

    Args:
        conn: The shared file.
        choice: The conditions.
        own_pins: Sessions that are pinned in desktop.db.
        spare_parts: Whether a segment stays as long as a later one of its conversation does. An age
            always applies to the whole conversation.
    """
    found = choice.select(conn)
    pinned = pins.pinned_conversations(conn, own_pins)
    met = [each.id for each in found]
    allowed = met if choice.include_pinned else [each for each in met if each not in pinned]
    spare_parts = spare_parts or choice.idle_before is not None
    taken = _without_continued(conn, allowed) if spare_parts else set(allowed)
    spared = SparedCounts(
        pinned=len(met) - len(allowed),
        parts=len(allowed) - len(taken),
        used_since=_count_by_start(conn, choice) - len(met),
    )
    return Selection(tuple(each for each in found if each.id in taken), spared, len(taken & pinned))


def _without_continued(conn: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    """Leave out each segment whose conversation continues in a session that is not taken."""
    taken = set(ids)
    if not taken:
        return taken
    earlier: dict[str, list[str]] = {}
    for child, parent in archiving.continuations(conn):
        earlier.setdefault(child, []).append(parent)
    waiting = [each for each in earlier if each not in taken]
    while waiting:
        for parent in earlier.get(waiting.pop(), ()):
            if parent in taken:
                taken.remove(parent)
                waiting.append(parent)
    return taken


def _count_by_start(conn: sqlite3.Connection, choice: SessionFilter) -> int:
    """Return how many sessions would meet the conditions if their age counted from their start."""
    limits = [each for each in (choice.idle_before, choice.started_before) if each is not None]
    by_start = replace(choice, idle_before=None, started_before=min(limits, default=None))
    where, values = by_start.where(conn)
    row = conn.execute(f"SELECT count(*) FROM sessions AS s WHERE {where}", values).fetchone()
    return int(row[0])
