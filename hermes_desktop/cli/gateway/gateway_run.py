"""``hermes-desktop gateway run``: the gateway in the foreground, without a window."""

from typing import TYPE_CHECKING

import click

from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.gateway.gateway_texts import runs_already
from hermes_desktop.core.errors import NotFoundError, RefusedError
from hermes_desktop.services.hosting.gateway_facts import read_facts

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths

DRAIN_S = 15
_LONGEST_S = 3600


@click.command()
@click.option(
    "--insist",
    is_flag=True,
    help="Start even if some scheduled work or platforms do not run here.",
)
@click.option(
    "--drain",
    "drain_s",
    type=click.IntRange(0, _LONGEST_S),
    default=DRAIN_S,
    show_default=True,
    metavar="SECONDS",
    help="How long running replies may take after a stop signal.",
)
@with_home
def run(*, insist: bool, drain_s: int, paths: "HermesPaths") -> int:
    """Run the gateway of the home in the foreground, without a window.

    Stop it with Ctrl-C, SIGTERM or SIGHUP. Running replies then get --drain seconds to finish; a
    second signal interrupts them. Progress goes to standard error.

    Exit codes: 0 when it was stopped, by a signal or by `gateway stop` of either program; 1 when
    it could not start, failed, or lost the home to another gateway. A restart that `hermes`
    requests happens within the same process.
    """
    if not paths.home.is_dir():
        raise NotFoundError(
            "This home does not exist yet.",
            f"There is no folder {paths.home}.",
            "Create it by choosing a model: `hermes-desktop config set model.default NAME`. "
            "You can also start the window once.",
        )
    facts = read_facts(paths)
    if facts.gateway is not None:  # before anything is opened
        raise runs_already(facts.name, facts.gateway.record.pid, facts.started_at)
    from hermes_desktop.state.database.home_marks import kind_of_home

    home = kind_of_home(paths.state_db)
    if not home.may_write:
        raise RefusedError(
            "Hermes Desktop cannot run the gateway of this home.",
            f"{home.title} {home.reason}",
            "Use `hermes gateway run` or `hermes gateway start`.",
        )
    from hermes_desktop.cli.gateway.gateway_program import run_gateway

    return run_gateway(paths, insist=insist, drain_s=drain_s)
