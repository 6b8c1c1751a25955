"""Replies to messages of platforms that run now, for whoever is about to stop them. No Qt."""

from hermes_desktop.core.events import TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.ui.words.source_names import source_name

_OWN = frozenset({"desktop", "local", "cli"})
_PLATFORM_PART = 2
_MOST_LETTERS = 70


class RunningReplies:
    """Remembers turns from their beginning to their end.

    Those of this window's chats are not its business: they go on when the gateway stops.
    """

    def __init__(self) -> None:
        self._turns: dict[str, TurnQueued | TurnStarted] = {}

    def begun(self, event: TurnQueued | TurnStarted) -> None:
        """A turn waits or runs."""
        if platform_of(event.session_key) not in _OWN:
            self._turns[event.turn_id] = event

    def finished(self, event: TurnFinished) -> None:
        """A turn is over."""
        self._turns.pop(event.turn_id, None)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._turns)

    def lines(self) -> list[str]:
        """Each in one line: what was asked, and where."""
        return [
            f"“{_short(turn.prompt)}” – {source_name(platform_of(turn.session_key))}"
            for turn in self._turns.values()
        ]


def platform_of(session_key: str) -> str:
    """The platform in a key like ``agent:main:telegram:dm:7``, "" when there is none."""
    parts = session_key.split(":")
    return parts[_PLATFORM_PART] if len(parts) > _PLATFORM_PART else ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_LETTERS else f"{flat[: _MOST_LETTERS - 1].rstrip()}…"
