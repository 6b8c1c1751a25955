"""A text of any length can be searched for; an error that is no damage is not called damage."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.sqlite_errors import to_hermes_error
from hermes_desktop.state.search.search_query import MAX_CHARS, MAX_TERMS
from hermes_desktop.state.search.search_records import SearchHit, SearchOutcome, SearchQuery


def search(db: SessionDB, text: str) -> tuple[SearchOutcome, list[SearchHit]]:
    hits: list[SearchHit] = []
    return db.search(SearchQuery(text), on_hits=hits.extend), hits


@pytest.mark.parametrize("order", ["newest", "best"])
@pytest.mark.parametrize("joint", [" ", " AND ", " OR ", " NOT ", " x OR ", " OR y NOT "])
@pytest.mark.parametrize("word", ["x", "旅", "旅行者", ".", "w*"])
def test_a_long_text_is_shortened_and_said(
    db: SessionDB, word: str, joint: str, order: str
) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", "x y 旅行者 . word")
    text = joint.join([word] * 5_000)
    hits: list[SearchHit] = []

    outcome = db.search(SearchQuery(text, order=order), on_hits=hits.extend)  # type: ignore[arg-type]
    db.search_messages(text)

    assert outcome.notice is not None
    assert outcome.notice.kind == "query-shortened"
    assert str(MAX_TERMS) in outcome.notice.text
    assert len(hits) == (0 if "NOT" in joint and "OR" not in joint else 1)


def test_as_many_words_as_are_taken_are_not_mentioned(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", "x y")

    assert search(db, " ".join(["x"] * MAX_TERMS))[0].notice is None
    assert search(db, " ".join(["x"] * (MAX_TERMS + 1)))[0].notice is not None
    assert search(db, "x" * MAX_CHARS)[0].notice is None
    assert search(db, "x" * (MAX_CHARS + 1))[0].notice is not None


@pytest.mark.parametrize(
    ("sql", "title"),
    [
        ("SELECT " + "+".join(["1"] * 2_000), "The text is too long"),
        ("SELECT * FROM t WHERE t MATCH '" + "(" * 20_000 + "x'", "The text is too long"),
        ("SELECT * FROM t WHERE t MATCH '\"'", "The session database rejected the operation."),
        ("SELECT abs(-9223372036854775808)", "The session database rejected the operation."),
        ("SELECT nothing()", "The session database rejected the operation."),
    ],
)
def test_no_snapshot_is_recommended_for_what_is_no_damage(
    tmp_path: Path, sql: str, title: str
) -> None:
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        with pytest.raises(sqlite3.Error) as caught:
            conn.execute(sql).fetchall()
    error = to_hermes_error(caught.value, tmp_path / "state.db")

    assert error.title.startswith(title), caught.value
    assert "snapshot" not in error.hint
    assert "damaged" not in error.title
