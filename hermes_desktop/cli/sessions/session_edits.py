"""``hermes-desktop sessions rename``, ``unarchive`` and ``delete``: single sessions, by name."""

from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.consent import Consent, per_source, with_consent
from hermes_desktop.cli.home_option import with_home
from hermes_desktop.cli.long_work import long_work
from hermes_desktop.cli.rows import Column, counted, first_rows, size
from hermes_desktop.cli.sessions.session_trash_filter import as_ranges
from hermes_desktop.cli.store_access import open_actions
from hermes_desktop.core.errors import CancelledError, NotFoundError, UsageError
from hermes_desktop.services.sessions.session_catalog import find_session_id
from hermes_desktop.services.sessions.session_choice import choose_for_change

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
@click.option("--clear", is_flag=True, help="Take the title away.")
@click.option("--json", "as_json", is_flag=True, help="One JSON array with the id and the title.")
@with_home
def rename(
    *, session: str, title: tuple[str, ...], clear: bool, as_json: bool, paths: "HermesPaths"
) -> None:
    """Give a session another title; its words need no quotes."""
    wanted = output.without_surrogates(" ".join(title))
    if clear and title:
        raise click.UsageError("Give a title or --clear, not both.")
    if not clear and not wanted.strip():
        raise UsageError(
            "There is no title.", "", "Write it behind the session, or use --clear to take it away."
        )
    with open_actions(paths) as (actions, db):
        found = find_session_id(db, output.without_surrogates(session))
        shown = db.summary(found)
        stored = actions.rename(found, wanted)
    session_id = found if shown is None else shown.id
    if as_json:
        output.write_json([{"id": session_id, "title": stored}])
    elif stored is None:
        output.write(output.one_line(f"Session {session_id} has no title any more.") + "\n")
    else:
        output.write(output.one_line(f"Session {session_id} is now called “{stored}”.") + "\n")


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="ID|TITLE...")
@click.option("--json", "as_json", is_flag=True, help="One JSON array of what was changed.")
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
@click.option("--large", is_flag=True, help="Keep a copy in the trash however large it is.")
@with_consent
@with_home
def delete(
    *, sessions: tuple[str, ...], large: bool, consent: Consent, paths: "HermesPaths"
) -> None:
    """Move sessions to the trash.

    `sessions trash restore` brings them back for 30 days. A session goes with all its parts, if it
    was compressed, and with the sessions of its subagents. A session is named by its id, at least
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
        error.hint = "Add --large to keep such a copy all the same."
        raise
    done = len(receipt.items)
    if work.is_set() and done < len(plan.ids):
        raise CancelledError(
            "Stopped.",
            f"{counted(done, 'session')} moved to the trash, {len(plan.ids) - done:,} left.",
            "Look at it with `hermes-desktop sessions trash list`.",
        )
    if not receipt.items:
        raise NotFoundError("This session is no longer there.", "Another program deleted it.")
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
