"""Texts about gateways that several commands use."""

import time
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_desktop.cli.output import counted
from hermes_desktop.core.errors import HermesError

if TYPE_CHECKING:
    from hermes_desktop.services.hosting.gateway_facts import GatewayFacts

_UNITS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0))
_LIMIT_S, _LIMIT_WITH_SERVICE_S = "9", "4.5"


def age(then: float | None, now: float) -> str:
    """Return the time since a moment: ``12 s``, ``3 min``, ``2 h``, ``5 d``; "?" when unknown."""
    if then is None:
        return "?"
    seconds = max(0.0, now - then)
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"


def moment(then: float | None) -> str:
    """Return local date and time to the second; "?" when unknown."""
    if then is None:
        return "?"
    return datetime.fromtimestamp(then).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def stop_sentence(facts: "GatewayFacts") -> str:
    """Describe what stopping the running gateway would do."""
    gateway = facts.gateway
    if gateway is None:
        return "There is nothing to stop."
    turns = gateway.active_agents
    replies = counted(turns, "running reply", "running replies")
    running = f"{replies} would be" if turns else "running replies are"
    if facts.kind == "hermes":
        with_service = f" The service {facts.service.name} stops, too." if facts.service else ""
        return f"`hermes gateway stop` ends it; {running} interrupted.{with_service}"
    limit = _LIMIT_WITH_SERVICE_S if facts.service else _LIMIT_S
    program = {
        True: " The window stays open.",
        False: " That program ends.",
        None: "",
    }[facts.windowed]
    return f"it ends within {limit} s; {running} interrupted and resumed later.{program}"


def runs_already(name: str, pid: int, started_at: float | None) -> HermesError:
    """Return the error that another gateway has the home."""
    return HermesError(
        "A gateway is already running for this home.",
        f"It is {name}, process {pid}, running for {age(started_at, time.time())}.",
        "See `hermes-desktop gateway status`. To stop it, use `hermes-desktop gateway stop`.",
    )
