"""Texts about undoing turns. No Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_desktop.ui.words.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_desktop.services.sessions.live_undo import TurnUndoPreview
    from hermes_desktop.services.sessions.session_changes import ChangedByTurn
    from hermes_desktop.services.sessions.undo_plan import (
        PutBack,
        Step,
        TurnUndoPlan,
        TurnUndoResult,
        UndoneRestored,
    )

KEPT_WORDS = "For 14 days, Restore brings everything back."
_NAMED = 5
_READY = {
    "created": "Will be deleted",
    "changed": "Will be reverted",
    "deleted": "Will be restored",
}
_KB, _MB = 1_000, 1_000_000


def counted(count: int, noun: str) -> str:
    """Return ``1 file``, ``1,200 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def changed_words(turn: ChangedByTurn) -> str:
    """Return what the last turn did, for the line below its reply."""
    return f"{counted(turn.files, 'file')} changed" if turn.files else "The turn was interrupted"


def question(plan: TurnUndoPlan) -> str:
    """Return the title of the preview."""
    if not plan.message_id:
        return f"Revert {counted(len(plan.files.steps), 'file')}?"
    return "Undo this turn?" if plan.turns == 1 else f"Undo {counted(plan.turns, 'turn')}?"


def answer(plan: TurnUndoPlan) -> str:
    """Return the label of the button that does it."""
    if not plan.message_id:
        return "Revert"
    return "Undo turn" if plan.turns == 1 else f"Undo {counted(plan.turns, 'turn')}"


def about_messages(preview: TurnUndoPreview) -> str:
    """Return what happens to the conversation."""
    plan = preview.plan
    if not plan.message_id:
        return "The conversation is not changed."
    others = len(plan.rows) - 1
    first = f"“{one_line(plan.text, 80)}”"
    if others <= 0:
        return f"Your message {first} is removed from the conversation."
    after = f"{counted(others, 'message')} after it"
    return f"Your message {first} and {after} are removed from the conversation."


def speaker(role: str) -> str:
    """Return who wrote a message."""
    return {"user": "You", "assistant": "Hermes", "tool": "Tool"}.get(role, "System")


def step_words(step: Step) -> str:
    """Return what undoing does to a file."""
    if step.state == "changed-since":
        verb = "Deleted" if step.now is None else "Changed"
        return f"{verb} since, outside this turn"
    if step.state == "not-kept":
        return "Cannot be reverted"
    if step.state == "as-before":
        return "Already reverted"
    return _READY[step.verb]


def without_text(step: Step) -> str:
    """Return what to say about a file of which no difference can be shown."""
    now, before = step.now, step.before
    if step.is_folder:
        return "A folder."
    if now is not None and before is not None and now.kind == before.kind == "file":
        if now.content and now.content == before.content:
            return f"Only the permissions change: {now.mode:o} becomes {before.mode:o}."
        return f"No text to compare. {_size(now.size)} now, {_size(before.size)} before."
    if "link" in {each.kind for each in (now, before) if each is not None}:
        return "A link, or a file in place of one."
    size = now.size if now is not None else before.size if before is not None else 0
    return f"No text to show. {_size(size)}."


def notes(plan: TurnUndoPlan) -> list[str]:
    """Return what the user has to know beside the list of files."""
    found = list(plan.files.not_covered)
    if plan.files.interrupted:
        found.append("The turn was interrupted. Every change since it began is listed.")
    lost = len(plan.files.having("not-kept"))
    if lost:
        found.append(
            f"{counted(lost, 'file')} cannot be reverted: no earlier version was saved. It was "
            "too large, or there was too little space."
        )
    theirs = len(plan.files.having("changed-since"))
    if theirs:
        found.append(
            f"{counted(theirs, 'file')} {'was' if theirs == 1 else 'were'} changed after the turn. "
            "Select what to revert anyway."
        )
    if not plan.files.steps and not plan.files.not_covered:
        found.append("No changed files were recorded for this turn.")
    return found


def undone_words(plan: TurnUndoPlan, done: TurnUndoResult) -> tuple[str, str]:
    """Return a sentence about the result, and its details."""
    files = len([each for each in done.files.done if not each.is_folder])
    if done.files.stopped:
        title = f"Stopped. {counted(files, 'file')} reverted; the conversation is not changed."
    elif not plan.message_id:
        title = f"Reverted {counted(files, 'file')}."
    else:
        what = "the turn" if plan.turns == 1 else counted(plan.turns, "turn")
        title = f"Undid {what}: {counted(files, 'file')} reverted, {_removed(done.rows)}."
    return title, _details(done.files, done.left)


def restored_words(done: UndoneRestored) -> tuple[str, str]:
    """Return a sentence about a restored turn, and its details."""
    files = len([each for each in done.files.done if not each.is_folder])
    if done.files.stopped:
        words = f"Stopped. {counted(files, 'file')} restored; the messages are still removed."
        return words, _details(done.files, done.left)
    parts = [counted(files, "file")] if files or not done.rows else []
    parts += [counted(done.rows, "message")] if done.rows else []
    return f"Restored {' and '.join(parts)}.", _details(done.files, done.left)


def _removed(rows: int) -> str:
    return f"{counted(rows, 'message')} removed"


def _details(files: PutBack, left: Sequence[Step]) -> str:
    lines = [f"{_name(step)}: {why}." for step, why in files.failed[:_NAMED]]
    lines += [f"{_name(each)} was changed since and is left as it is." for each in left[:_NAMED]]
    more = len(files.failed) + len(left) - len(lines)
    return "\n".join([*lines, f"And {more:,} more."] if more > 0 else lines)


def _name(step: Step) -> str:
    return one_line(step.shown, 80)


def _size(count: int) -> str:
    if count < _KB:
        return counted(count, "byte")
    return f"{count / _KB:,.0f} KB" if count < _MB else f"{count / _MB:,.1f} MB"
