"""``hermes-desktop sessions prune`` and ``archive``: many sessions, chosen by conditions."""

import time
from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, per_source, with_consent
from hermes_desktop.cli.long_work import long_work
from hermes_desktop.cli.output import Column, counted, first_rows
from hermes_desktop.cli.sessions.session_filters import with_filter, with_pinned
from hermes_desktop.cli.sessions.session_text import clock_time
from hermes_desktop.cli.sessions.session_trash import as_ranges
from hermes_desktop.cli.store_access import open_actions, open_store
from hermes_desktop.core.errors import CancelledError
from hermes_desktop.services.sessions import bulk_sessions
from hermes_desktop.services.sessions.session_catalog import choose_for_change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.sessions.bulk_sessions import BulkPlan
    from hermes_desktop.services.sessions.session_actions import SessionActions
    from hermes_desktop.state import SessionDB
    from hermes_desktop.state.sessions.bulk_selection import SessionFilter
    from hermes_desktop.state.trash.trash import TrashReceipt

_COLUMNS = (
    Column("ID"),
    Column("Started", optional=True),
    Column("Source"),
    Column("Model", optional=True),
    Column("Messages", right=True),
    Column("Title", gives_way=True),
)


@click.command()
@with_filter
@with_pinned
@click.option("--include-archived", is_flag=True, help="Include archived sessions.")
@click.option("--for-good", is_flag=True, help="Keep no copy in the trash. This cannot be undone.")
@click.option("--large", is_flag=True, help="Keep a copy in the trash even if it is large.")
@with_consent
@with_home
def prune(
    *,
    choice: "SessionFilter",
    include_archived: bool,
    for_good: bool,
    large: bool,
    consent: Consent,
    paths: "HermesPaths",
) -> None:
    """Move old ended sessions to the trash.

    Without conditions, moves sessions that were not used for 90 days. You can restore them for 30
    days. Pinned sessions stay. A compressed conversation is moved as a whole or not at all;
    subagents and branches stay unless they match the conditions, too.
    """
    if for_good and large:
        raise click.UsageError("--large has no effect with --for-good, which keeps no copy.")
    with open_actions(paths) as (actions, db):
        plan = bulk_sessions.plan_prune(
            db, choice, now=time.time(), include_archived=include_archived
        )
        sessions = counted(len(plan.candidates), "session")
        if for_good:
            words = (f"Permanently delete {sessions}?", "this cannot be undone")
        else:
            words = (f"Move {sessions} to the trash?", "kept in the trash for 30 days")
        if not _agreed(plan, consent, *words):
            return
        if for_good:
            done = _prune_for_good(actions, db, plan, paths)
            _report(plan, consent, f"Permanently deleted {per_source(plan.by_source)}.", done)
        else:
            _report_pruned(plan, consent, _prune(actions, plan, large=large))


def _prune_for_good(
    actions: "SessionActions", db: "SessionDB", plan: "BulkPlan", paths: "HermesPaths"
) -> int:
    with long_work() as work:
        done = bulk_sessions.prune_permanently(
            db, plan, paths.sessions_dir, on_progress=work.on_progress, cancel=work
        )
    actions.forget_prompts([each.id for each in plan.candidates])
    left = len(db.candidates(plan.choice)) if work.is_set() else 0
    if left:
        raise CancelledError(
            "Stopped.", f"{counted(done, 'session')} permanently deleted, {left:,} left."
        )
    return done


def _prune(actions: "SessionActions", plan: "BulkPlan", *, large: bool) -> "TrashReceipt":
    from hermes_desktop.state.trash.trash import TrashDiskFullError, TrashTooLargeError

    try:
        with long_work() as work:
            receipt = actions.prune(plan, force=large, on_progress=work.on_progress, cancel=work)
    except TrashTooLargeError as error:
        error.hint = "Add --large to keep the copy anyway, or --for-good to keep none."
        raise
    except TrashDiskFullError as error:
        error.hint = "Free some space, or add --for-good to keep no copy."
        raise
    done = len(receipt.items)
    if work.is_set() and done < len(plan.candidates):
        raise CancelledError(
            "Stopped.",
            f"{counted(done, 'session')} moved to the trash, {len(plan.candidates) - done:,} left.",
            "See `hermes-desktop sessions trash list`.",
        )
    return receipt


