"""Runtime status of the gateway: publishing our own, reading that of another gateway.

The files have one writer, the identity process; the runner passes changes on to it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from hermes_desktop.gateway.runtime_files import identity_files, process_facts
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway

DRAIN_REQUEST = ".drain_request.json"


class IdentityHolder(Protocol):
    """The holder of the home's identity, as a runner sees it."""

    def update(self, fields: Mapping[str, Any]) -> None:
        """Update fields of the state file."""
        ...

    def release(self) -> bool:
        """Release the home; return whether that was orderly."""
        ...


def write_runtime_status(
    holder: IdentityHolder | None,
    *,
    gateway_state: str | None = None,
    platforms: Mapping[str, Mapping[str, Any]] | None = None,
    active_agents: int | None = None,
) -> None:
    """Publish changed status fields; a private runner has no holder and leaves the files alone.

    Args:
        holder: The holder of the identity; None for a private runner.
        gateway_state: ``starting``, ``running``, ``degraded``, ``draining``, ``stopped``,
            ``startup_failed``.
        platforms: Name → ``{state, error_code, error_message, updated_at}`` of every platform.
        active_agents: The number of running turns.
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
    """Release the home, including pid file and lock; does nothing for a private runner."""
    if holder is not None:
        holder.release()


def read_foreign_gateway(home: Path, *, but: int = 0) -> ForeignGateway | None:
    """Return the gateway that runs for a home and its status; only reads and tries no lock.

    Args:
        home: The home.
        but: The pid of our own identity process, which is ignored.
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
    """Return whether a tool requested a drain: no new turns, but no shutdown of the gateway."""
    return (home / DRAIN_REQUEST).exists()
