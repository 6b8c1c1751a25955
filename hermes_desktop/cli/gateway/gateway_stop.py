"""``hermes-desktop gateway stop``: ask the gateway of a home to stop, whichever program it is."""

import os
import threading
import time
from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, with_consent
from hermes_desktop.cli.gateway.gateway_texts import age, moment, stop_sentence
from hermes_desktop.core.errors import CancelledError, HermesError
from hermes_desktop.services.hosting.gateway_facts import GatewayFacts, read_facts, stop_gateway

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway

_LOOK_S = 0.25


@click.command()
@with_consent
@with_home
def stop(*, consent: Consent, paths: "HermesPaths") -> None:
    """Stop the gateway, whichever program it is.

    Waits up to two minutes for it to end. `hermes gateway` is stopped by its own command, so that
    its service stops, too; Hermes Desktop is stopped in the same way. Nothing is ever killed. It
    is not an error if no gateway is running.
    """
    facts = read_facts(paths)
    if facts.gateway is None:
        if consent.as_json:
            output.write_json([])
        else:
            output.write("No gateway is running for this home.\n")
        return
    if consent.obtain(_preview(facts), f"Stop {facts.name}?"):
        _stop(paths, facts, facts.gateway)
    if consent.as_json:
        pid, stopped = facts.gateway.record.pid, not consent.dry_run
        output.write_json([{"pid": pid, "kind": facts.kind, "stopped": stopped}])
    elif not consent.dry_run:
        output.write(_done(facts))


def _preview(facts: GatewayFacts) -> str:
    pid = facts.gateway.record.pid if facts.gateway else 0
    since = f"since {moment(facts.started_at)} ({age(facts.started_at, time.time())})"
    lines = [
        f"The gateway of {facts.home} is {facts.name}, process {pid}, {since}.",
        f"If you stop it: {stop_sentence(facts)}",
    ]
    return "".join(output.one_line(line) + "\n" for line in lines)


def _stop(paths: "HermesPaths", facts: GatewayFacts, gateway: "ForeignGateway") -> None:
    """Request the stop and wait on a thread, so that Ctrl-C works and the seconds are shown.

    Raises:
        HermesError: The request could not be sent, or it does not stop.
        CancelledError: The user stopped waiting.
    """
    problems: list[str] = []
    cancel = threading.Event()

    def work() -> None:
        problems.append(stop_gateway(paths, gateway, os.environ, cancel))

    worker = threading.Thread(target=work, name="gateway-stop", daemon=True)
    try:
        worker.start()
        _watch(worker, facts)
    except KeyboardInterrupt:
        cancel.set()
        worker.join(1.0)
        raise CancelledError(
            "You stopped waiting.",
            "The gateway was asked to stop and may still end.",
            "Check it with `hermes-desktop gateway status`.",
        ) from None
    problem = problems[0] if problems else "The request could not be sent."
    if problem and gateway.record.is_live():
        raise HermesError(
            f"{facts.name} was not stopped.",
            problem,
            f"It was not killed; its process ID is {gateway.record.pid}.",
        )


def _watch(worker: threading.Thread, facts: GatewayFacts) -> None:
    """Show the elapsed seconds on a terminal; elsewhere one line reports the wait."""
    words = f"Waiting for {facts.name} to end …"
    if not output.is_error_terminal():
        output.say(words)
    began, shown = time.monotonic(), output.RewrittenLine()
    while worker.is_alive():
        worker.join(_LOOK_S)
        if output.is_error_terminal():
            shown.rewrite(f"{words} {time.monotonic() - began:.0f} s")
    shown.clear()


def _done(facts: GatewayFacts) -> str:
    if facts.kind == "hermes-desktop" and facts.windowed:
        return "Hermes Desktop is no longer the gateway of this home; its window stays open.\n"
    return f"{facts.name} has stopped.\n"
