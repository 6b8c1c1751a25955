"""The plan of a delete: what would be deleted, found without changing anything."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedConversation:
    """One conversation to be deleted.

    Attributes:
        id: The session that the list shows for it.
        label: The name to display.
        source: The source where it began.
        segments: All its parts, the oldest first; more than one after a compression.
        subagents: Sessions of subagents that are deleted with it.
        messages: The number of message rows, those of subagents included.
        bytes: The approximate size of these rows.
        pinned: Whether it is pinned.
    """

    id: str
    label: str
    source: str
    segments: tuple[str, ...]
    subagents: tuple[str, ...]
    messages: int
    bytes: int
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """What a delete would remove. Making a plan changes nothing.

    Attributes:
        conversations: The conversations in the requested order, each once.
        missing: Ids that match no session.
    """

    conversations: tuple[PlannedConversation, ...]
    missing: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The session that the list shows, for each conversation."""
        return tuple(each.id for each in self.conversations)

    @property
    def segments(self) -> tuple[str, ...]:
        """All parts of all conversations."""
        return tuple(part for each in self.conversations for part in each.segments)

    @property
    def subagents(self) -> tuple[str, ...]:
        """All sessions of subagents that are deleted too."""
        return tuple(part for each in self.conversations for part in each.subagents)

    @property
    def by_source(self) -> Mapping[str, int]:
        """The number of conversations of each source, the largest number first."""
        return dict(Counter(each.source for each in self.conversations).most_common())

    @property
    def pinned(self) -> int:
        """The number of pinned conversations."""
        return sum(each.pinned for each in self.conversations)

    @property
    def messages(self) -> int:
        """The number of message rows."""
        return sum(each.messages for each in self.conversations)

    @property
    def bytes(self) -> int:
        """The approximate size of all rows."""
        return sum(each.bytes for each in self.conversations)
