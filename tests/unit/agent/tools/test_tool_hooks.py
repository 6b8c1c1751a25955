"""What plugins hear of tools and questions, and what they may stop or change."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop import plugins
from tests.fakes.tool_stage import SID, ToolStage, call


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ToolStage]:
    made = ToolStage(tmp_path)
    yield made
    made.close()


@pytest.fixture
def hook() -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    ends: list[Callable[[], None]] = []
    yield lambda name, callback: ends.append(plugins.register_hook(name, callback))
    for end in ends:
        end()


def test_a_plugin_may_stop_a_call(stage: ToolStage, hook: Any) -> None:
    seen: list[dict[str, Any]] = []

    def block(**facts: Any) -> dict[str, str]:
        seen.append(facts)
        return {"action": "block", "message": "Not on Sundays."}

    hook("pre_tool_call", block)
    result = stage.result(call("write_file", path="a", content="x"))[0]
    assert result == {"error": "Not on Sundays."}
    assert not (stage.cwd / "a").exists()
    assert seen[0]["tool_name"] == "write_file"
    assert seen[0]["args"] == {"path": "a", "content": "x"}
    assert (seen[0]["session_id"], seen[0]["tool_call_id"]) == (SID, "c1")


def test_a_plugin_hears_of_a_result_and_may_change_it(stage: ToolStage, hook: Any) -> None:
    seen: list[dict[str, Any]] = []
    hook("post_tool_call", lambda **facts: seen.append(facts))
    hook("transform_tool_result", lambda **facts: facts["result"].replace("[]", '["changed"]'))
    assert stage.result(call("todo"))[0]["todos"] == ["changed"]
    assert seen[0]["status"] == "ok"
    assert seen[0]["duration_ms"] >= 0


def test_one_that_raises_hurts_nobody(stage: ToolStage, hook: Any) -> None:
    def fail(**_facts: Any) -> None:
        raise RuntimeError("a bug")

    for name in ("pre_tool_call", "post_tool_call", "transform_tool_result"):
        hook(name, fail)
    assert stage.result(call("todo"))[0]["todos"] == []


def test_plugins_hear_of_questions(stage: ToolStage, hook: Any) -> None:
    seen: list[dict[str, Any]] = []
    hook("pre_approval_request", lambda **facts: seen.append(facts))
    hook("post_approval_response", lambda **facts: seen.append(facts))
    stage.person(lambda _request: "deny")
    stage.result(call("terminal", command="rm -rf build"))
    assert [each.get("choice") for each in seen] == [None, "deny"]
    assert seen[0]["command"] == "rm -rf build"
    assert seen[0]["pattern_keys"] == ["delete-folder"]
    assert seen[0]["surface"] == "cli"
