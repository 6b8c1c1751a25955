"""``hermes-desktop sessions undo``: undo the last turns and the file changes that they made."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, with_consent
from hermes_desktop.cli.output import counted
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.services.sessions.session_catalog import choose_for_change

if TYPE_CHECKING:
    from hermes_desktop.agent.undo.restoring import Step
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.sessions.turn_undo import TurnUndoing
    from hermes_desktop.services.sessions.undo_plan import TurnUndoPlan, TurnUndoResult
    from hermes_desktop.state import SessionDB

_MOST_TURNS = 1000
_STATES = {
    "changed-since": "changed since; not restored",
    "not-kept": "cannot be restored: the previous content was not kept",
    "as-before": "already has its previous content",
}


@click.command()
@click.argument("session", metavar="ID|TITLE")
@click.option(
    "--turns",
    type=click.IntRange(1, _MOST_TURNS),
    default=1,
    metavar="N",
    help="Number of turns to undo.",
)
@click.option(
    "--file", "only", multiple=True, metavar="PATH", help="Restore only this file; repeatable."
)
@click.option("--files-only", is_flag=True, help="Keep the messages.")
@click.option("--overwrite", is_flag=True, help="Restore files even if they were changed since.")
@with_consent
@with_home
def undo(  # noqa: PLR0913 - its options
    *,
    session: str,
    turns: int,
    only: tuple[str, ...],
    files_only: bool,
    overwrite: bool,
    consent: Consent,
    paths: "HermesPaths",
) -> None:
    """Undo the last turn of a session, files included.

    The difference is shown first: lines with - are removed, lines with + are restored. Files that
    were changed after the turn are left as they are, unless --overwrite is given. What a turn
    changes is kept for 14 days, in the session's folder only. To revert an undo, use redo.
    """
    choice = (overwrite, files_only, only)
    undo_turns(paths, output.without_surrogates(session), turns, consent, choice)


def undo_turns(
    paths: "HermesPaths",
    session: str,
    turns: int,
    consent: Consent,
    choice: tuple[bool, bool, tuple[str, ...]] = (False, False, ()),
) -> None:
    """Show what undoing turns would do, ask, and do it.

    Args:
        paths: The home.
        session: The session's id or title.
        turns: How many.
        consent: The confirmation options.
        choice: As in ``UndoChoice``: files changed since too, files only, only these files.
    """
    overwrite, files_only, only = choice
    with _undoing(paths, write=not consent.dry_run) as (undoing, db):
        plan = undoing.plan(choose_for_change(db, session), turns)
        steps = [each for each in plan.files.steps if not only or each.shown in only]
        stays = files_only or bool(only)
        preview = _preview(undoing, plan, steps, overwrite=overwrite, stays=stays)
        asked = counted(len(only), "file") if only else counted(plan.turns, "turn")
        if not consent.obtain(preview, f"Undo {asked}?"):
            if consent.as_json:
                output.write_json(map(_object, steps))
            return
        from hermes_desktop.services.sessions.undo_plan import UndoChoice

        result = undoing.undo(plan, UndoChoice(overwrite, files_only, only))
    if consent.as_json:
        done = set(result.files.done)
        output.write_json({**_object(each), "done": each in done} for each in steps)
    else:
        output.write(_told(result))


@click.command()
@click.argument("session", metavar="ID|TITLE")
@with_home
def redo(*, session: str, paths: "HermesPaths") -> None:
    """Restore what the last undo of a session removed.

    Files that were changed after the undo are left as they are. Possible for 14 days, as long as
    nothing was added to the session.
    """
    with _undoing(paths, write=True) as (undoing, db):
        done = undoing.redo(choose_for_change(db, output.without_surrogates(session)))
    files = [each for each in done.files.done if not each.is_folder]
    lines = [f"Restored: {counted(len(files), 'file')}, {counted(done.rows, 'message')}."]
    lines += _not_done(done.left, done.files.failed)
    output.write("".join(output.one_line(line) + "\n" for line in lines))


@contextlib.contextmanager
def _undoing(paths: "HermesPaths", *, write: bool) -> Iterator[tuple["TurnUndoing", "SessionDB"]]:
    from pathlib import Path

    from hermes_desktop.agent.undo.turn_undo import UndoStore
    from hermes_desktop.core.clock import SystemClock
    from hermes_desktop.services.sessions.open_turns import ForeignTurns
    from hermes_desktop.services.sessions.turn_undo import TurnUndoing
    from hermes_desktop.state.conversations.conversation_locks import ConversationLocks

    with open_store(paths, write=write) as db:
        locks = ConversationLocks(db, paths.desktop_dir, "hermes-desktop sessions")
        store = UndoStore(paths.desktop_dir / "undo", Path.home(), paths.home)
        turns = ForeignTurns(db, SystemClock(), locks)
        yield TurnUndoing(db, store, locks, turns.turn_in), db


def _preview(
    undoing: "TurnUndoing",
    plan: "TurnUndoPlan",
    steps: "Sequence[Step]",
    *,
    overwrite: bool,
    stays: bool,
) -> str:
    lines = [output.one_line(f"{counted(plan.turns, 'turn')}, from “{plan.text}”")]
    for step in steps:
        comes_back = step.state == "ready" or (step.state == "changed-since" and overwrite)
        words = f"was {step.verb}" if comes_back else _STATES[step.state]
        lines.append(output.one_line(f"{step.shown}: {words}"))
        if step.state in {"ready", "changed-since"}:
            shown = undoing.difference(step)
            lines += ["  " + output.neutralise(line) for line in shown.splitlines()]
    if not plan.files.steps and not plan.files.not_covered:
        lines.append("No changed files are recorded.")
    lines += [output.one_line(f"Note: {each}") for each in plan.files.not_covered]
    if plan.files.interrupted:
        lines.append("Note: The turn was interrupted; every change since it began is listed.")
    if stays:
        lines.append("The messages are kept.")
    return "\n".join(lines) + "\n"


def _told(result: "TurnUndoResult") -> str:
    files = [each for each in result.files.done if not each.is_folder]
    lines = [f"Restored: {counted(len(files), 'file')}."]
    lines += _not_done(result.left, result.files.failed)
    if result.rows:
        lines.append(f"Removed: {counted(result.rows, 'message')}.")
    return "".join(output.one_line(line) + "\n" for line in lines)


def _not_done(left: "Sequence[Step]", failed: "Sequence[tuple[Step, str]]") -> list[str]:
    lines = [f"Left, as it was changed since: {each.shown}" for each in left]
    return lines + [f"Not restored: {step.shown}: {why}" for step, why in failed]


def _object(step: "Step") -> dict[str, Any]:
    return {
        "path": step.path,
        "folder": str(step.folder),
        "change": step.verb,
        "state": step.state,
    }
