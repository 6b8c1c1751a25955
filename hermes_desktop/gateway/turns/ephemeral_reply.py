"""Replies about the gateway that are not part of the session."""


class EphemeralReply(str):
    """A text for a chat that is not part of its session and may be deleted after a while."""

    __slots__ = ()
