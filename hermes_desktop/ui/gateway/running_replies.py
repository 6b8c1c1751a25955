"""Running replies to messages of platforms, for the confirmation of a stop. No Qt."""

from hermes_desktop.core.events import TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.ui.words.source_names import source_name

_OWN = frozenset({"desktop", "local", "cli"})
_PLATFORM_PART = 2
_MOST_LETTERS = 70


class RunningReplies:
    """Tracks turns from start to end.

    Turns of this window's own chats are ignored: they continue when the gateway stops.
    """

    def __init__(self) -> None:
        self._turns: dict[str, TurnQueued | TurnStarted] = {}

    def begun(self, event: TurnQueued | TurnStarted) -> None:
        """Add a turn that is queued or running."""
        if platform_of(event.session_key) not in _OWN:
            self._turns[event.turn_id] = event

    def finished(self, event: TurnFinished) -> None:
        """Remove a finished turn."""
        self._turns.pop(event.turn_id, None)

    @property
    def count(self) -> int:
        """How many replies are running."""
        return len(self._turns)

    def lines(self) -> list[str]:
        """Return one line for each reply: its prompt and its platform."""
        return [
            f"“{_short(turn.prompt)}” – {source_name(platform_of(turn.session_key))}"
            for turn in self._turns.values()
        ]


def platform_of(session_key: str) -> str:
    """Return the platform in a key like ``agent:main:telegram:dm:7``, "" if there is none."""
    parts = session_key.split(":")
    return parts[_PLATFORM_PART] if len(parts) > _PLATFORM_PART else ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_LETTERS else f"{flat[: _MOST_LETTERS - 1].rstrip()}…"
