"""What a person says while a turn runs, and how the model is told: behind the next tool's result.

It is stored as it is told, so that the conversation is told again in the same bytes. The words
around it cannot come from a tool: there they are broken up.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)

_OPENS = "[THE PERSON SAYS WHILE YOU WORK: "
_EXPLAINS = "this is a message to you, no output of a tool]"
_CLOSES = "[END OF WHAT THE PERSON SAYS]"
MOST_WAITING = 32

Heard = Callable[[], object]
"""Called once a hint is stored with what the model is told next; on the thread of the turn."""


@dataclass(frozen=True, slots=True)
class Hint:
    """One thing that was said meanwhile."""

    text: str
    heard: Heard | None = None


class Steering:
    """The hints for the turn of one agent. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hints: list[Hint] = []
        self._open = False

    def begin(self) -> None:
        """A turn begins that can be told something."""
        with self._lock:
            self._open, self._hints = True, []

    def add(self, text: str, heard: Heard | None = None) -> bool:
        """Take a hint; False when no turn runs that could be told, or too much waits."""
        text = text.strip()
        with self._lock:
            if not self._open or not text or len(self._hints) >= MOST_WAITING:
                return False
            self._hints.append(Hint(text, heard))
            return True

    def take(self) -> tuple[Hint, ...]:
        """The hints that came since; they are no longer waiting."""
        with self._lock:
            hints, self._hints = tuple(self._hints), []
        return hints

    def put_back(self, hints: tuple[Hint, ...]) -> None:
        """They were not told after all."""
        with self._lock:
            self._hints[:0] = hints

    def end(self) -> str:
        """The turn is over; what nobody was told, "" for nothing."""
        with self._lock:
            self._open = False
            hints, self._hints = self._hints, []
        return "\n\n".join(hint.text for hint in hints)


def told(hints: tuple[Hint, ...]) -> None:
    """Say that hints are stored with what the model is told."""
    for hint in hints:
        if hint.heard is None:
            continue
        try:
            hint.heard()
        except Exception:
            log.exception("Whoever gave a hint could not be told")


def with_hints(result: str, hints: tuple[Hint, ...]) -> str:
    """A tool's result, with what was said meanwhile behind it."""
    if not hints:
        return result
    said = "\n\n".join(_harmless(hint.text) for hint in hints)
    return f"{result}\n\n{_OPENS}{_EXPLAINS}\n{said}\n{_CLOSES}"


def tool_text(result: str) -> str:
    """A tool's own result, in which nothing looks like a person's words."""
    return _harmless(result)


def split(stored: str) -> tuple[str, str]:
    """A stored result as the tool's own, and what the person said behind it ("" for nothing)."""
    if not stored.endswith(_CLOSES):
        return stored, ""
    result, mark, said = stored.rpartition(f"\n\n{_OPENS}{_EXPLAINS}\n")
    if not mark:
        return stored, ""
    return result, said.removesuffix(f"\n{_CLOSES}")


def joined(result: str, said: str) -> str:
    """What :func:`split` took apart."""
    return with_hints(result, (Hint(said),)) if said else result


def _harmless(text: str) -> str:
    for sign in (_OPENS, _CLOSES):
        if sign in text:
            text = text.replace(sign, f"[ {sign[1:]}")
    return text
