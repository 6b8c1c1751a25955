"""Checks of the home's gateway and its messaging platforms, from their files."""

import time
from collections.abc import Mapping
from typing import Any

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.runtime_files import identity_files
from hermes_desktop.services.diagnosis.findings import Finding, State
from hermes_desktop.services.hosting.gateway_facts import GatewayFacts, read_facts
from hermes_desktop.services.secrets.secret_access import open_secrets
from hermes_desktop.services.settings.gateway_settings import load_gateway_config

_STATUS = "`hermes-desktop gateway status` says more."
_STANDING = "x" * 40
"""Stands for a token that is in the keyring, which is not asked."""
_GOOD = frozenset({"connected", "running"})


def check_gateway(paths: HermesPaths) -> Finding:
    """Find out which program is the gateway, and whether an earlier one left its files."""
    name = "Gateway"
    facts = read_facts(paths, look_into_databases=False)
    service = "" if facts.service is None else f" A service is installed for it: {facts.service}."
    if facts.gateway is None:
        return _not_running(name, paths, facts, service)
    now, pid = time.time(), facts.gateway.record.pid
    since = "" if facts.started_at is None else f", for {_age(now - facts.started_at)}"
    found = f"{facts.name} is running (process {pid}{since}), state {facts.state or 'unknown'}."
    problem = _problem(facts, now)
    if problem:
        return Finding(name, "warning", f"{found} {problem}{service}", _STATUS)
    return Finding(name, "ok", found + service)


def _problem(facts: GatewayFacts, now: float) -> str:
    if facts.state == "frozen":
        return "Its process is suspended."
    if facts.is_silent(now):
        return "It has not updated its state for more than two minutes."
    if facts.drain_requested:
        return "It accepts no new messages, as .drain_request.json requests."
    return ""


def _not_running(name: str, paths: HermesPaths, facts: GatewayFacts, service: str) -> Finding:
    found = f"No gateway is running.{service}"
    files = (identity_files.PID_FILE, identity_files.LOCK_FILE)
    left = [each for each in files if identity_files.read_record(paths.home / each) is not None]
    if facts.ended_without_a_word or left:
        stale = f" It left {', '.join(left)}." if left else ""
        return Finding(
            name,
            "warning",
            f"{found} The last one was killed or crashed.{stale}",
            "Start it again, in the window or with `hermes-desktop gateway run`; that replaces "
            "what is left.",
        )
    if facts.drain_requested:
        advice = "Remove .drain_request.json, or the next gateway accepts no messages."
        return Finding(name, "warning", found, advice)
    return Finding(name, "ok", found)


def check_platforms(paths: HermesPaths, environ: Mapping[str, str]) -> Finding:
    """Return the platforms that are set up, and their last state; no token is read or shown."""
    stored = open_secrets(paths, SystemClock()).store.names()
    surroundings = {**dict.fromkeys(stored, _STANDING), **environ}
    config = load_gateway_config(paths, surroundings).config
    names = [each.value for each in config.get_connected_platforms()]
    if not names:
        return Finding("Platforms", "ok", "None is set up.")
    states = _last_states(paths)
    running = read_facts(paths, look_into_databases=False).gateway is not None
    when = "" if running else ", when a gateway last ran"
    said = [f"{name} {states.get(name) or 'never connected here'}" for name in names]
    failing = [name for name in names if states.get(name) not in _GOOD]
    state: State = "warning" if running and failing else "ok"
    advice = _STATUS if state == "warning" else ""
    return Finding("Platforms", state, f"{', '.join(said)}{when}.", advice)


def _last_states(paths: HermesPaths) -> Mapping[str, str]:
    """Return the state of each platform as a word; messages of errors may quote anything."""
    data = identity_files.read_json(paths.home / identity_files.STATE_FILE)
    platforms: Any = data.get("platforms") if isinstance(data, Mapping) else None
    if not isinstance(platforms, Mapping):
        return {}
    return {
        str(name): word
        for name, each in platforms.items()
        if isinstance(each, Mapping) and (word := str(each.get("state") or "")).isidentifier()
    }


def _age(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
