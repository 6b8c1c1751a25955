"""A turn can be stopped whatever it does, and leaves a conversation that goes on."""

import json
from pathlib import Path

import pytest

from tests.fakes.busy_turns import STATES, busy_turn
from tests.fakes.tool_stage import SID


@pytest.mark.parametrize("state", STATES)
def test_stopped(state: str, tmp_path: Path) -> None:
    with busy_turn(state, tmp_path) as busy:
        result = busy.stop()
        assert result["interrupted"]
        assert not result["completed"]
        assert not result["failed"]
        rows = busy.stage.db.get_messages(SID)
    wanted = [
        each["id"]
        for row in rows
        if row["role"] == "assistant" and row["tool_calls"]
        for each in _decoded(row["tool_calls"])
    ]
    assert [row["tool_call_id"] for row in rows if row["role"] == "tool"] == wanted
    assert not busy.stage.queue.pending()
    assert not busy.stage.questions.pending()


def _decoded(value: object) -> list[dict[str, str]]:
    found = json.loads(value) if isinstance(value, str) else value
    assert isinstance(found, list)
    return found
