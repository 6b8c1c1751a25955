"""The lines of the list as plain values, and the difference between two lists.

No widgets: the model gets the fewest changes from :func:`steps_between` and applies them, so that
selection and scroll position survive.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.words.day_words import DateFormatter


@dataclass(frozen=True, slots=True)
class HeadingEntry:
    """A day above the sessions of that day; it can be neither selected nor focused."""

    text: str

    @property
    def key(self) -> str:
        """The identity of the entry, which stays the same when its content changes."""
        return f"day:{self.text}"


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One session; a compaction lineage keeps its key when its tip changes."""

    summary: SessionSummary

    @property
    def key(self) -> str:
        """The identity of the entry, which stays the same when its content changes."""
        return f"session:{self.summary.root_id}"


Entry = HeadingEntry | SessionEntry


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove ``count`` lines, starting at ``at``."""

    at: int
    count: int


@dataclass(frozen=True, slots=True)
class Insert:
    """Insert lines before the one at ``at``."""

    at: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """Remove the line at ``source`` and insert it so that its new index is ``target``."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Update:
    """Replace the content of the line at ``at``."""

    at: int
    entry: Entry


Step = Remove | Insert | Move | Update


def entries_of(
    rows: Sequence[SessionSummary], words: DateFormatter, *, headings: bool = True
) -> list[Entry]:
    """Return entries with a heading above the first session of each day.

    Args:
        rows: Newest activity first.
        words: Formats the days.
        headings: False for the short list of empty sessions.
    """
    entries: list[Entry] = []
    last = ""
    for row in rows:
        group = words.group(row.last_active) if headings else ""
        if group != last:
            entries.append(HeadingEntry(group))
            last = group
        entries.append(SessionEntry(row))
    return _without_twins(entries)


def steps_between(old: Sequence[Entry], new: Sequence[Entry]) -> list[Step]:
    """Return the changes that turn one list into the other, to be applied in order.

    Lines that keep their relative order are never moved; only content that differs is updated.
    """
    wanted = {entry.key for entry in new}
    steps: list[Step] = list(_removals(old, wanted))
    kept = [entry for entry in old if entry.key in wanted]
    steps += _placements([entry.key for entry in kept], new)
    before = {entry.key: entry for entry in kept}
    steps += [
        Update(position, entry)
        for position, entry in enumerate(new)
        if (known := before.get(entry.key)) is not None and known is not entry and known != entry
    ]
    return steps


def _removals(old: Sequence[Entry], wanted: set[str]) -> list[Remove]:
    """Return the ranges to remove, the last one first, so that earlier positions stay valid."""
    ranges: list[Remove] = []
    end = len(old)
    while end > 0:
        if old[end - 1].key in wanted:
            end -= 1
            continue
        begin = end - 1
        while begin > 0 and old[begin - 1].key not in wanted:
            begin -= 1
        ranges.append(Remove(begin, end - begin))
        end = begin
    return ranges


def _placements(current: list[str], new: Sequence[Entry]) -> list[Step]:
    """Return moves and insertions; after them the keys are ordered as in ``new``."""
    target = {entry.key: position for position, entry in enumerate(new)}
    staying = _longest_increasing(current, target)
    moving = {key for key in current if key not in staying}
    steps: list[Step] = []
    position = 0
    while position < len(new):
        key = new[position].key
        if position < len(current) and current[position] == key:
            position += 1
        elif key in staying and position < len(current) and current[position] in moving:
            source = position
            sunk = _place_below(current, source, target, staying)
            steps.append(Move(source, sunk))
            current.insert(sunk, current.pop(source))
        elif key in target and key in moving:
            source = current.index(key, position)
            steps.append(Move(source, position))
            current.insert(position, current.pop(source))
            position += 1
        else:
            run = _run_of_new(new, position, set(current))
            steps.append(Insert(position, run))
            current[position:position] = [entry.key for entry in run]
            position += len(run)
    return steps


def _place_below(current: list[str], source: int, target: dict[str, int], staying: set[str]) -> int:
    """Return the target of a line that moves down, before the first staying line after it."""
    goal = target[current[source]]
    for position in range(source + 1, len(current)):
        if current[position] in staying and target[current[position]] > goal:
            return position - 1
    return len(current) - 1


def _run_of_new(new: Sequence[Entry], begin: int, present: set[str]) -> tuple[Entry, ...]:
    end = begin
    while end < len(new) and new[end].key not in present:
        end += 1
    return tuple(new[begin:end])


def _longest_increasing(keys: Sequence[str], target: dict[str, int]) -> set[str]:
    """Return the largest set of keys that are already in the right order."""
    tails: list[int] = []
    tail_keys: list[str] = []
    previous: dict[str, str | None] = {}
    for key in keys:
        place = bisect_left(tails, target[key])
        previous[key] = tail_keys[place - 1] if place else None
        tails[place : place + 1] = [target[key]]
        tail_keys[place : place + 1] = [key]
    found: set[str] = set()
    key_or_none = tail_keys[-1] if tail_keys else None
    while key_or_none is not None:
        found.add(key_or_none)
        key_or_none = previous[key_or_none]
    return found


def _without_twins(entries: list[Entry]) -> list[Entry]:
    """Keep the first of equal keys, so that a clock set back gives no day two headings."""
    seen: set[str] = set()
    result: list[Entry] = []
    for entry in entries:
        if entry.key not in seen:
            seen.add(entry.key)
            result.append(entry)
    return result
