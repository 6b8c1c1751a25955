"""Interface for asking whether a turn runs in a session that is about to be changed."""

from collections.abc import Callable

from hermes_desktop.core.errors import RefusedError

RunningTurn = Callable[[str], str | None]
"""Returns the running turn of a session as a phrase that ends a sentence; None if there is none."""


class RunningTurnError(RefusedError):
    """A turn runs in the session.

    Attributes:
        session_id: The session it runs in.
        turn: The phrase that :data:`RunningTurn` returned.
    """

    def __init__(self, session_id: str, turn: str, verb: str) -> None:
        super().__init__(
            f"The session cannot be {verb} now: a turn is running in it.",
            f"In session {session_id}: {turn}.",
            "Stop that turn or wait for its end, then try again.",
        )
        self.session_id = session_id
        self.turn = turn


def never_running(_: str) -> str | None:
    """Return None, for programs in which no turn can run."""
    return None
