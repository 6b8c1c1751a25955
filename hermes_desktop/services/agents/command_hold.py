"""How the assistant's commands are controlled here: by a sandbox, and by approvals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hermes_desktop.agent.sandbox.grants import Level, SandboxStatus
from hermes_desktop.agent.tools.asking.approvals import ApprovalRules

Sandboxing = Literal["closed", "partly", "asks", "off"]
"""``closed``: a closed sandbox. ``partly``: one protects contents and network, and only risky
commands need approval. ``asks``: every command needs approval. ``off``: the sandbox is switched
off, and risky commands need approval."""


@dataclass(frozen=True, slots=True)
class CommandHold:
    """How commands are controlled.

    Attributes:
        sandboxing: The kind of sandbox.
        approvals_off: Where approvals are switched off: in the ``settings``, or in this
            ``session``; "" while they are on. The sandbox stays on regardless.
        asks_risky: Risky commands need approval even in a closed sandbox.
        error: Why there is no closed sandbox; "" if there is one, or if it is switched off.
    """

    sandboxing: Sandboxing = "off"
    approvals_off: Literal["", "settings", "session"] = ""
    asks_risky: bool = False
    error: str = ""


def command_hold(
    config: Mapping[str, Any], status: Callable[[], SandboxStatus], *, is_free: bool
) -> CommandHold:
    """Return how commands are controlled. Blocking if the sandbox is switched on.

    Args:
        config: The decoded config.yaml.
        status: Finds out which sandbox works on this computer.
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
