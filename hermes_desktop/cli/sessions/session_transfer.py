"""``hermes-desktop sessions export`` and ``import``."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import per_source
from hermes_desktop.cli.long_work import long_work
from hermes_desktop.cli.output import counted
from hermes_desktop.cli.sessions.session_filters import with_filter
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.core.errors import NotFoundError, UsageError
from hermes_desktop.core.files.home_files import EXPORTS
from hermes_desktop.services.sessions.session_catalog import find_session_id
from hermes_desktop.services.sessions.store_care import guard
from hermes_desktop.services.transfer import session_export, session_import
from hermes_desktop.services.transfer.session_redaction import redactor_of_home

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.transfer.session_export import Clean
    from hermes_desktop.services.transfer.session_import import Imported, ImportPlan
    from hermes_desktop.state import SessionDB
    from hermes_desktop.state.sessions.bulk_selection import SessionFilter

_STANDARD = "-"
_MOST_LOSSES = 20


@click.command()
@click.argument("place", required=False, metavar="[FILE|FOLDER|-]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "md"]),
    default="jsonl",
    show_default=True,
    help="One file with an object per line, or a folder with a Markdown document per session.",
)
@click.option(
    "--session",
    "--session-id",
    "named",
    multiple=True,
    metavar="ID|TITLE",
    help="Only this session; may be repeated.",
)
@with_filter
@click.option("--redact", is_flag=True, help="Remove keys, tokens and passwords.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--dry-run", is_flag=True, help="Show what would be exported.")
@with_home
def export(  # noqa: PLR0913 - one argument an option
    *,
    place: str | None,
    form: str,
    named: tuple[str, ...],
    choice: "SessionFilter",
    redact: bool,
    force: bool,
    dry_run: bool,
    paths: "HermesPaths",
) -> None:
    """Write sessions to a file, a folder or standard output.

    Without conditions, everything is exported, including archived sessions and subagents; with
    conditions, the ended sessions that match them, oldest first. JSONL goes to standard output
    unless you name a file; Markdown goes to the folder session-exports in the home.
    """
    if named and choice:
        raise click.UsageError("Use either session names or conditions, not both.")
    if form == "md" and place == _STANDARD:
        raise click.UsageError("Markdown needs a folder; it cannot go to standard output.")
    clean: Clean = redactor_of_home(paths).clean if redact else _as_it_is
    with open_store(paths) as db:
        wanted = [find_session_id(db, output.without_surrogates(each)) for each in named]
        ids = session_export.choose(db, wanted, choice)
        if dry_run:
            output.say(f"{counted(len(ids), 'session')} would be exported.")
        elif form == "md":
            folder = Path(place) if place else paths.home / EXPORTS
            _markdown(db, ids, folder, paths, clean, force=force)
        else:
            _json_lines(db, ids, place or _STANDARD, paths, clean, force=force)


def _as_it_is(value: Any) -> Any:
    return value


def _json_lines(
    db: "SessionDB",
    ids: list[str],
    place: str,
    paths: "HermesPaths",
    clean: "Clean",
    *,
    force: bool,
) -> None:
    if place == _STANDARD:
        output.write_json_lines(session_export.objects(db, ids, clean))
        return
    with long_work() as work:
        found = session_export.objects(db, ids, clean, on_progress=work.on_progress, cancel=work)
        count = session_export.write_json_lines(Path(place), found, paths, force=force)
    output.say(f"{counted(count, 'session')} exported to {place}.")


def _markdown(
    db: "SessionDB",
    ids: list[str],
    folder: Path,
    paths: "HermesPaths",
    clean: "Clean",
    *,
    force: bool,
) -> None:
    with long_work() as work:
        written = session_export.write_markdown(
            db, ids, folder, paths, clean, force=force, on_progress=work.on_progress, cancel=work
        )
    for path in written:
        output.write(output.one_line(str(path)) + "\n")
    output.say(f"{counted(len(written), 'session')} exported to {folder}.")


@click.command("import")
@click.argument("place", metavar="FILE|-")
@click.option("--dry-run", is_flag=True, help="Check the file without changing anything.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the sessions in the file as a JSON array."
)
@with_home
def import_sessions(*, place: str, dry_run: bool, as_json: bool, paths: "HermesPaths") -> None:
    """Add sessions from a JSONL export.

    Sessions that already exist are left unchanged. The whole file is checked first; if it contains
    a mistake, nothing is imported. A snapshot of the store is taken first.
    """
    given = session_import.parse(_read(place))
    if dry_run:
        if paths.state_db.exists():
            # For writing, as the import would: a file that cannot be written is refused here, too.
            with open_store(paths, write=True) as db:
                plan = session_import.plan_import(db, given)
        else:
            plan = session_import.plan_import(None, given)
        _tell(plan, None, as_json=as_json)
        return
    plan = session_import.plan_import(None, given)  # before anything is created
    if not plan.sessions:
        output.write("[]\n" if as_json else "There is nothing to import.\n")
        return
    with long_work() as work:
        snapshot_needed = paths.state_db.exists()
        with open_store(paths, write=True, make=True) as db:
            plan = session_import.plan_import(db, given)
            if snapshot_needed and plan.fresh:
                guard(paths, "import", now=time.time(), on_progress=work.on_progress, cancel=work)
            done = session_import.run_import(db, plan, on_progress=work.on_progress, cancel=work)
    _tell(plan, done, as_json=as_json)


def _read(place: str) -> str:
    if place == _STANDARD:
        if sys.stdin is None:  # pythonw has none
            return ""
        data = sys.stdin.buffer.read()
    else:
        try:
            data = Path(place).read_bytes()
        except FileNotFoundError:
            raise NotFoundError("The file does not exist.", place) from None
        except OSError as error:
            raise UsageError(
                "The file cannot be read.", f"{place}: {error.strerror or error}."
            ) from error
    return data.decode("utf-8", errors="replace")


def _tell(plan: "ImportPlan", done: "Imported | None", *, as_json: bool) -> None:
    added = {each["id"] for each in plan.fresh} if done is None else set(done.ids)
    if as_json:
        new = "new" if done is None else "imported"
        output.write_json(
            {"id": each["id"], "result": new if each["id"] in added else "skipped"}
            for each in plan.sessions
        )
        return
    lead = "Would import" if done is None else "Imported"
    skipped = len(plan.sessions) - len(added)
    there = f"; {skipped:,} already exist" if skipped else ""
    output.write(f"{lead} {per_source(plan.by_source)}{there}.\n")
    for loss in plan.lost[:_MOST_LOSSES]:
        output.say(f"Note: {loss.text}")
    if len(plan.lost) > _MOST_LOSSES:
        output.say(f"Note: {counted(len(plan.lost) - _MOST_LOSSES, 'more value')} cannot be kept.")
    if done is not None:
        for each in done.retitled:
            output.say(
                f"Note: “{each['from']}” is taken; {each['session_id']} is now “{each['to']}”."
            )
        if done.detached:
            output.say(f"Note: {counted(done.detached, 'session')} whose parent is missing.")
