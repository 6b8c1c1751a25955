"""A prompt of another program names tools that are not here: that is said behind it."""

from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.turns.system_prompt import (
    PromptBuilder,
    missing_tools,
    with_missing_tools,
)
from hermes_desktop.core.clock import SystemClock
from tests.fakes.tool_stage import SID, ToolStage

THEIRS = (
    "You are somebody. Save facts using the memory tool; use session_search to recall. Load a "
    "skill with skill_view(name='x'), or ask linear_create(title). Jobs are listed by "
    "cronjob action='list'. Text is renderable inside a terminal; process it in memory. "
    "mcp__files__read reads. A fact_of_life is no tool."
)


@pytest.mark.parametrize(
    ("offered", "missing"),
    [
        ((), "cronjob linear_create mcp__files__read memory session_search skill_view"),
        (("memory", "session_search"), "cronjob linear_create mcp__files__read skill_view"),
    ],
)
def test_what_counts_as_a_tool(offered: tuple[str, ...], missing: str) -> None:
    assert missing_tools(THEIRS, offered) == tuple(missing.split())


def test_what_stood_there_stays_in_front(tmp_path: Path) -> None:
    sent = with_missing_tools(THEIRS, ["memory", "session_search"])
    assert sent.startswith(THEIRS + "\n\n")
    added = sent.removeprefix(THEIRS)
    assert "cronjob, linear_create, mcp__files__read, skill_view" in added
    assert "session_search" not in added
    assert with_missing_tools("You help in the terminal.", []) == "You help in the terminal."
    alone = PromptBuilder(SystemClock(), tmp_path / "SOUL.md", None).build("Use skill_view.", "x")
    assert alone.startswith("Use skill_view.\n\n")


def test_a_session_of_another_program_goes_on_with_it(tmp_path: Path) -> None:
    stage = ToolStage(tmp_path)
    try:
        stage.db.create_session(SID, "cli", system_prompt=THEIRS)
        stage.db.append_message(SID, "user", "Hello")
        for _ in range(2):
            stage.agent().run_conversation("And now?")
        sent: list[Any] = [each.messages[0]["content"] for each in stage.model.requests]
        assert sent[0] == sent[1]
        assert sent[0].startswith(THEIRS)
        assert "missing when it did: cronjob, linear_create, mcp__files__read, skill" in sent[0]
        assert (stage.db.get_session(SID) or {})["system_prompt"] == THEIRS
    finally:
        stage.close()
