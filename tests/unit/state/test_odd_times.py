"""Rows whose times are texts, bytes or finer units: lists, search and figures put up with them."""

import sqlite3
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance import statistics
from hermes_desktop.state.maintenance.insights import insights
from hermes_desktop.state.records.stored_values import as_seconds, seconds_sql
from hermes_desktop.state.search.search_records import SearchHit, SearchQuery

MAY = 1_777_644_634.0
"""2026-05-01T14:10:34Z."""


@pytest.mark.parametrize(
    ("stored", "seconds"),
    [
        (MAY, MAY),
        (int(MAY), MAY),
        (-1, -1.0),
        (0, 0.0),
        (MAY * 1e3, MAY),
        (int(MAY) * 10**6, MAY),
        (MAY * 1e9, MAY),
        ("2026-05-01T14:10:34Z", MAY),
        ("2026-05-01 14:10:34", MAY),
        (" 2026-05-01T16:10:34+02:00 ", MAY),
        ("not-a-timestamp", None),
        ("", None),
        (b"\0", None),
        (9e999, None),
        (-9e999, None),
        (-(2**63), -(2**63) / 1e9),
        (2e25, None),
        (None, None),
    ],
)
def test_python_and_sql_read_the_same_time(stored: Any, seconds: float | None) -> None:
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE TABLE t (x)")
    conn.execute("INSERT INTO t VALUES (?)", (stored,))
    (by_sql,) = conn.execute(f"SELECT {seconds_sql('x')} FROM t").fetchone()
    conn.close()
    assert by_sql == (None if seconds is None else pytest.approx(seconds))
    assert as_seconds(stored, 7.0) == pytest.approx(7.0 if seconds is None else seconds)


def test_integers_outside_of_any_calendar() -> None:
    assert as_seconds(10**400, 7.0) == 7.0
    assert as_seconds("9999999-01-01", 7.0) == 7.0


@pytest.fixture
def odd(db: SessionDB) -> SessionDB:
    """Three sessions: one with the time of the test, two from March and from June."""
    for name, start in (("march", MAY - 5e6), ("odd", MAY), ("june", MAY + 4e6)):
        db.create_session(name, "cli")
        db.append_message(name, "user", f"apples in {name}")
        _set_time(db, name, start)
    return db


def _set_time(db: SessionDB, session_id: str, value: Any) -> None:
    def change(conn: sqlite3.Connection) -> None:
        conn.execute("UPDATE sessions SET started_at = ? WHERE id = ?", (value, session_id))
        conn.execute("UPDATE messages SET timestamp = ? WHERE session_id = ?", (value, session_id))

    db._execute_write(change)


@pytest.mark.parametrize("by", ["created", "activity"])
@pytest.mark.parametrize("stored", ["2026-05-01T14:10:34Z", MAY * 1e3, int(MAY) * 10**6])
def test_a_readable_time_has_its_place_in_the_list(odd: SessionDB, by: Any, stored: Any) -> None:
    _set_time(odd, "odd", stored)
    assert [each.id for each in odd.list_summaries(order=by)] == ["june", "odd", "march"]
    assert {each.started_at for each in odd.list_summaries()} == {MAY - 5e6, MAY, MAY + 4e6}


@pytest.mark.parametrize("by", ["created", "activity"])
@pytest.mark.parametrize("stored", ["not-a-timestamp", b"\0", 9e999])
def test_what_is_no_time_comes_last(odd: SessionDB, by: Any, stored: Any) -> None:
    _set_time(odd, "odd", stored)
    assert [each.id for each in odd.list_summaries(order=by)] == ["june", "march", "odd"]


@pytest.mark.parametrize("stored", ["not-a-timestamp", "2026-05-01T14:10:34Z", b"\0", MAY * 1e3])
def test_search_and_figures(odd: SessionDB, stored: Any) -> None:
    _set_time(odd, "odd", stored)
    hits: list[SearchHit] = []
    odd.search(SearchQuery("apples"), on_hits=hits.extend)
    expected = as_seconds(stored)
    assert {hit.session_id: hit.timestamp for hit in hits}["odd"] == expected
    found = odd.read(statistics.figures)
    assert (found.first_started, found.last_started) == (MAY - 5e6, MAY + 4e6)
    assert found.sessions == 3
    used = insights(odd, 60, now=MAY + 5e6)
    assert used.total.sessions == (2 if expected else 1)


def test_sums_of_senseless_counters_are_no_failure(odd: SessionDB) -> None:
    odd._execute_write(
        lambda conn: conn.execute("UPDATE sessions SET input_tokens = 9223372036854775807")
    )
    assert odd.read(statistics.figures).input_tokens > 0
