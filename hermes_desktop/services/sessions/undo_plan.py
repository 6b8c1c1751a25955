"""What undoing turns would do, what of it is wanted, and what was done, as records."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from hermes_desktop.agent.undo.restoring import PutBack, Step, Undo

__all__ = [
    "PutBack",
    "Step",
    "TurnUndoPlan",
    "TurnUndoResult",
    "Undo",
    "UndoChoice",
    "UndoneRestored",
    "typed_undo",
]


@dataclass(frozen=True, slots=True)
class TurnUndoPlan:
    """What undoing the last turns of a session would do.

    Attributes:
        session_id: The newest part of the conversation.
        message_id: The first user message that is removed; 0: none is.
        turns: The number of turns.
        text: The beginning of that message.
        files: What would be put back.
        rows: The rows of the messages that would be removed.
    """

    session_id: str
    message_id: int
    turns: int
    text: str
    files: Undo
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class UndoChoice:
    """What of a plan is carried out.

    Attributes:
        overwrite: Also put back files that somebody else changed since.
        files_only: Leave the conversation as it is.
        only: Put back these files only, as they are shown, and leave the conversation.
        chosen: Put back exactly these files of the plan; None: those that nobody changed since.
    """

    overwrite: bool = False
    files_only: bool = False
    only: Collection[str] = ()
    chosen: Collection[Step] | None = None


@dataclass(frozen=True, slots=True)
class TurnUndoResult:
    """What was undone.

    Attributes:
        files: What was put back.
        left: Files that were left because somebody changed them since.
        rows: The number of removed messages; 0: the conversation stayed.
        undo_id: The undo, to take it back with ``TurnUndoing.redo``; "": nothing was replaced.
    """

    files: PutBack
    left: tuple[Step, ...]
    rows: int
    undo_id: str = ""


@dataclass(frozen=True, slots=True)
class UndoneRestored:
    """What taking back an undo restored.

    Attributes:
        files: The files.
        left: Files that were left because somebody changed them after the undo.
        rows: The number of messages that are back.
    """

    files: PutBack
    left: tuple[Step, ...]
    rows: int


def typed_undo(text: str) -> int:
    """Return how many turns a typed ``/undo`` takes back; 0 for any other message.

    Where a preview can be shown, it is handled there; with other words behind it, it is sent like
    any command.
    """
    found = re.fullmatch(r"/undo(?:\s+([1-9][0-9]{0,2}))?", text.strip(), re.IGNORECASE)
    return int(found[1] or 1) if found is not None else 0
