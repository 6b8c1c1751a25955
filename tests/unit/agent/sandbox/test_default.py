"""Where nothing is set, commands run in the sandbox; what is asked depends on the level."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.tools.asking.approvals import sandbox_choice
from tests.fakes.tool_stage import ToolStage, call


@pytest.mark.parametrize(
    ("config", "choice"),
    [
        ({}, "auto"),
        ({"approvals": None}, "auto"),
        ({"approvals": {"mode": "off"}}, "auto"),
        ({"approvals": {"sandboxed_commands": "auto"}}, "auto"),
        ({"approvals": {"sandboxed_commands": "off"}}, "off"),
        ({"approvals": {"sandboxed_commands": False}}, "off"),
        ({"approvals": {"sandboxed_commands": "risky"}}, "risky"),
        ({"approvals": {"sandboxed_commands": "something"}}, "risky"),
    ],
)
def test_the_choice(config: dict[str, Any], choice: str) -> None:
    assert sandbox_choice(config) == choice


@pytest.fixture
def unheld(tmp_path: Path) -> Iterator[ToolStage]:
    """A stage of level C, where nothing is set."""
    stage = ToolStage(tmp_path, level=Level.NONE)
    yield stage
    stage.close()


@pytest.mark.needs("sandbox")
def test_at_level_a_nothing_is_asked_and_rules_hold(closed: ToolStage) -> None:
    closed.config["approvals"] = {"deny": ["touch *"]}
    (closed.cwd / "build").mkdir()
    leave = closed.person(lambda _request: "deny")
    removed, forbidden = closed.result(
        call("terminal", "1", command="rm -rf build"), call("terminal", "2", command="touch x")
    )
    leave()
    assert removed["exit_code"] == 0
    assert not (closed.cwd / "build").exists()
    assert "A rule of the user forbids it." in forbidden["error"]
    assert closed.asked == []


@pytest.mark.needs("landlock")
def test_at_level_b_every_command_is_asked_about(tmp_path: Path) -> None:
    stage = ToolStage(tmp_path, level=Level.PARTLY_HELD)
    leave = stage.person(lambda _request: "deny")
    [denied] = stage.result(call("terminal", command="echo a"))
    leave()
    stage.close()
    assert denied["error"].startswith("Denied.")
    assert [each.text for each in stage.asked] == ["echo a"]


def test_at_level_c_every_command_is_asked_about(unheld: ToolStage) -> None:
    leave = unheld.person(lambda _request: "deny")
    [denied] = unheld.result(call("terminal", command="echo x > made"))
    leave()
    [request] = unheld.asked
    assert request.why == ("It runs without a sandbox, which is not available here.",)
    assert denied["error"].startswith("Denied.")
    assert not (unheld.cwd / "made").exists()


def test_at_level_c_the_answer_is_for_that_command_or_it_is_allowed_always(
    unheld: ToolStage,
) -> None:
    unheld.config["command_allowlist"] = ["echo known"]
    leave = unheld.person(lambda _request: "session")
    results = unheld.result(
        *(
            call("terminal", str(number), command=command)
            for number, command in enumerate(("echo a", "echo a", "echo b", "echo known"))
        )
    )
    leave()
    assert [each["exit_code"] for each in results] == [0, 0, 0, 0]
    assert [each.text for each in unheld.asked] == ["echo a", "echo b"]


def test_at_level_c_nobody_to_ask_means_no(unheld: ToolStage) -> None:
    [denied] = unheld.result(call("terminal", command="echo x > made"))
    assert "nobody can be asked" in denied["error"]
    assert not (unheld.cwd / "made").exists()
