"""``hermes-desktop sessions prune`` and ``archive``: many sessions, chosen by conditions."""

import time
from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.consent import Consent, per_source, with_consent
from hermes_desktop.cli.home_option import with_home
from hermes_desktop.cli.rows import Column, counted, first_rows
from hermes_desktop.cli.session_filters import with_filter
from hermes_desktop.cli.session_text import clock_time
from hermes_desktop.cli.store_access import open_actions, open_store
from hermes_desktop.core.errors import CancelledError
from hermes_desktop.services import bulk_sessions
from hermes_desktop.services.session_choice import choose_for_change

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.bulk_sessions import BulkPlan
    from hermes_desktop.state.bulk_filters import SessionFilter

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
@click.option("--include-archived", is_flag=True, help="Archived sessions, too.")
@with_consent
@with_home
def prune(
    *, choice: "SessionFilter", include_archived: bool, consent: Consent, paths: "HermesPaths"
) -> None:
    """Delete ended sessions for good; without a condition those that began 90 days ago.

    Nothing goes to the trash: use `sessions delete` for what may be wanted again. Each row that
    meets the conditions goes; subagents and branches of it stay unless they meet them, too.
    """
    with open_store(paths, write=True) as db:
        plan = bulk_sessions.plan_prune(
            db, choice, now=time.time(), include_archived=include_archived
        )
        if not _agreed(plan, consent, "Delete", "for good, there is no undo"):
            return
        try:
            done = bulk_sessions.prune(db, plan, paths.sessions_dir)
        except KeyboardInterrupt:
            left = len(db.candidates(plan.choice))
            deleted = len(plan.candidates) - left
            raise CancelledError(
                "Stopped.", f"{counted(deleted, 'session')} deleted, {left:,} left."
            ) from None
    _report(plan, consent, f"Deleted {per_source(plan.by_source)}.", done)


@click.command()
@click.argument("sessions", nargs=-1, metavar="[ID|TITLE]...")
@with_filter
@with_consent
@with_home
def archive(
    *,
    sessions: tuple[str, ...],
    choice: "SessionFilter",
    consent: Consent,
    paths: "HermesPaths",
) -> None:
    """Hide sessions from the lists: those named, or all ended ones that meet the conditions.

    Nothing is deleted; `sessions unarchive` shows them again.
    """
    if sessions and choice:
        raise click.UsageError("Name sessions or give conditions, not both.")
    if sessions:
        _archive_named(sessions, consent, paths)
        return
    with open_store(paths, write=True) as db:
        plan = bulk_sessions.plan_archive(db, choice)
        if not _agreed(plan, consent, "Archive", "hidden from the lists, nothing is deleted"):
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


def _agreed(plan: "BulkPlan", consent: Consent, verb: str, meaning: str) -> bool:
    """Show what is concerned and ask; False when there is nothing to do, or it is a dry run."""
    if not plan.candidates:
        if consent.as_json:
            output.write_json([])
        else:
            output.write("No session meets the conditions.\n")
        return False
    rows = [
        (each.id, clock_time(each.started_at), each.source, each.model or "",
         each.message_count, each.title or "")
        for each in plan.candidates
    ]  # fmt: skip
    preview = first_rows(_COLUMNS, rows)
    preview += f"{per_source(plan.by_source)}\n{counted(plan.messages, 'message')}; {meaning}\n"
    question = f"{verb} {counted(len(plan.candidates), 'session')}?"
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
        output.say(f"Note: {counted(done, 'session')} in fact; others changed meanwhile.")
