"""Commands on single sessions by name: rename, unarchive, delete, pin, unpin, folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, per_source, with_consent
from hermes_desktop.cli.long_work import long_work
from hermes_desktop.cli.output import Column, counted, first_rows, size
from hermes_desktop.cli.sessions.session_trash import as_ranges
from hermes_desktop.cli.store_access import open_actions, open_store
from hermes_desktop.core.errors import CancelledError, NotFoundError, UsageError
from hermes_desktop.core.files.hard_links import outside_links
from hermes_desktop.services.sessions.session_catalog import choose_for_change, find_session_id
from hermes_desktop.services.sessions.working_folder import (
    homes_of,
    links_note,
    set_working_folder,
    working_folder,
)

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.sessions.delete_plan import DeletePlan
    from hermes_desktop.services.sessions.session_actions import SessionActions
    from hermes_desktop.state.trash.trash import TrashReceipt

_PLAN_COLUMNS = (
    Column("ID"),
    Column("Source"),
    Column("Messages", right=True, optional=True),
    Column("Title", gives_way=True),
)


@click.command()
@click.argument("session", metavar="ID|TITLE")
@click.argument("title", nargs=-1, metavar="[TITLE]...")
@click.option("--clear", is_flag=True, help="Remove the title.")
@click.option("--json", "as_json", is_flag=True, help="Print the ID and the title as a JSON array.")
@with_home
def rename(
    *, session: str, title: tuple[str, ...], clear: bool, as_json: bool, paths: "HermesPaths"
) -> None:
    """Rename a session. The title needs no quotes."""
    wanted = output.without_surrogates(" ".join(title))
    if clear and title:
        raise click.UsageError("Use either a title or --clear, not both.")
    if not clear and not wanted.strip():
        raise UsageError(
            "The title is missing.", "", "Add it after the session, or use --clear to remove it."
        )
    with open_actions(paths) as (actions, db):
        found = find_session_id(db, output.without_surrogates(session))
        shown = db.summary(found)
        stored = actions.rename(found, wanted)
    session_id = found if shown is None else shown.id
    if as_json:
        output.write_json([{"id": session_id, "title": stored}])
    elif stored is None:
        output.write(output.one_line(f"Session {session_id} no longer has a title.") + "\n")
    else:
        output.write(output.one_line(f"Session {session_id} is now called “{stored}”.") + "\n")


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="ID|TITLE...")
@click.option("--json", "as_json", is_flag=True, help="Print the changed sessions as a JSON array.")
@with_home
def unarchive(*, sessions: tuple[str, ...], as_json: bool, paths: "HermesPaths") -> None:
    """Show archived sessions in the lists again."""
    with open_actions(paths) as (actions, db):
        ids = [choose_for_change(db, output.without_surrogates(each)) for each in sessions]
        changed = actions.unarchive(ids)
    if as_json:
        output.write_json({"id": each, "archived": False} for each in changed)
        return
    output.write(f"{counted(len(changed), 'session')} shown again.\n")


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="ID|TITLE...")
@click.option("--large", is_flag=True, help="Keep a copy in the trash even if it is large.")
@with_consent
@with_home
def delete(
    *, sessions: tuple[str, ...], large: bool, consent: Consent, paths: "HermesPaths"
) -> None:
    """Move sessions to the trash.

    You can restore them for 30 days with `sessions trash restore`. All parts of a compressed
    session and the sessions of its subagents are moved with it. Name a session by its ID, at least
    eight characters of it, or its exact title.
    """
    with open_actions(paths) as (actions, db):
        ids = [choose_for_change(db, output.without_surrogates(each)) for each in sessions]
        plan = actions.plan_delete(ids)
        counts = per_source(plan.by_source)
        preview = _preview(plan, counts)
        question = f"Move {counted(len(plan.ids), 'session')} to the trash?"
        if not consent.obtain(preview, question):
            if consent.as_json:
                output.write_json(_objects(plan, None))
            return
        receipt = _delete(actions, plan, large=large)
    if consent.as_json:
        output.write_json(_objects(plan, receipt))
    else:
        output.write(_done(receipt, counts))


def _delete(actions: "SessionActions", plan: "DeletePlan", *, large: bool) -> "TrashReceipt":
    from hermes_desktop.state.trash.trash import TrashTooLargeError

    try:
        with long_work() as work:
            receipt = actions.delete(plan, force=large, on_progress=work.on_progress, cancel=work)
    except TrashTooLargeError as error:
        error.hint = "Add --large to keep the copy anyway."
        raise
    done = len(receipt.items)
    if work.is_set() and done < len(plan.ids):
        raise CancelledError(
            "Stopped.",
            f"{counted(done, 'session')} moved to the trash, {len(plan.ids) - done:,} left.",
            "See `hermes-desktop sessions trash list`.",
        )
    if not receipt.items:
        raise NotFoundError("This session no longer exists.", "Another program deleted it.")
    return receipt


def _preview(plan: "DeletePlan", counts: str) -> str:
    rows = [(each.id, each.source, each.messages, each.label) for each in plan.conversations]
    lines = [first_rows(_PLAN_COLUMNS, rows), f"{counts}\n"]
    lines.append(f"{counted(plan.messages, 'message')}, {size(plan.bytes)}\n")
    earlier = len(plan.segments) - len(plan.conversations)
    if earlier:
        lines.append(f"With {counted(earlier, 'earlier part')} of them.\n")
    if plan.pinned:
        lines.append(f"{plan.pinned:,} of them {'is' if plan.pinned == 1 else 'are'} pinned.\n")
    if plan.subagents:
        names = output.one_line(", ".join(plan.subagents))
        lines.append(f"With {counted(len(plan.subagents), 'subagent session')}: {names}\n")
    return "".join(lines)


def _done(receipt: "TrashReceipt", counts: str) -> str:
    numbers = as_ranges([item.trash_id for item in receipt.items])
    also = sum(item.session_count for item in receipt.items) - len(receipt.items)
    with_parts = f" (with {counted(also, 'part or subagent')})" if also else ""
    return (
        f"Moved to the trash: {counts}{with_parts}.\n"
        f"Undo: hermes-desktop sessions trash restore {numbers}\n"
    )


def _objects(plan: "DeletePlan", receipt: "TrashReceipt | None") -> list[dict[str, Any]]:
    items = {item.root_id: item.trash_id for item in receipt.items} if receipt else {}
    return [
        {
            "id": each.id,
            "title": each.label,
            "source": each.source,
            "messages": each.messages,
            "bytes": each.bytes,
            "pinned": each.pinned,
            "segments": list(each.segments),
            "subagents": list(each.subagents),
            "trash_id": items.get(each.segments[0]),
        }
        for each in plan.conversations
    ]


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="ID|TITLE...")
@click.option("--json", "as_json", is_flag=True, help="Print the changed sessions as a JSON array.")
@with_home
def pin(*, sessions: tuple[str, ...], as_json: bool, paths: "HermesPaths") -> None:
    """Protect sessions from being pruned.

    `sessions prune`, `sessions archive` with conditions and the automatic deletion of old sessions
    skip pinned sessions. A compressed conversation is pinned with all its parts.
    """
    _set(sessions, paths, pinned=True, as_json=as_json)


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="ID|TITLE...")
@click.option("--json", "as_json", is_flag=True, help="Print the changed sessions as a JSON array.")
@with_home
def unpin(*, sessions: tuple[str, ...], as_json: bool, paths: "HermesPaths") -> None:
    """Unpin sessions."""
    _set(sessions, paths, pinned=False, as_json=as_json)


def _set(sessions: tuple[str, ...], paths: "HermesPaths", *, pinned: bool, as_json: bool) -> None:
    from hermes_desktop.services.sessions.session_actions import PINS_ARE_OURS

    with open_actions(paths) as (actions, db):
        ids = [choose_for_change(db, output.without_surrogates(each)) for each in sessions]
        done = actions.pin(ids) if pinned else actions.unpin(ids)
    if as_json:
        output.write_json({"id": each, "pinned": pinned} for each in done.ids)
    else:
        output.write(f"{'Pinned' if pinned else 'Unpinned'} {counted(len(done.ids), 'session')}.\n")
    if pinned and not done.known_to_hermes:
        output.say(f"Note: {PINS_ARE_OURS}")


@click.command()
@click.argument("session", metavar="ID|TITLE")
@click.argument("place", required=False, metavar="[FOLDER]")
@click.option("--imported", is_flag=True, help="Use the folder named in the imported file.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@with_home
def folder(
    *, session: str, place: str | None, imported: bool, as_json: bool, paths: "HermesPaths"
) -> None:
    """Show the working folder of a session, or set it.

    The assistant's tools start in this folder. An import never sets it: use --imported to accept
    the folder that the imported file names.
    """
    if place is not None and imported:
        raise click.UsageError("Use either a folder or --imported, not both.")
    with open_store(paths, write=place is not None or imported) as db:
        session_id = choose_for_change(db, output.without_surrogates(session))
        found = working_folder(db, session_id)
        if imported:
            place = found.imported
            if place is None:
                raise UsageError(
                    "This session has no imported folder.",
                    "It was not imported, or its file named none.",
                    "Name a folder instead.",
                )
        if place is not None:
            found = set_working_folder(db, session_id, place, homes_of(paths))
    if as_json:
        values = {"id": found.session_id, "cwd": found.current, "imported": found.imported}
        output.write_json_object(values)
        return
    output.write(output.one_line(found.current or "No folder is set.") + "\n")
    if found.note:
        output.say(f"Note: {found.note}.")
    if place is not None and found.current is not None:
        chosen = Path(found.current)
        note = links_note(chosen, outside_links(chosen, lambda: False))
        if note:
            output.say(f"Note: {note}")
