"""The entries of the transcript for a run of stored messages, in order. No Qt.

Equal entries are displayed equally, so a view compares lists of entries and changes only what
differs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from hermes_desktop.core.text.stored_text import SUMMARY_MARK, estimate_text
from hermes_desktop.state.records.records import Message
from hermes_desktop.ui.transcript.blocks.tool_calls import (
    ToolCall,
    call_of_orphan,
    results_of_calls,
    tool_calls_of,
)

HIDDEN_ROLES = frozenset({"session_meta"})
_ROUNDED_FROM = 1_000


@dataclass(frozen=True, slots=True)
class Separator:
    """A line with text between messages.

    Attributes:
        key: Unique among the entries.
        kind: ``day``, ``part`` (a lineage continues in its next session), ``summarised``,
            ``summary``.
        day: Set for ``day``.
        words: Set for ``summary``.
    """

    key: str
    kind: str
    day: date | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """One message with the calls it made.

    Attributes:
        key: Unique among the entries; stays the same when the message changes.
        header: Whether the name and time are shown above it.
    """

    key: str
    message: Message
    calls: tuple[ToolCall, ...] = ()
    header: bool = True

    @property
    def dim(self) -> bool:
        """Whether it was compacted: shown, but no longer sent to the model."""
        return self.message.compacted and not self.message.active

    @property
    def is_summary(self) -> bool:
        """Whether it is the summary that replaces compacted messages."""
        return self.message.content.startswith(SUMMARY_MARK)

    @property
    def images(self) -> int:
        """How many images it contains (they are named, not loaded)."""
        return count_images(self.message.parts)


Entry = Separator | MessageEntry


def build_entries(messages: Sequence[Message]) -> tuple[Entry, ...]:
    """Return the entries for stored messages.

    Args:
        messages: Oldest first; ``session_id`` changes where a compaction lineage continues.
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
        entries.append(replace(entry, header=header and not entry.is_summary))
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
    if message.content.startswith(SUMMARY_MARK):
        found.append(Separator(f"z{message.id}", "summary", words=summary_words(message)))
        return found
    gone = message.compacted and not message.active
    was_gone = before is not None and before.compacted and not before.active
    if gone and not was_gone:
        found.append(Separator(f"s{message.id}", "summarised"))
    return found


def summary_words(message: Message) -> str:
    """Return ``Earlier part summarized: 212 messages → about 1,900 tokens``."""
    tokens = estimate_text(message.content)
    size = f"about {round(tokens, -2) if tokens >= _ROUNDED_FROM else tokens:,} tokens"
    if message.stands_for is None:
        return f"Earlier part summarized in {size}"
    noun = "message" if message.stands_for == 1 else "messages"
    return f"Earlier part summarized: {message.stands_for:,} {noun} → {size}"


def _goes_on(before: Message, message: Message) -> bool:
    if before.content.startswith(SUMMARY_MARK):
        return False
    return {before.role, message.role} <= {"assistant", "tool"}


def local_day(timestamp: float) -> date | None:
    """Return the local day of a timestamp; None if it is out of the calendar's range."""
    moment = local_time(timestamp)
    return None if moment is None else moment.date()


def local_time(timestamp: float) -> datetime | None:
    """Return the local time of a timestamp; None if it is out of the calendar's range."""
    try:
        return datetime.fromtimestamp(timestamp).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def count_images(parts: Any) -> int:
    """Return the number of images in structured content."""
    if not isinstance(parts, Iterable) or isinstance(parts, str | bytes):
        return 0
    kinds = (part.get("type") for part in parts if isinstance(part, dict))
    return sum(kind in {"image", "image_url", "input_image"} for kind in kinds)
