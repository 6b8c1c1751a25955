"""What a delete would take, found by looking."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedConversation:
    """One conversation that a delete takes.

    Attributes:
        id: The session the list shows for it.
        label: What to call it.
        source: Where it began.
        segments: All parts of it, the oldest first; more than one after a compression.
        subagents: Sessions of subagents that go with it.
        messages: How many message rows, those of subagents included.
        bytes: About how much they hold.
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
    """What a delete would take; made by looking, nothing is changed.

    Attributes:
        conversations: In the order asked for, each once.
        missing: Ids that name no session.
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
        """All sessions of subagents that go along."""
        return tuple(part for each in self.conversations for part in each.subagents)

    @property
    def by_source(self) -> Mapping[str, int]:
        """How many conversations of each source, the largest number first."""
        return dict(Counter(each.source for each in self.conversations).most_common())

    @property
    def pinned(self) -> int:
        """How many conversations are pinned."""
        return sum(each.pinned for each in self.conversations)

    @property
    def messages(self) -> int:
        """How many message rows."""
        return sum(each.messages for each in self.conversations)

    @property
    def bytes(self) -> int:
        """About how much all rows hold."""
        return sum(each.bytes for each in self.conversations)
