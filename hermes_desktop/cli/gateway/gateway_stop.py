"""``hermes-desktop gateway stop``: ask the gateway of a home to stop, whichever program it is."""

import os
import threading
import time
from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.consent import Consent, with_consent
from hermes_desktop.cli.gateway.gateway_facts import GatewayFacts, read_facts
from hermes_desktop.cli.gateway.gateway_texts import age, moment, stop_sentence
from hermes_desktop.cli.home_option import with_home
from hermes_desktop.cli.rewritten_line import RewrittenLine
from hermes_desktop.core.errors import CancelledError, HermesError

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway

_LOOK_S = 0.25


@click.command()
@with_consent
@with_home
def stop(*, consent: Consent, paths: "HermesPaths") -> None:
    """Ask the gateway to stop, whoever it is.

    Its end is waited for, at most two minutes. `hermes gateway` is asked by its own command, so
    that a service is stopped with it; Hermes Desktop is asked as that command would ask it.
    Nothing is ever killed. It is no error when no gateway runs.
    """
    facts = read_facts(paths)
    if facts.gateway is None:
        if consent.as_json:
            output.write_json([])
        else:
            output.write("No gateway runs for this home.\n")
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
        f"To be stopped: {stop_sentence(facts)}",
    ]
    return "".join(output.one_line(line) + "\n" for line in lines)


def _stop(paths: "HermesPaths", facts: GatewayFacts, gateway: "ForeignGateway") -> None:
    """Ask and wait on a thread, so that Ctrl-C and the elapsed seconds work meanwhile.

    Raises:
        HermesError: It could not be asked, or does not stop.
        CancelledError: The user stopped waiting.
    """
    from hermes_desktop.gateway.identity.polite_stop import ask_to_go, wait_until_gone

    problems: list[str] = []
    cancel = threading.Event()

    def work() -> None:
        if not gateway.record.is_live():  # it ended while the question was shown
            problems.append("")
            return
        problem = ask_to_go(paths, gateway, os.environ, cancel=cancel)
        problems.append(problem or wait_until_gone(gateway, cancel))

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
            "Look at it with `hermes-desktop gateway status`.",
        ) from None
    problem = problems[0] if problems else "It could not be asked."
    if problem and gateway.record.is_live():
        raise HermesError(
            f"{facts.name} was not stopped.",
            problem,
            f"Nothing is killed here; its process is {gateway.record.pid}.",
        )


def _watch(worker: threading.Thread, facts: GatewayFacts) -> None:
    """Show the elapsed seconds on a terminal; elsewhere one line reports the wait."""
    words = f"Waiting for {facts.name} to end …"
    if not output.is_error_terminal():
        output.say(words)
    began, shown = time.monotonic(), RewrittenLine()
    while worker.is_alive():
        worker.join(_LOOK_S)
        if output.is_error_terminal():
            shown.rewrite(f"{words} {time.monotonic() - began:.0f} s")
    shown.clear()


def _done(facts: GatewayFacts) -> str:
    if facts.kind == "hermes-desktop" and facts.windowed:
        return "Hermes Desktop is no longer the gateway of this home; its window stays open.\n"
    return f"{facts.name} has stopped.\n"
