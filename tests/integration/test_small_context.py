"""A server of this machine that loads its model with little room: the person hears of it once."""

from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.types import AgentRequest, CallNote, ContextNews
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock
from tests.fakes.local_server import LocalServerDouble

REPLY = {
    "choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 700, "completion_tokens": 5},
}


def _news(home: Path, settings: str, length: int) -> list[Any]:
    """What two conversations of one program tell beside their replies."""
    listed = {"data": [{"id": "m", "max_model_len": length}]}
    heard: list[Any] = []
    with LocalServerDouble({"/v1/models": listed, "/v1/chat/completions": REPLY}) as server:
        (home / "config.yaml").write_text(
            f"model: {{default: m, base_url: '{server.base_url}'{settings}}}\n"
            "auxiliary: {title_generation: {enabled: false}}\n",
            encoding="utf-8",
        )
        db = SessionDB(home / "state.db")
        builder = AgentBuilder(
            HermesPaths(home, home), db, SecretRedactor(), {}, offline=False, clock=MovableClock()
        )  # fmt: skip
        for number in range(2):
            agent = builder.build(AgentRequest(f"s{number}", "desktop", "key"))
            assert agent.run_conversation("Hello", tool_callback=heard.append)["completed"]
            agent.close()
        db.close()
    return heard


def test_it_is_told_once_and_the_meter_knows_it(tmp_path: Path) -> None:
    news = _news(tmp_path, "", 4096)
    sizes = [each for each in news if isinstance(each, ContextNews)]
    assert [(each.used_tokens, each.context_length) for each in sizes] == [(705, 4096)] * 2
    (note,) = [each for each in news if isinstance(each, CallNote)]
    assert note.lasting
    assert "4,096 tokens" in note.text
    assert "64,000" in note.text


@pytest.mark.parametrize(("settings", "length"), [("", 65_536), (", context_length: 4096", 4096)])
def test_enough_and_what_a_person_set_are_not_told(
    tmp_path: Path, settings: str, length: int
) -> None:
    assert not [each for each in _news(tmp_path, settings, length) if isinstance(each, CallNote)]
