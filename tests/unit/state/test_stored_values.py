"""Rows of other programs whose columns hold something else than they should."""

import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.facade.activity_index import ActivityIndex
from hermes_desktop.state.records.content_codec import STRUCTURED, decode_content
from hermes_desktop.state.records.stored_values import as_count, as_seconds, as_text


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    db = SessionDB(tmp_path / "state.db")
    for name in ("good", "odd"):
        db.create_session(name, "cli")
        db.append_message(name, "user", "hello")
    yield db
    db.close()


def put(db: SessionDB, table: str, column: str, value: Any) -> None:
    key = "session_id" if table == "messages" else "id"
    with sqlite3.connect(db.db_path) as other:
        other.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = 'odd'", (value,))
    other.close()


@pytest.mark.parametrize(
    ("value", "text"), [(None, None), ("é", "é"), (b"a\xff", "a\ufffd"), (5, "5"), (0.5, "0.5")]
)
def test_text(value: Any, text: str | None) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize("value", ["soon", b"\x01", None, math.inf, -math.inf, math.nan])
def test_no_moment(value: Any) -> None:
    assert as_seconds(value, 7.0) == 7.0


def test_moments_and_counts() -> None:
    assert (as_seconds(12), as_seconds(1.5), as_seconds(-3.0)) == (12.0, 1.5, -3.0)
    assert (as_count(3), as_count(None), as_count("many"), as_count(b"3"), as_count(1.5)) == (
        3, 0, 0, 0, 0,
    )  # fmt: skip


@pytest.mark.parametrize("value", ["soon", b"\xff\x00", math.inf, "", 10**18])
@pytest.mark.parametrize(
    "column", ["started_at", "ended_at", "title", "source", "model", "message_count", "user_id"]
)
def test_an_odd_session_does_not_take_the_list_away(db: SessionDB, column: str, value: Any) -> None:
    put(db, "sessions", column, value)
    found = db.list_summaries()
    assert {row.id for row in found} == {"good", "odd"}
    index = ActivityIndex(db)
    index.rebuild()
    assert index.select(empty=None).total == 2
    odd = next(row for row in found if row.id == "odd")
    assert isinstance(odd.started_at, float)
    assert isinstance(odd.message_count, int)
    assert all(isinstance(text, str) for text in (odd.source, odd.label))


@pytest.mark.parametrize("value", ["soon", b"\xff\x00", math.inf, ""])
@pytest.mark.parametrize(
    "column", ["timestamp", "role", "content", "tool_name", "tool_calls", "reasoning"]
)
def test_an_odd_message_is_read(db: SessionDB, column: str, value: Any) -> None:
    put(db, "messages", column, value)
    (message,) = db.read_messages("odd")
    assert isinstance(message.timestamp, float)
    assert isinstance(message.role, str)
    assert isinstance(message.content, str)
    assert isinstance(message.tool_name, str | None)
    assert {row.id for row in db.list_summaries()} == {"good", "odd"}


def test_content_nested_without_end_stays_as_stored() -> None:
    stored = STRUCTURED + "[" * 100_000
    assert decode_content(stored) == stored
