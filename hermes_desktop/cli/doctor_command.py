"""``hermes-desktop doctor``: what works here, what does not, and what to do about it."""

import logging
import os
from dataclasses import asdict

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import chosen_profile, profile_option
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.core.paths import HermesPaths, resolve_paths

_PROBLEMS = 1


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, one object per check.")
@profile_option
def doctor(*, as_json: bool, profile: str | None) -> int:
    """Check the program, the desktop and the home.

    Shows what works, what does not, and what to do about it. It changes nothing and shows no
    secrets, messages or titles. The exit code is 1 if a check found an error.
    """
    from hermes_desktop.services.diagnosis.doctor import as_text, examine

    # Without a handler, warnings would go to standard error, and they may quote files.
    logging.getLogger("hermes_desktop").addHandler(logging.NullHandler())
    paths: HermesPaths | None = None
    no_home: HermesError | None = None
    try:
        paths = resolve_paths(os.environ, chosen_profile(profile))
    except HermesError as error:
        no_home = error
    except RuntimeError:  # the user has no home folder at all
        no_home = NotFoundError(
            "This user has no home folder.", "", "Set HOME or HERMES_HOME to a folder."
        )
    findings = examine(paths, os.environ, no_home)
    if as_json:
        output.write_json(asdict(each) for each in findings)
    else:
        output.write(output.neutralise(as_text(findings)))
    return _PROBLEMS if any(each.state == "error" for each in findings) else 0
