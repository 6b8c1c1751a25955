"""Whether a turn runs in a session, for whoever wants to change that session."""

from collections.abc import Callable

from hermes_desktop.core.errors import RefusedError

RunningTurn = Callable[[str], str | None]
"""Says which turn runs in a session, in words that end a sentence; None when there is none."""


class RunningTurnError(RefusedError):
    """A turn runs in the session.

    Attributes:
        session_id: The session it runs in.
        turn: What :data:`RunningTurn` said.
    """

    def __init__(self, session_id: str, turn: str, verb: str) -> None:
        super().__init__(
            f"The session cannot be {verb} now: a turn is running in it.",
            f"In session {session_id}: {turn}.",
            "Stop that turn or wait for its end, then try again.",
        )
        self.session_id = session_id
        self.turn = turn


def no_turn(_: str) -> str | None:
    """For programs in which no turn can run."""
    return None