def _report_pruned(plan: "BulkPlan", consent: Consent, receipt: "TrashReceipt") -> None:
    """Report what was moved to the trash and how to restore it."""
    numbers = {item.root_id: item.trash_id for item in receipt.items}
    if consent.as_json:
        output.write_json(
            {**each.as_row(), "trash_id": numbers.get(each.id)} for each in plan.candidates
        )
        return
    _report(plan, consent, f"Moved to the trash: {per_source(plan.by_source)}.", len(numbers))
    if numbers:
        each = as_ranges(numbers.values())
        output.write(f"Undo: hermes-desktop sessions trash restore {each}\n")


@click.command()
@click.argument("sessions", nargs=-1, metavar="[ID|TITLE]...")
@with_filter
@with_pinned
@with_consent
@with_home
def archive(
    *,
    sessions: tuple[str, ...],
    choice: "SessionFilter",
    consent: Consent,
    paths: "HermesPaths",
) -> None:
    """Hide sessions from the lists.

    Archives the sessions you name, or all ended sessions that match the conditions and are not
    pinned. Nothing is deleted; `sessions unarchive` shows them again.
    """
    if sessions and (choice or choice.include_pinned):
        raise click.UsageError("Use either session names or conditions, not both.")
    if sessions:
        _archive_named(sessions, consent, paths)
        return
    with open_store(paths, write=True) as db:
        plan = bulk_sessions.plan_archive(db, choice)
        question = f"Archive {counted(len(plan.candidates), 'session')}?"
        if not _agreed(plan, consent, question, "hidden from the lists, nothing is deleted"):
            return
        done = bulk_sessions.archive(db, plan)
    _report(plan, consent, f"Archived {per_source(plan.by_source)}.", done)


def _archive_named(sessions: tuple[str, ...], consent: Consent, paths: "HermesPaths") -> None:
    with open_actions(paths) as (actions, db):
        ids = [choose_for_change(db, output.without_surrogates(each)) for each in sessions]
        if consent.dry_run:
            shown = [row for each in ids if (row := db.summary(each)) and not row.archived]
            changed: tuple[str, ...] = tuple(dict.fromkeys(row.id for row in shown))
        else:
            changed = actions.archive(ids)
    if consent.as_json:
        output.write_json({"id": each, "archived": not consent.dry_run} for each in changed)
        return
    lead = "Would archive" if consent.dry_run else "Archived"
    output.write(f"{lead} {counted(len(changed), 'session')}.\n")


def _agreed(plan: "BulkPlan", consent: Consent, question: str, meaning: str) -> bool:
    """Show the affected sessions and ask; False when there are none, or for a dry run."""
    if not plan.candidates:
        if consent.as_json:
            output.write_json([])
        else:
            output.write(f"No sessions match the conditions.\n{_spared_lines(plan)}")
        return False
    rows = [
        (each.id, clock_time(each.started_at), each.source, each.model or "",
         each.message_count, each.title or "")
        for each in plan.candidates
    ]  # fmt: skip
    preview = first_rows(_COLUMNS, rows)
    preview += f"{per_source(plan.by_source)}\n{counted(plan.messages, 'message')}; {meaning}\n"
    preview += _spared_lines(plan)
    agreed = consent.obtain(preview, question)
    if consent.dry_run and consent.as_json:
        output.write_json(each.as_row() for each in plan.candidates)
    return agreed


def _report(plan: "BulkPlan", consent: Consent, sentence: str, done: int) -> None:
    if consent.as_json:
        output.write_json(each.as_row() for each in plan.candidates)
        return
    output.write(sentence + "\n")
    if done != len(plan.candidates):
        output.say(f"Note: only {counted(done, 'session')}; the others have changed since.")


def _spared_lines(plan: "BulkPlan") -> str:
    """Return lines about pinned sessions and those used more recently than they seem, if any."""
    return "".join(f"{line}\n" for line in _each_spared(plan))


def _each_spared(plan: "BulkPlan") -> "Iterator[str]":
    spared = plan.spared
    if plan.pinned:
        yield f"{plan.pinned:,} of them {_are(plan.pinned)} pinned."
    if spared.pinned:
        sessions = counted(spared.pinned, "pinned session")
        yield f"Skipped: {sessions}. Add --include-pinned to include {_them(spared.pinned)}."
    if spared.parts:
        parts = counted(spared.parts, "earlier part")
        yield f"Skipped: {parts} of conversations whose latest session stays."
    if spared.used_since:
        sessions = counted(spared.used_since, "session")
        yield f"Skipped: {sessions} started before that time but used later."
    if plan.choice.idle_before is not None and (plan.candidates or spared.used_since):
        yield "Age is measured from the last use; `hermes` 0.19 measures it from the start."
    if spared.pinned or plan.pinned:
        yield "`hermes` 0.19 ignores pins."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"
