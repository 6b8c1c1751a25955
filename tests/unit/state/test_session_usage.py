"""What a session used by model, and how large what its model is told is."""

from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.usage_table import ContextSize


@pytest.fixture
def db(tmp_path: Path):
    db = SessionDB(tmp_path / "state.db")
    yield db
    db.close()


def test_models_stand_by_what_they_used_and_unknown_prices_stay_unknown(db: SessionDB) -> None:
    db.create_session("a", "desktop", model="gpt-x")
    db.create_session("b", "desktop", model="gpt-x")
    known = {"actual_cost_usd": 0.25, "cost_status": "actual", "api_call_count": 1}
    db.update_token_counts("a", 1_000, 200, model="gpt-x", billing_provider="p", **known)
    db.update_token_counts("b", 500, 100, model="gpt-x", billing_provider="p", **known)
    db.update_token_counts("b", 9_000, 1, model="gpt-y", billing_provider="p", api_call_count=2)
    db.record_auxiliary_usage("b", "compression", model="gpt-y", input_tokens=70)
    first, second, third = db.usage_of(["a", "b"])
    assert (first.model, first.tokens, first.calls, first.cost_usd) == ("gpt-y", 9_001, 2, None)
    assert (second.model, second.tokens, second.calls) == ("gpt-x", 1_800, 2)
    assert second.cost_usd == pytest.approx(0.5)
    assert (third.task, third.tokens) == ("compression", 70)


def test_nothing_used_is_nothing(db: SessionDB) -> None:
    db.create_session("a", "desktop")
    assert db.usage_of(["a", "unknown"]) == ()


def test_the_size_counts_what_is_told_in_bytes(db: SessionDB) -> None:
    db.create_session("a", "desktop")
    db.append_message("a", "user", "Grüße")
    db.append_message("a", "assistant", "Hi", tool_calls=[{"id": "1"}])
    size = db.context_size("a")
    assert size.messages == 2
    assert size.text_bytes >= 7 + 2 + 2
    assert db.context_size("unknown") == ContextSize(0, 0)
