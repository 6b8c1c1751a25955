"""What is asked of a search and what it answers: frozen records, no SQLite."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hermes_desktop.state.search.search_query import Way

NoticeKind: TypeAlias = Literal["index-missing", "index-damaged", "index-incomplete"]


@dataclass(frozen=True, slots=True)
class SearchNotice:
    """What a person should know about how the search was done.

    Attributes:
        kind: A stable word.
        text: A sentence.
    """

    kind: NoticeKind
    text: str


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for.

    Attributes:
        text: Words, "phrases", ``beginnings*``, AND, OR, NOT.
        order: The newest messages first, or those that fit best: of a word that stands in more
            than 60,000 messages, among the newest of those; of a beginning that stands in some
            25,000, among the newest few hundred, then among the next.
        sources: Only in conversations of these, exactly as stored; None for all.
        exclude_sources: Not in these.
        roles: Only messages of these roles; None for all.
        session_ids: Only in these sessions; None for all.
        archived: True only in archived conversations, False only in the others, as the list of
            sessions has them; subagents go with the session they worked for. None for all.
        limit: At most so many hits.
        page_size: How many hits one call of ``on_hits`` gets at most.
        prefix: Every bare word of two characters and more may be the beginning of one.
        include_rewound: Also what the user took back.
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
        session_id: The session it stands in.
        root_id: The first segment of the conversation.
        tip_id: The segment where the conversation goes on; what to open.
        snippet: A few words around the hit, on one line.
        marks: Start and end of the places found, in ``snippet``.
        title: Of the tip, None without.
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
    """How a search went.

    Attributes:
        hits: How many were delivered.
        more: Whether it stopped at the limit, so that there may be others.
        cancelled: Whether it was stopped.
        way: By the index of words, by the one of three characters, or by reading the messages.
        notice: What a person should know, None when all is well.
    """

    hits: int
    more: bool = False
    cancelled: bool = False
    way: Way = "words"
    notice: SearchNotice | None = None
