"""What the gateway says about itself, and what others say about theirs.

The files have one writer, the identity process; the runner hands over what changed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from hermes_desktop.gateway.runtime_files import identity_files, process_facts
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway

DRAIN_REQUEST = ".drain_request.json"


class IdentityHolder(Protocol):
    """What holds the home's identity for a runner."""

    def update(self, fields: Mapping[str, Any]) -> None:
        """Change what the state file says."""
        ...

    def release(self) -> bool:
        """Leave the home; whether that was in order."""
        ...


def write_runtime_status(
    holder: IdentityHolder | None,
    *,
    gateway_state: str | None = None,
    platforms: Mapping[str, Mapping[str, Any]] | None = None,
    active_agents: int | None = None,
) -> None:
    """Say what changed. A private runner holds nothing and leaves the files alone.

    Args:
        holder: What holds the identity.
        gateway_state: ``starting``, ``running``, ``degraded``, ``draining``, ``stopped``,
            ``startup_failed``.
        platforms: Name → ``{state, error_code, error_message, updated_at}``; all of them.
        active_agents: How many turns run.
    """
    fields: dict[str, Any] = {}
    if gateway_state is not None:
        fields["gateway_state"] = gateway_state
    if platforms is not None:
        fields["platforms"] = {name: dict(each) for name, each in platforms.items()}
    if active_agents is not None:
        fields["active_agents"] = max(0, active_agents)
    if holder is not None and fields:
        holder.update(fields)


def remove_pid_file(holder: IdentityHolder | None) -> None:
    """Give the home back, pid file and lock. Nothing to do for a private runner."""
    if holder is not None:
        holder.release()


def read_foreign_gateway(home: Path, *, but: int = 0) -> ForeignGateway | None:
    """The gateway that runs for a home and what it says; reads only, tries no lock.

    Args:
        home: The home.
        but: The pid of our own identity process.
    """
    record = identity_files.live_gateway(home, but=but)
    if record is None:
        return None
    state = identity_files.read_json(home / identity_files.STATE_FILE)
    age = process_facts.age(record.pid)
    if not isinstance(state, Mapping) or state.get("pid") != record.pid:
        return ForeignGateway(record, age_s=age)
    platforms, agents = state.get("platforms"), state.get("active_agents")
    return ForeignGateway(
        record,
        str(state.get("gateway_state") or ""),
        {str(name): each for name, each in platforms.items() if isinstance(each, Mapping)}
        if isinstance(platforms, Mapping)
        else {},
        agents if isinstance(agents, int) else 0,
        age,
    )


def drain_requested(home: Path) -> bool:
    """Whether a tool asked for no new turns, without asking the gateway to leave."""
    return (home / DRAIN_REQUEST).exists()
