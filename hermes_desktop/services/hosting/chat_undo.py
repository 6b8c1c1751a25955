"""Undoing turns for ``/undo`` in chats: what it would do and what it did, as text. Blocking."""

from collections.abc import Callable, Sequence

from hermes_desktop.commands.context import UndoneTurns
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.services.sessions.turn_undo import TurnUndoing
from hermes_desktop.services.sessions.undo_plan import PutBack, Step, TurnUndoPlan

_MOST_FILES, _MOST_CHARACTERS, _LONGEST_LINE = 20, 1_500, 160
_LEFT = {
    "changed-since": "changed since, outside this turn; left as it is",
    "not-kept": "cannot be reverted: the earlier version was not saved",
}
_WORDS = {
    "created": "will be deleted",
    "changed": "will be reverted",
    "deleted": "will be restored",
}


class ChatUndo:
    """Implementation of :class:`~hermes_desktop.commands.context.TurnUndo`. Any thread.

    Args:
        undoing: Undoes turns.
        clean: Removes secrets from text.
    """

    def __init__(self, undoing: TurnUndoing, clean: Callable[[str], str]) -> None:
        self._undoing = undoing
        self._clean = clean

    def preview(self, session_id: str, turns: int) -> str:
        """Return what happens to files, with the difference; "" if no file is touched."""
        try:
            plan = self._undoing.plan(session_id, turns)
        except NotFoundError:
            return ""
        lines = [_preview_line(each) for each in _shown(plan)]
        if len(lines) > _MOST_FILES:
            lines = [*lines[:_MOST_FILES], f"- and {len(lines) - _MOST_FILES:,} more"]
        lines += [f"- Note: {_visible(each)}" for each in plan.files.not_covered]
        if plan.files.interrupted:
            lines.append("- Note: the turn was interrupted; every change since it began is listed")
        if not lines:
            return ""
        return "\n".join(["Files:", *lines, *self._difference(plan)])

    def undo(self, session_id: str, turns: int) -> UndoneTurns | None:
        """Undo the last turns; None when there are none. Turns are kept out by the caller."""
        try:
            plan = self._undoing.plan(session_id, turns)
        except NotFoundError:
            return None
        done = self._undoing.undo(plan, alone=True)
        first = next(iter(self._undoing.messages(plan)), None)
        text = first.content if first is not None else plan.text
        notes = _told(done.files, done.left, "Reverted")
        return UndoneTurns(plan.turns, done.rows, text, tuple(notes))

    def restore(self, session_id: str) -> str:
        """Revert the latest undo, and return what was restored. The caller keeps turns out."""
        done = self._undoing.redo(session_id, alone=True)
        messages = f"{done.rows:,} message{'' if done.rows == 1 else 's'}"
        lines = [f"Restored: {messages}."] if done.rows else []
        return "\n".join([*lines, *_told(done.files, done.left, "Restored")]) or "Restored."

    def _difference(self, plan: TurnUndoPlan) -> list[str]:
        """Return the differences as a block of code, as far as there is room."""
        room, lines, more = _MOST_CHARACTERS, list[str](), 0
        for step in plan.files.having("ready"):
            text = self._undoing.difference(step)
            if not text:
                continue
            text = self._clean(text).replace("```", "` ` `")
            if len(text) > room:
                more += 1
                continue
            room -= len(text)
            lines += [_visible(each)[:_LONGEST_LINE] for each in text.splitlines()]
        if not lines:
            return []
        told = [f"The differences of {more:,} more are longer."] if more else []
        return ["```diff", *lines, "```", *told]


def _shown(plan: TurnUndoPlan) -> list[Step]:
    return [e for e in plan.files.steps if e.state != "as-before" and not e.is_folder]


def _preview_line(step: Step) -> str:
    return f"- {_name(step)}: {_LEFT.get(step.state) or _WORDS[step.verb]}"


def _told(files: PutBack, left: Sequence[Step], verb: str) -> list[str]:
    done = [_name(each) for each in files.done if not each.is_folder]
    lines = []
    if done:
        more = len(done) - _MOST_FILES
        named = ", ".join(done[:_MOST_FILES]) + (f" and {more:,} more" if more > 0 else "")
        count = f"{len(done):,} file{'' if len(done) == 1 else 's'}"
        lines.append(f"{verb}: {count} ({named}).")
    lines += [f"Left, as it was changed since: {_name(each)}" for each in left[:_MOST_FILES]]
    failed = files.failed[:_MOST_FILES]
    lines += [f"Not done: {_name(step)}: {why}" for step, why in failed]
    return lines


def _name(step: Step) -> str:
    """Return a file's name: whole for one outside the folder, and without what is not visible."""
    return f"`{_visible(step.shown).replace('`', chr(39))}`"


def _visible(text: str) -> str:
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
