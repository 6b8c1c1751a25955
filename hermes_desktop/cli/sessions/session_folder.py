"""``hermes-desktop sessions folder``: show or set the working folder of a session."""

from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.home_option import with_home
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.core.errors import UsageError
from hermes_desktop.services.sessions.session_choice import choose_for_change
from hermes_desktop.services.sessions.working_folder import set_working_folder, working_folder

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths


@click.command()
@click.argument("session", metavar="ID|TITLE")
@click.argument("place", required=False, metavar="[FOLDER]")
@click.option("--imported", is_flag=True, help="Use the folder named by the imported file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@with_home
def folder(
    *, session: str, place: str | None, imported: bool, as_json: bool, paths: "HermesPaths"
) -> None:
    """Show the working folder of a session, or set it.

    Tools of the assistant begin in this folder. An import never sets it: the folder that the file
    names is used only after --imported.
    """
    if place is not None and imported:
        raise click.UsageError("Give a folder or --imported, not both.")
    with open_store(paths, write=place is not None or imported) as db:
        session_id = choose_for_change(db, output.without_surrogates(session))
        found = working_folder(db, session_id)
        if imported:
            place = found.imported
            if place is None:
                raise UsageError(
                    "This session has no imported folder.",
                    "It was not imported, or its file named none.",
                    "Give a folder instead of --imported.",
                )
        if place is not None:
            found = set_working_folder(db, session_id, place)
    if as_json:
        values = {"id": found.session_id, "cwd": found.current, "imported": found.imported}
        output.write_json_object(values)
        return
    output.write(output.one_line(found.current or "No folder is set.") + "\n")
    if found.note:
        output.say(f"Note: {found.note}.")
