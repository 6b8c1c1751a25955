"""Hints of the user for a running turn; the model receives them after the next tool result.

A hint is stored as it is sent, so that the conversation is repeated in the same bytes. The marks
around it cannot come from a tool: in tool output they are broken up.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from hermes_desktop.core.text.stored_text import HINT_SIGNS, HINTS_BEGIN, HINTS_END

log = logging.getLogger(__name__)

MOST_WAITING = 32

Heard = Callable[[], object]
"""Called when a hint is stored with the model's next input; on the thread of the turn."""


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint."""

    text: str
    heard: Heard | None = None


class Steering:
    """The hints for the turn of one agent. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hints: list[Hint] = []
        self._open = False

    def begin(self) -> None:
        """Start accepting hints for a new turn."""
        with self._lock:
            self._open, self._hints = True, []

    def add(self, text: str, heard: Heard | None = None) -> bool:
        """Add a hint; return False when no turn accepts hints, or too many are pending."""
        text = text.strip()
        with self._lock:
            if not self._open or not text or len(self._hints) >= MOST_WAITING:
                return False
            self._hints.append(Hint(text, heard))
            return True

    def take(self) -> tuple[Hint, ...]:
        """Return the hints added since; they are no longer pending."""
        with self._lock:
            hints, self._hints = tuple(self._hints), []
        return hints

    def put_back(self, hints: tuple[Hint, ...]) -> None:
        """Restore hints that were not sent after all."""
        with self._lock:
            self._hints[:0] = hints

    def end(self) -> str:
        """End the turn; return the text of hints that were not sent, "" for none."""
        with self._lock:
            self._open = False
            hints, self._hints = self._hints, []
        return "\n\n".join(hint.text for hint in hints)


def told(hints: tuple[Hint, ...]) -> None:
    """Notify the senders that hints are stored with the model's input."""
    for hint in hints:
        if hint.heard is None:
            continue
        try:
            hint.heard()
        except Exception:
            log.exception("The sender of a hint could not be notified")


def with_hints(result: str, hints: tuple[Hint, ...]) -> str:
    """Return a tool's result, followed by the hints."""
    if not hints:
        return result
    said = "\n\n".join(_harmless(hint.text) for hint in hints)
    return f"{result}{HINTS_BEGIN}{said}{HINTS_END}"


def tool_text(result: str) -> str:
    """Return a tool's own result, in which nothing resembles a hint."""
    return _harmless(result)


def joined(result: str, said: str) -> str:
    """Join what :func:`.split_hints` separated."""
    return with_hints(result, (Hint(said),)) if said else result


def _harmless(text: str) -> str:
    for sign in HINT_SIGNS:
        if sign in text:
            text = text.replace(sign, f"[ {sign[1:]}")
    return text
