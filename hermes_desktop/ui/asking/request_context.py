"""Context shared by the two sheets that show the same request one after the other. No Qt."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a sheet cannot derive from the request: two sheets show it one after the other.

    Attributes:
        span: Total time to answer, in seconds.
        session: Title of its session, "" while it is not known.
    """

    span: float
    session: str = ""
