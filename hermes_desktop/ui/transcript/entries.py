"""What the transcript shows for a run of stored messages, in order. No Qt.

Two entries that are equal look the same, so a view compares lists of entries and touches only
what differs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from hermes_desktop.state.records import Message
from hermes_desktop.ui.transcript.tool_calls import (
    ToolCall,
    call_of_orphan,
    results_of_calls,
    tool_calls_of,
)

HIDDEN_ROLES = frozenset({"session_meta"})


@dataclass(frozen=True, slots=True)
class Separator:
    """A line with words between messages.

    Attributes:
        key: Unique among the entries.
        kind: ``day``, ``part`` (a chain goes on in its next session) or ``summarised``.
        day: Set for ``day``.
    """

    key: str
    kind: str
    day: date | None = None


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """One message with the calls it made.

    Attributes:
        key: Unique among the entries; stays the same when the message changes.
        header: Whether the name and time stand above it.
    """

    key: str
    message: Message
    calls: tuple[ToolCall, ...] = ()
    header: bool = True

    @property
    def dim(self) -> bool:
        """Whether it was summarised away: shown, but no longer told to the model."""
        return self.message.compacted and not self.message.active

    @property
    def images(self) -> int:
        """How many pictures belong to it (they are named, not loaded)."""
        return count_images(self.message.parts)


Entry = Separator | MessageEntry


def build_entries(messages: Sequence[Message]) -> tuple[Entry, ...]:
    """Lay out stored messages.

    Args:
        messages: Oldest first; ``session_id`` changes where a compression chain goes on.
    """
    results = results_of_calls(messages)
    answered = frozenset(row.id for rows in results.values() for row in rows)
    entries: list[Entry] = []
    before: Message | None = None
    for message in messages:
        entry = _entry(message, results, answered)
        if entry is None:
            continue
        separators = _separators(before, message)
        entries.extend(separators)
        header = bool(separators) or before is None or not _goes_on(before, message)
        entries.append(replace(entry, header=header))
        before = message
    return tuple(entries)


def _entry(
    message: Message, results: Mapping[int, Sequence[Message]], answered: frozenset[int]
) -> MessageEntry | None:
    key = f"m{message.id}"
    if message.role in HIDDEN_ROLES:
        return None
    if message.role == "tool":
        known = message.id in answered
        return None if known else MessageEntry(key, message, (call_of_orphan(message),))
    calls = tool_calls_of(message, results.get(message.id, ())) if message.tool_calls else ()
    says = message.content.strip() or message.reasoning or count_images(message.parts)
    return MessageEntry(key, message, calls) if says or calls else None


def _separators(before: Message | None, message: Message) -> list[Separator]:
    found: list[Separator] = []
    if before is not None and before.session_id != message.session_id:
        found.append(Separator(f"p{message.id}", "part"))
    day = local_day(message.timestamp)
    if day is not None and (before is None or local_day(before.timestamp) != day):
        found.append(Separator(f"d{message.id}", "day", day))
    gone = message.compacted and not message.active
    was_gone = before is not None and before.compacted and not before.active
    if gone and not was_gone:
        found.append(Separator(f"s{message.id}", "summarised"))
    return found


def _goes_on(before: Message, message: Message) -> bool:
    return {before.role, message.role} <= {"assistant", "tool"}


def local_day(timestamp: float) -> date | None:
    """The day of a time in the local zone; None for a time no calendar has."""
    moment = local_time(timestamp)
    return None if moment is None else moment.date()


def local_time(timestamp: float) -> datetime | None:
    """A stored time in the local zone; None for a time no calendar has."""
    try:
        return datetime.fromtimestamp(timestamp).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def count_images(parts: Any) -> int:
    """Number of pictures in structured content."""
    if not isinstance(parts, Iterable) or isinstance(parts, str | bytes):
        return 0
    kinds = (part.get("type") for part in parts if isinstance(part, dict))
    return sum(kind in {"image", "image_url", "input_image"} for kind in kinds)
