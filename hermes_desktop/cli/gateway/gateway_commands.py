"""``hermes-desktop gateway``: which program serves a home's messaging platforms, or run it here."""

import click

from hermes_desktop.cli.command_setup import LazyGroup

_HERE = "hermes_desktop.cli.gateway"
_PLACES = {
    "pairing": (f"{_HERE}.gateway_pairing", "pairing"),
    "run": (f"{_HERE}.gateway_run", "run"),
    "status": (f"{_HERE}.gateway_status", "status"),
    "stop": (f"{_HERE}.gateway_stop", "stop"),
}


@click.group(cls=LazyGroup, places=_PLACES)
def gateway() -> None:
    """Check, run and stop the gateway of a home.

    The gateway answers messages from messaging platforms. A home has one gateway at a time:
    `hermes gateway`, Hermes Desktop with its window, or `hermes-desktop gateway run` without one.
    """
