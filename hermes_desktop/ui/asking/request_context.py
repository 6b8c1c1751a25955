"""What two sheets that show the same request one after the other have to know alike. No Qt."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a sheet cannot know by itself: two sheets show the same request one after the other.

    Attributes:
        span: How many seconds it waits in all.
        session: Title of its session, "" while it is not known.
    """

    span: float
    session: str = ""
