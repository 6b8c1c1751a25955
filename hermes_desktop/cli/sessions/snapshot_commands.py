"""``hermes-desktop sessions snapshot`` and ``restore``: copies of the whole store."""

import time
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, with_consent
from hermes_desktop.cli.long_work import long_work
from hermes_desktop.cli.output import Column, as_text, counted, size
from hermes_desktop.cli.sessions.session_text import clock_time
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.core.errors import StateUnavailableError
from hermes_desktop.services.sessions import store_care
from hermes_desktop.state.database.holders import other_holders
from hermes_desktop.state.maintenance import statistics
from hermes_desktop.state.maintenance.restore import require_no_other_process, require_shared
from hermes_desktop.state.maintenance.snapshot import list_snapshots

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.state.maintenance.snapshot import SnapshotInfo

_COLUMNS = (
    Column("Name"),
    Column("Taken"),
    Column("Before"),
    Column("Sessions", right=True),
    Column("Messages", right=True),
    Column("Size", right=True),
)


@click.group()
def snapshot() -> None:
    """Take and list snapshots, which are copies of the whole store.

    The latest five of the last 30 days are kept. Restore one with `sessions restore`.
    """


@snapshot.command()
@click.option("--json", "as_json", is_flag=True, help="Print the snapshot as a JSON array.")
@with_home
def take(*, as_json: bool, paths: "HermesPaths") -> None:
    """Copy the current store. Other programs can keep using it."""
    with long_work() as work:
        taken = store_care.guard(
            paths, "person", now=time.time(), on_progress=work.on_progress, cancel=work
        )
    if as_json:
        output.write_json([_object(taken.snapshot)])
        return
    info = taken.snapshot
    output.write(
        f"Snapshot {info.name}: {counted(info.sessions, 'session')}, "
        f"{counted(info.messages, 'message')}, {size(info.bytes)}.\n"
    )
    for name in taken.dropped:
        output.say(f"Note: the old snapshot {name} was deleted.")


@snapshot.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")
@with_home
def list_all(*, as_json: bool, paths: "HermesPaths") -> None:
    """List the snapshots, latest first.

    In a pipe: name, time, reason, sessions, messages, size.
    """
    found = list_snapshots(paths.snapshots_dir)
    if as_json:
        output.write_json(map(_object, found))
    elif not found:
        output.write("No snapshots.\n")
    else:
        output.write(as_text(_COLUMNS, [_row(info) for info in found]))


@click.command()
@click.argument("name", metavar="NAME|latest")
@with_consent
@with_home
def restore(*, name: str, consent: Consent, paths: "HermesPaths") -> None:
    """Replace the store with a snapshot.

    The current store is kept in another snapshot, or set aside if it cannot be read. Close all
    other programs that use the store first.
    """
    info = store_care.find(paths, output.without_surrogates(name))
    require_shared(paths.state_db)
    if not consent.dry_run:
        require_no_other_process(paths.state_db, unseen_ok=True)
    preview = f"Snapshot {info.name}: {counted(info.sessions, 'session')}, "
    preview += f"{counted(info.messages, 'message')}\n{_present(paths)}"
    if consent.obtain(preview, "Replace the store with this snapshot?"):
        with long_work() as work:
            done = store_care.restore(
                paths, info, now=time.time(), on_progress=work.on_progress, cancel=work
            )
        if done.before is not None:
            output.say(f"The previous store is kept in the snapshot {done.before.name}.")
        if done.set_aside is not None:
            output.say(output.one_line(f"The damaged store is kept as {done.set_aside}."))
    if consent.as_json:
        output.write_json([_object(info)])
    elif not consent.dry_run:
        output.write(f"Restored snapshot {info.name}.\n")


def _present(paths: "HermesPaths") -> str:
    """Describe what would be replaced, and which programs may be using it."""
    if not paths.state_db.exists() or not paths.state_db.stat().st_size:
        return "There is no store yet.\n"
    try:
        with open_store(paths) as db:
            now = db.read(statistics.figures)
        sessions = counted(now.sessions, "session")
        lines = f"Replaces: {sessions}, {counted(now.messages, 'message')}\n"
    except StateUnavailableError as error:
        lines = f"Replaces a file that cannot be read and is set aside. {error.detail}"
        lines = output.one_line(lines) + "\n"
    holders = other_holders(paths.state_db)
    if holders.seen:
        lines += output.one_line(f"Open in: {holders}") + "\n"
    if holders.hidden:
        lines += (
            f"{holders.hidden} processes are not visible; make sure that no other Hermes program"
            " is running.\n"
        )
    return lines


def _row(info: "SnapshotInfo") -> tuple[Any, ...]:
    taken = clock_time(info.created_at)
    return info.name, taken, info.reason, info.sessions, info.messages, size(info.bytes)


def _object(info: "SnapshotInfo") -> dict[str, Any]:
    return {
        "name": info.name,
        "path": str(info.path),
        "reason": info.reason,
        "created_at": info.created_at,
        "bytes": info.bytes,
        "sessions": info.sessions,
        "messages": info.messages,
        "schema_version": info.schema_version,
    }
