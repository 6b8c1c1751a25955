"""How commands are held, as the header shows it."""

from collections.abc import Mapping
from typing import Any

import pytest

from hermes_desktop.agent.sandbox.grants import Level, SandboxStatus
from hermes_desktop.services.agents.command_hold import CommandHold, command_hold
from hermes_desktop.ui.chat.header.workplace_text import hold_label, hold_mood, hold_tip

ON = {"sandboxed_commands": "auto"}
NO_SANDBOX = {"sandboxed_commands": "off"}


def held(level: Level, approvals: Mapping[str, Any], *, free: bool = False) -> CommandHold:
    status = SandboxStatus(level, "" if level is Level.CLOSED else "bwrap: no")
    return command_hold({"approvals": approvals}, lambda: status, is_free=free)


@pytest.mark.parametrize(
    ("level", "approvals", "free", "label"),
    [
        (Level.CLOSED, NO_SANDBOX, False, "No sandbox"),
        (Level.CLOSED, {"sandboxed_commands": False}, False, "No sandbox"),
        (Level.CLOSED, {}, False, "Sandboxed"),
        (Level.PARTLY_HELD, {}, False, "Asks every time"),
        (Level.NONE, {}, False, "Asks every time"),
        (Level.CLOSED, ON, False, "Sandboxed"),
        (Level.CLOSED, {"sandboxed_commands": "risky"}, False, "Sandboxed"),
        (Level.PARTLY_HELD, ON, False, "Asks every time"),
        (Level.PARTLY_HELD, ON | {"partly_sandboxed_commands": "risky"}, False, "Partly held"),
        (Level.NONE, ON, False, "Asks every time"),
        (Level.CLOSED, ON, True, "Sandboxed · YOLO"),
        (Level.CLOSED, ON | {"mode": "off"}, True, "Sandboxed · Approvals off"),
        (Level.PARTLY_HELD, ON | {"mode": False}, False, "Partly held · Approvals off"),
        (Level.NONE, ON, True, "YOLO"),
        (Level.NONE, {"mode": "off"}, False, "Approvals off"),
    ],
)
def test_labels(level: Level, approvals: Mapping[str, Any], free: bool, label: str) -> None:
    hold = held(level, approvals, free=free)
    assert hold_label(hold) == label
    assert hold_mood(hold) == (
        "warning" if hold.approvals_off else "ok" if label == "Sandboxed" else "plain"
    )


def test_tips_say_what_is_so() -> None:
    assert "The sandbox stays on." in hold_tip(held(Level.CLOSED, ON, free=True))
    assert "no question" in hold_tip(held(Level.CLOSED, ON))
    assert "every command asks" in hold_tip(held(Level.NONE, ON))
    assert "bwrap: no" in hold_tip(held(Level.NONE, ON))
    assert "without one" in hold_tip(held(Level.NONE, ON | {"mode": "off"}))
    assert "risky" in hold_tip(held(Level.NONE, NO_SANDBOX))


def test_nothing_is_tried_where_no_sandbox_is_wanted() -> None:
    def status() -> SandboxStatus:
        raise AssertionError

    assert command_hold({"approvals": NO_SANDBOX}, status, is_free=False) == CommandHold()
