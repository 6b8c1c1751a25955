"""``hermes-desktop sessions pin`` and ``unpin``."""

from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.home_option import with_home
from hermes_desktop.cli.rows import counted
from hermes_desktop.cli.store_access import open_actions
from hermes_desktop.services.sessions.session_choice import choose_for_change

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="ID|TITLE...")
@click.option("--json", "as_json", is_flag=True, help="One JSON array of what was changed.")
@with_home
def pin(*, sessions: tuple[str, ...], as_json: bool, paths: "HermesPaths") -> None:
    """Spare sessions when old ones are deleted.

    `sessions prune`, `sessions archive` with conditions and the automatic deletion of old sessions
    leave pinned sessions alone. A compressed conversation is pinned with all its parts.
    """
    _set(sessions, paths, pinned=True, as_json=as_json)


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="ID|TITLE...")
@click.option("--json", "as_json", is_flag=True, help="One JSON array of what was changed.")
@with_home
def unpin(*, sessions: tuple[str, ...], as_json: bool, paths: "HermesPaths") -> None:
    """Take the pins of sessions away."""
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
