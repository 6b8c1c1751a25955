"""How the assistant's commands are held here: the sandbox, and whether anyone is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hermes_desktop.agent.sandbox.grants import Level, SandboxStatus
from hermes_desktop.agent.tools.asking.approvals import ApprovalRules

Sandboxing = Literal["closed", "partly", "asks", "off"]
"""``closed``: a sandbox holds everything. ``partly``: one holds contents and network, and only
risky commands are asked about. ``asks``: every command is asked about. ``off``: the sandbox is
switched off, and risky commands are asked about."""


@dataclass(frozen=True, slots=True)
class CommandHold:
    """How commands are held.

    Attributes:
        sandboxing: What holds them.
        approvals_off: Where approvals are switched off: in the ``settings``, or in this
            ``session``; "" while they are on. The sandbox stays on regardless.
        asks_risky: Risky commands are asked about even though a sandbox holds everything.
        error: Why there is no closed sandbox; "" if there is one, or if none is wanted.
    """

    sandboxing: Sandboxing = "off"
    approvals_off: Literal["", "settings", "session"] = ""
    asks_risky: bool = False
    error: str = ""


def command_hold(
    config: Mapping[str, Any], status: Callable[[], SandboxStatus], *, is_free: bool
) -> CommandHold:
    """Return how commands are held. Blocking where a sandbox is wanted.

    Args:
        config: The decoded config.yaml.
        status: Finds out what works on this computer.
        is_free: Whether approvals are switched off in the session.
    """
    rules = ApprovalRules.from_mapping(config)
    off: Literal["", "settings", "session"] = "session" if is_free else ""
    if rules.mode == "off":
        off = "settings"
    if rules.sandboxed == "off":
        return CommandHold("off", off)
    works = status()
    if works.level is Level.CLOSED:
        return CommandHold("closed", off, rules.sandboxed == "risky")
    if works.level is Level.PARTLY_HELD and (rules.partly == "risky" or off):
        return CommandHold("partly", off, error=works.error)
    return CommandHold("asks", off, error=works.error)
