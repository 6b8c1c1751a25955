"""What a call used, from the last chunk of its answer into the row and the share of its model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import Finished, ModelChoice, amounts_of
from hermes_desktop.commands.words import cost_words
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.usage import Cost, cost_of
from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, Reply, chunk, event
from tests.fakes.prompts import prompts_beside

SID = "20260304_120000_abcdef"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    yield store
    store.close()


def answer(**more: Any) -> Reply:
    last = chunk(usage=(100, 20))
    last["usage"] |= {
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 5},
        **more,
    }
    said = [event(each) for each in (chunk("Yes."), chunk(finish="stop"), last)]
    return Reply([*said, event("[DONE]")])


def row_after(db: SessionDB, *replies: Reply) -> dict[str, Any]:
    with ModelServer() as server:
        server.script(*replies)
        choice = ModelChoice("fake-model", server.base_url, None, "custom", "a test")
        agent = AIAgent(
            provider=OpenAICompatibleProvider(choice),
            store=db,
            prompts=prompts_beside(db),
            session_id=SID,
            source="desktop",
            clock=SystemClock(),
        )
        for _ in replies:
            assert agent.run_conversation("And?")["completed"]
        agent.close()
    row = db.get_session(SID)
    assert row is not None
    return dict(row)


def test_figures_of_the_last_chunk_reach_the_row(db: SessionDB) -> None:
    row = row_after(db, answer(), answer())
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    assert [row[name] for name in names] == [60, 40, 120, 20]
    assert (row["reasoning_tokens"], row["api_call_count"]) == (10, 2)
    assert (row["cost_status"], row["actual_cost_usd"]) == ("unknown", None)
    assert cost_of(db.usage_of([SID])) == Cost(None)
    share = db.read(lambda conn: conn.execute("SELECT * FROM session_model_usage").fetchall())
    assert [(each["model"], each["api_call_count"]) for each in share] == [("fake-model", 2)]


def test_a_price_that_the_endpoint_names_is_added_up(db: SessionDB) -> None:
    row = row_after(db, answer(cost=0.25), answer(cost=0.5))
    assert (row["cost_status"], row["cost_source"]) == ("actual", "provider")
    assert row["actual_cost_usd"] == pytest.approx(0.75)
    assert cost_of(db.usage_of([SID])) == Cost(pytest.approx(0.75))


@pytest.mark.parametrize("cost", ["1", None, -1, True, float("inf")])
def test_what_is_no_price_is_none(db: SessionDB, cost: Any) -> None:
    assert row_after(db, answer(cost=cost))["actual_cost_usd"] is None


def test_what_nobody_knows_is_not_told_as_nothing() -> None:
    assert cost_of(()) == Cost(None)
    assert cost_words(Cost(None)) == "unknown"
    assert cost_words(Cost(0.5, partial=True)) == "at least 0.5000 US dollars"
    assert cost_words(Cost(0.5, estimated=True)) == "about 0.5000 US dollars"
    assert cost_words(Cost(0.0)) == "0.0000 US dollars"
    choice = ModelChoice("m", "", None, "custom", "a test")
    assert amounts_of(Finished("stop"), choice)["actual_cost_usd"] is None
