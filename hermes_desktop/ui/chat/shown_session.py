"""The conversation that the page shows, and the ids that events use for it. No Qt."""

from dataclasses import dataclass, field

from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.widgets.coalesced_runs import CoalescedRuns


@dataclass(slots=True)
class ShownSession:
    """One conversation on the page. Showing another one creates a new object.

    Attributes:
        id: The session that messages go to; None for a chat that has not started.
        summary: The row as last read, None while it is not stored yet.
        ids: All ids that its rows and events use (root, tip, earlier tips).
        nothing: Whether nothing is selected.
        loaded: Whether the transcript shows this conversation and not the one before it.
        refreshes: Its reads after it was written to.
    """

    id: str | None = None
    summary: SessionSummary | None = None
    ids: set[str] = field(default_factory=set)
    nothing: bool = False
    loaded: bool = False
    refreshes: CoalescedRuns = field(default_factory=CoalescedRuns, compare=False)

    @classmethod
    def of(cls, summary: SessionSummary) -> "ShownSession":
        """Return the object for a stored conversation."""
        return cls(summary.id, summary, {summary.id, summary.root_id})

    def take(self, summary: SessionSummary) -> None:
        """Store the row as read again; after a compaction it has another id."""
        self.id = summary.id
        self.summary = summary
        self.ids |= {summary.id, summary.root_id}

    def begin(self, session_id: str) -> None:
        """Store the id after the first message of a new chat was accepted."""
        self.id = session_id
        self.ids.add(session_id)

    @property
    def draft_key(self) -> str:
        """Key of its draft: the root id, which does not change when the tip does."""
        if self.summary is not None:
            return self.summary.root_id
        return self.id or ""
