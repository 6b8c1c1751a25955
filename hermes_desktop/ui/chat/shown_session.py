"""Which conversation the page shows, and under which ids events speak of it. No Qt."""

from dataclasses import dataclass, field

from hermes_desktop.state.records.records import SessionSummary


@dataclass(slots=True)
class ShownSession:
    """One conversation on the page. Showing another one makes a new object.

    Attributes:
        id: Where messages go; None for a chat that has not begun.
        summary: The row as last read, None while it is not stored yet.
        ids: All ids under which rows and events of it come (root, tip, earlier tips).
        nothing: Nothing is selected.
        loaded: The transcript shows this conversation, not the one before it.
    """

    id: str | None = None
    summary: SessionSummary | None = None
    ids: set[str] = field(default_factory=set)
    nothing: bool = False
    loaded: bool = False
    refreshing: bool = False
    again: bool = False

    @classmethod
    def of(cls, summary: SessionSummary) -> "ShownSession":
        """A stored conversation."""
        return cls(summary.id, summary, {summary.id, summary.root_id})

    def take(self, summary: SessionSummary) -> None:
        """The row was read again; after a compression it has another id."""
        self.id = summary.id
        self.summary = summary
        self.ids |= {summary.id, summary.root_id}

    def begin(self, session_id: str) -> None:
        """The first message of a new chat was taken."""
        self.id = session_id
        self.ids.add(session_id)
        self.nothing = False

    @property
    def draft_key(self) -> str:
        """Under which a draft is kept: the root does not change when the tip does."""
        if self.summary is not None:
            return self.summary.root_id
        return self.id or ""
