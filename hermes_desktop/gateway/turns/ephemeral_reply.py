"""Answers that say something about the gateway, not about the conversation."""


class EphemeralReply(str):
    """A text for a chat that is no part of its conversation and may be deleted after a while."""

    __slots__ = ()
