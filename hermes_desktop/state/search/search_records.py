"""The query and result records of a search: immutable, without SQLite."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hermes_desktop.state.search.search_query import Way

NoticeKind: TypeAlias = Literal[
    "index-missing", "index-damaged", "index-incomplete", "query-shortened"
]


@dataclass(frozen=True, slots=True)
class SearchNotice:
    """A notice for the user about how the search was done.

    Attributes:
        kind: A stable identifier.
        text: A sentence.
    """

    kind: NoticeKind
    text: str


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The parameters of a search.

    Attributes:
        text: Words, "phrases", ``prefixes*``, AND, OR, NOT.
        order: The newest messages first, or the best matches: for a word in more than 60,000
            messages, among the newest of those; for a prefix in about 25,000, among the newest few
            hundred, then among the next.
        sources: Only in conversations of these, exactly as stored; None for all.
        exclude_sources: Not in these.
        roles: Only messages of these roles; None for all.
        session_ids: Only in these sessions; None for all.
        archived: True only in archived conversations, False only in the others, as in the list of
            sessions; subagents belong to the session they worked for. None for all.
        limit: Maximum number of hits.
        page_size: Maximum number of hits per call of ``on_hits``.
        prefix: Every bare word of two characters and more is a prefix.
        include_rewound: Also messages that the user undid.
        one_per_conversation: Only the first hit of each conversation.
    """

    text: str
    order: Literal["newest", "best"] = "newest"
    sources: Collection[str] | None = None
    exclude_sources: Collection[str] = ()
    roles: Collection[str] | None = None
    session_ids: Collection[str] | None = None
    archived: bool | None = None
    limit: int = 50
    page_size: int = 50
    prefix: bool = False
    include_rewound: bool = False
    one_per_conversation: bool = False


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One message that was found.

    Attributes:
        message_id: Its row id.
        session_id: The session that contains it.
        root_id: The first segment of the conversation.
        tip_id: The last segment of the conversation, which is the one to open.
        snippet: A short excerpt around the hit, on one line.
        marks: Start and end of the matches in ``snippet``.
        title: Of the tip, None without one.
    """

    message_id: int
    session_id: str
    root_id: str
    tip_id: str
    role: str
    timestamp: float
    snippet: str
    marks: tuple[tuple[int, int], ...]
    source: str
    title: str | None
    session_started: float
    tool_name: str | None = None


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The outcome of a search.

    Attributes:
        hits: Number of hits delivered.
        more: Whether it stopped at the limit, so that there may be more.
        cancelled: Whether it was cancelled.
        way: Whether it used the word index, the trigram index, or a scan of the messages.
        notice: A notice for the user, None when there was no problem.
    """

    hits: int
    more: bool = False
    cancelled: bool = False
    way: Way = "words"
    notice: SearchNotice | None = None
