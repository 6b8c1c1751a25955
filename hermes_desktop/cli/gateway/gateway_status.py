"""``hermes-desktop gateway status``: which program is the gateway of a home, and its state."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.gateway.gateway_texts import age, moment, stop_sentence
from hermes_desktop.cli.output import Column, as_text
from hermes_desktop.services.hosting.gateway_facts import GatewayFacts, PlatformFacts, read_facts
from hermes_desktop.services.hosting.undone_words import UNDONE_HINT, WHY_UNDONE, undone_sentence

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths

RUNNING, NOT_RUNNING = 0, 1
_COLUMNS = (
    Column("Platform"),
    Column("State"),
    Column("Updated", right=True),
    Column("Problem", gives_way=True),
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with one object.")
@with_home
def status(*, as_json: bool, paths: "HermesPaths") -> int:
    """Show which program is the gateway, and its state.

    Shows how long it has been running, its platforms, and what stopping it would do. Only reads
    files. The exit code is 0 if a gateway is running, whichever program it is, and 1 if not.
    """
    facts = read_facts(paths)
    if as_json:
        output.write_json([_object(facts)])
    elif facts.gateway is None:
        output.write(_lines(_not_running(facts)))
    else:
        output.write(_lines(_running(facts)))
        if facts.platforms:
            output.write("\n" + as_text(_COLUMNS, [_row(each) for each in facts.platforms]))
    return NOT_RUNNING if facts.gateway is None else RUNNING


def _running(facts: GatewayFacts) -> list[str]:
    gateway = facts.gateway
    if gateway is None:
        return []
    now = time.time()
    process = f"Process: {gateway.record.pid}"
    if facts.program_pid != gateway.record.pid:
        process += f" (program: {facts.program_pid})"
    said = f", updated {age(facts.updated_at, now)} ago" if facts.updated_at else ""
    lines = [
        f"Gateway: {facts.name}",
        f"Home: {facts.home}",
        process,
        f"Since: {moment(facts.started_at)} ({age(facts.started_at, now)})",
        f"State: {facts.state or 'unknown'}{said}",
        f"Running turns: {gateway.active_agents}",
        f"If you stop it: {stop_sentence(facts)}",
    ]
    return lines + _notes(facts, now)


def _notes(facts: GatewayFacts, now: float) -> list[str]:
    notes = []
    if facts.is_silent(now):
        notes.append("! It has not updated its state for more than two minutes.")
    if facts.undone is not None:
        notes.append(f"! {undone_sentence(facts.undone)} {WHY_UNDONE} {UNDONE_HINT}")
    if facts.drain_requested:
        notes.append("! It accepts no new messages, as .drain_request.json requests.")
    if facts.service is not None:
        notes.append(f"· A service is installed for this home: {facts.service}")
    if facts.not_ours:
        notes.append(f"· {facts.not_ours} Hermes Desktop cannot host its gateway.")
    return notes


def _not_running(facts: GatewayFacts) -> list[str]:
    lines = ["Gateway: not running", f"Home: {facts.home}"]
    if facts.ended_without_a_word:
        lines.append(f"Last: {facts.state}, {moment(facts.updated_at)}; then it was killed")
    elif facts.updated_at is not None:
        reason = f" ({facts.exit_reason})" if facts.exit_reason else ""
        lines.append(f"Last: {facts.state or 'unknown'}, {moment(facts.updated_at)}{reason}")
    lines += _notes(facts, time.time())
    if facts.not_ours:
        lines.append("Start one with `hermes gateway start`.")
    else:
        lines.append("Start one with `hermes-desktop gateway run`, or in the window.")
    return lines


def _row(platform: PlatformFacts) -> tuple[str, str, str, str]:
    said = age(platform.updated_at, time.time())
    return platform.name, platform.state, said, platform.error


def _lines(lines: list[str]) -> str:
    return "".join(output.one_line(line) + "\n" for line in lines)


def _object(facts: GatewayFacts) -> dict[str, Any]:
    gateway = facts.gateway
    return {
        "running": gateway is not None,
        "kind": facts.kind,
        "home": str(facts.home),
        "pid": None if gateway is None else gateway.record.pid,
        "program_pid": facts.program_pid or None,
        "windowed": facts.windowed,
        "started_at": facts.started_at,
        "state": facts.state or None,
        "updated_at": facts.updated_at,
        "silent": facts.is_silent(time.time()),
        "running_turns": None if gateway is None else gateway.active_agents,
        "exit_reason": facts.exit_reason or None,
        "drain_requested": facts.drain_requested,
        "not_ours": facts.not_ours or None,
        "not_run": None if facts.undone is None else asdict(facts.undone),
        "service": None if facts.service is None else str(facts.service),
        "platforms": [
            {
                "name": each.name,
                "state": each.state,
                "error": each.error or None,
                "updated_at": each.updated_at,
            }
            for each in facts.platforms
        ],
    }
