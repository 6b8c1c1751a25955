"""``hermes-desktop gateway run``: the gateway in the foreground, without a window."""

from typing import TYPE_CHECKING

import click

from hermes_desktop.cli.gateway.gateway_facts import read_facts
from hermes_desktop.cli.gateway.gateway_texts import runs_already
from hermes_desktop.cli.home_option import with_home
from hermes_desktop.core.errors import NotFoundError, RefusedError

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths

DRAIN_S = 15
_LONGEST_S = 3600


@click.command()
@click.option("--insist", is_flag=True, help="Start although something would not run here.")
@click.option(
    "--drain",
    "drain_s",
    type=click.IntRange(0, _LONGEST_S),
    default=DRAIN_S,
    show_default=True,
    metavar="SECONDS",
    help="How long replies may take when it is to end.",
)
@with_home
def run(*, insist: bool, drain_s: int, paths: "HermesPaths") -> int:
    """Run the gateway of the home until it is asked to end. It needs no screen.

    Ctrl-C, SIGTERM and SIGHUP let running replies end first, at most as long as --drain says; a
    second one interrupts them. What happens is told on standard error.

    Exit codes: 0 when it was asked to end, by a signal or by `gateway stop` of either program;
    1 when it was not started, because another gateway has the home or something stands against
    it, and when it failed or lost the home. A restart that `hermes` asks for happens inside.
    """
    if not paths.home.is_dir():
        raise NotFoundError(
            "There is no such home.",
            f"The folder {paths.home} does not exist.",
            "Name a model, which makes it: `hermes-desktop config set model.default NAME`. "
            "Starting the window once makes it, too.",
        )
    facts = read_facts(paths)
    if facts.gateway is not None:  # before anything is opened
        raise runs_already(facts.name, facts.gateway.record.pid, facts.started_at)
    from hermes_desktop.state.database.home_marks import kind_of_home

    home = kind_of_home(paths.state_db)
    if not home.may_write:
        raise RefusedError(
            "Hermes Desktop does not run the gateway of this home.",
            f"{home.title} {home.reason}",
            "Use `hermes gateway run`, or `hermes gateway start`.",
        )
    from hermes_desktop.cli.gateway.gateway_program import run_gateway

    return run_gateway(paths, insist=insist, drain_s=drain_s)
