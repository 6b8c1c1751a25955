"""What conversations of the last days used."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.commands.insights_command import MOST_CHARS, words
from hermes_desktop.core.errors import CancelledError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.insights import Used, insights

NOW = 1_790_000_000.0
DAY = 86_400.0
CALLS = [
    {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}
    for name in ("terminal", "web_fetch")
]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    made = SessionDB(tmp_path / "state.db")
    yield made
    made.close()


def begun(db: SessionDB, name: str, source: str, days_ago: float, **columns: Any) -> None:
    db.create_session(name, source, model="m")
    with sqlite3.connect(db.db_path) as conn:
        conn.execute(
            "UPDATE sessions SET started_at = ? WHERE id = ?", (NOW - days_ago * DAY, name)
        )
        for column, value in columns.items():
            conn.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, name))
    conn.close()


def test_what_counts_is_when_a_session_began(db: SessionDB) -> None:
    begun(db, "old", "cli", 40)
    db.append_message("old", "user", "today")
    begun(db, "a", "cli", 1)
    db.append_message("a", "user", "one")
    db.append_message("a", "assistant", "", tool_calls=CALLS)
    db.append_message("a", "tool", "r", tool_call_id="terminal", tool_name="terminal")
    begun(db, "b", "telegram", 2, archived=1)
    db.append_message("b", "user", "two")
    db.update_token_counts("a", input_tokens=100, output_tokens=10, cache_read_tokens=7, model="m")
    found = insights(db, 7, now=NOW)
    assert (found.total.sessions, found.total.messages, found.user_messages) == (2, 4, 2)
    assert (found.total.tokens, found.total.tool_calls) == (117, 2)
    assert found.tools == (("terminal", 1), ("web_fetch", 1))
    assert [(each.name, each.sessions) for each in found.platforms] == [("cli", 1), ("telegram", 1)]
    assert [each.sessions for each in found.days] == [1, 1]
    assert insights(db, 7, now=NOW, source="telegram").total.sessions == 1
    assert insights(db, 100, now=NOW).total.sessions == 3


def test_what_nobody_priced_is_not_known(db: SessionDB) -> None:
    begun(db, "a", "cli", 1)
    db.update_token_counts(
        "a", input_tokens=5, model="free", api_call_count=1, cost_status="unknown"
    )
    found = insights(db, 7, now=NOW)
    assert (found.total.unpriced, found.total.cost_usd) == (1, 0.0)
    assert "Costs: unknown" in words(found)
    begun(db, "b", "cli", 1)
    db.update_token_counts(
        "b",
        input_tokens=9,
        model="dear",
        api_call_count=1,
        actual_cost_usd=0.5,
        cost_status="actual",
    )
    found = insights(db, 7, now=NOW)
    assert "at least 0.50 US dollars" in words(found)
    assert [(each.name, each.cost_usd) for each in found.models] == [("dear", 0.5), ("free", 0.0)]
    with sqlite3.connect(db.db_path) as conn:
        conn.execute("UPDATE sessions SET cost_status = 'included' WHERE id = 'a'")
    conn.close()
    assert "Costs: 0.50 US dollars" in words(insights(db, 7, now=NOW))


def test_why_models_used_more_than_the_total_is_told(db: SessionDB) -> None:
    begun(db, "a", "cli", 1)
    db.update_token_counts("a", input_tokens=5, model="m", api_call_count=1)
    assert "titles" not in words(insights(db, 7, now=NOW))
    db.record_auxiliary_usage("a", "title_generation", input_tokens=3, output_tokens=1, model="m")
    found = insights(db, 7, now=NOW)
    assert (found.total.tokens, found.models[0].tokens, found.side_tokens) == (5, 9, 4)
    assert "Titles and summaries used 4 tokens more, which are listed by model only." in words(
        found
    )


def test_what_is_priced_in_part_is_told_so(db: SessionDB) -> None:
    begun(db, "a", "cli", 1)
    call = {"input_tokens": 9, "model": "dear", "api_call_count": 1}
    db.update_token_counts("a", actual_cost_usd=0.5, cost_status="actual", **call)
    assert "0.50 $\n" in words(insights(db, 7, now=NOW))
    db.update_token_counts("a", cost_status="unknown", **call)
    found = insights(db, 7, now=NOW)
    assert (found.total.unpriced, found.models[0].unpriced) == (1, 1)
    assert "Costs: at least 0.50 US dollars" in words(found)
    assert "0.50 $ + ?" in words(found)


def test_replies_that_nobody_counted_have_an_unknown_price(db: SessionDB) -> None:
    begun(db, "a", "cli", 1)
    db.append_message("a", "user", "Hello")
    assert "Costs: 0.00" in words(insights(db, 7, now=NOW))
    db.append_message("a", "assistant", "Hi")
    assert "Costs: unknown" in words(insights(db, 7, now=NOW))


def test_what_costs_nothing_by_a_contract_is_not_unknown(db: SessionDB) -> None:
    begun(db, "a", "cli", 1)
    db.update_token_counts("a", 9, model="m", api_call_count=1, cost_status="included")
    found = insights(db, 7, now=NOW)
    assert (found.total.unpriced, found.models[0].unpriced) == (0, 0)
    assert "0.00 $" in words(found)


def test_calls_that_make_no_sense_are_left_out(db: SessionDB) -> None:
    begun(db, "a", "cli", 1)
    row = db.append_message("a", "assistant", "x", tool_calls=CALLS)
    for text in ("no JSON", "{}", "[1, null]", "", "[[]]"):
        db.append_message("a", "assistant", "x", tool_calls=CALLS)
        with sqlite3.connect(db.db_path) as conn:
            conn.execute("UPDATE messages SET tool_calls = ? WHERE id > ?", (text, row))
        conn.close()
    assert insights(db, 7, now=NOW).tools == (("terminal", 1), ("web_fetch", 1))


def test_figures_that_make_no_sense_are_not_the_end_of_all(db: SessionDB) -> None:
    for name in "abc":
        begun(db, name, "cli", 1)
    nothing = "input_tokens = NULL, message_count = NULL, api_call_count = NULL, model = NULL"
    with sqlite3.connect(db.db_path) as conn:
        conn.execute(f"UPDATE sessions SET {nothing} WHERE id = 'a'")
        conn.execute("UPDATE sessions SET input_tokens = 'x', source = '', output_tokens = '7'")
        conn.execute("UPDATE sessions SET cache_read_tokens = ?, actual_cost_usd = -1", (2**62,))
    conn.close()
    found = insights(db, 7, now=NOW)
    assert (found.total.sessions, found.total.output_tokens) == (3, 21)
    assert isinstance(found.total.tokens, int)
    assert "3 sessions" in words(found)


def test_an_empty_store(db: SessionDB) -> None:
    found = insights(db, 7, now=NOW)
    assert found.total == Used("all")
    assert words(found) == "**The last 7 days**\nThere were no sessions."


def test_it_can_be_ended(db: SessionDB) -> None:
    begun(db, "a", "cli", 1)
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        insights(db, 7, now=NOW, cancel=stop)


def test_a_file_without_shares_counts_whole_sessions(db: SessionDB) -> None:
    begun(db, "a", "cli", 1)
    db.update_token_counts("a", input_tokens=5, model="m", api_call_count=1)
    with sqlite3.connect(db.db_path) as conn:
        conn.execute("DROP TABLE session_model_usage")
    conn.close()
    assert [(each.name, each.tokens) for each in insights(db, 7, now=NOW).models] == [("m", 5)]


def test_a_text_for_a_chat_is_never_too_long(db: SessionDB) -> None:
    for number in range(60):
        begun(db, f"s{number}", f"platform-{'x' * 80}-`{number}", number)
        db.update_token_counts(f"s{number}", input_tokens=1, model=f"model\n{'y' * 200}{number}")
    text = words(insights(db, 100, now=NOW))
    assert len(text) <= MOST_CHARS
    assert text.count("```") % 2 == 0
    assert "and 52 more" in text
