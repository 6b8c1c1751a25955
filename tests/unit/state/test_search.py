"""Searching messages: what is found, in which order, how it is shown, how it stops."""

import sqlite3
import threading
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.search.search_records import SearchHit, SearchOutcome, SearchQuery
from tests.fakes import state_files


def search(db: SessionDB, text: str, **choices) -> tuple[SearchOutcome, list[SearchHit]]:
    hits: list[SearchHit] = []
    outcome = db.search(SearchQuery(text, **choices), on_hits=hits.extend)
    assert outcome.hits == len(hits)
    return outcome, hits


def found(db: SessionDB, text: str, **choices) -> list[str]:
    return [hit.snippet for hit in search(db, text, **choices)[1]]


@pytest.fixture
def talk(db: SessionDB) -> SessionDB:
    db.create_session("a", "cli", model="m")
    db.create_session("b", "telegram")
    db.append_message("a", "user", "Please plan the trip to Kyoto", timestamp=100.0)
    db.append_message("a", "assistant", "The plan: 旅行計画 と 予算 for o'brien", timestamp=101.0)
    db.append_message("b", "user", "run ls -la in src/app please", timestamp=50.0)
    db.append_message("b", "assistant", "Kernel kernel panic. résumé attached", timestamp=51.0)
    return db


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("please", 2),
        ("PLEASE", 2),
        ("ker*", 1),
        ("ker", 0),
        ('"plan the trip"', 1),
        ("plan NOT trip", 1),
        ("trip OR kernel", 2),
        ("ls -la", 1),
        ("-la", 1),
        ("o'brien", 1),
        ("src/app", 1),
        ("resume", 1),
        ("旅行計画", 1),
        ("予算", 1),
        ("旅", 1),
        ("予算 kernel", 0),
        ("予算 OR kernel", 2),
        ("->", 0),
        (". ", 1),
    ],
)
@pytest.mark.parametrize("order", ["newest", "best"])
def test_what_is_found(talk: SessionDB, text: str, count: int, order: str) -> None:
    assert len(found(talk, text, order=order)) == count


def test_signs_that_are_read_and_capitals(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", "AI旅 100%")
    for text, count in (("ai旅", 1), ("旅", 1), ("旅 100%", 1), ("旅 100_", 0), ("i旅 OR 無", 1)):
        assert len(found(db, text)) == count


def test_newest_rows_first_and_best_match_first(talk: SessionDB) -> None:
    assert [hit.session_id for hit in search(talk, "please")[1]] == ["b", "a"]
    best = search(talk, "kernel OR trip", order="best")[1]
    assert best[0].snippet.startswith("Kernel kernel")
    assert best[0].marks == ((0, 6), (7, 13))


def test_filters(talk: SessionDB) -> None:
    assert len(found(talk, "please", sources=["cli"])) == 1
    assert len(found(talk, "please", exclude_sources=["cli"])) == 1
    assert len(found(talk, "plan", roles=["assistant"])) == 1
    assert len(found(talk, "please", session_ids=["b"])) == 1
    assert found(talk, "please", sources=[]) == []


@pytest.mark.parametrize("text", ["Kyoto", "旅行計画", "予算"])
def test_what_was_taken_back_is_never_found(talk: SessionDB, text: str) -> None:
    talk.rewind_to_message("a", talk.get_messages("a")[0]["id"])
    assert found(talk, text) == []
    assert talk.search_messages(text) == []
    assert len(found(talk, text, include_rewound=True)) == 1
    assert len(talk.search_messages(text, include_inactive=True)) == 1


def test_what_was_summarised_away_is_found(talk: SessionDB) -> None:
    talk.archive_and_compact("a", [{"role": "user", "content": "summary"}])
    assert len(found(talk, "Kyoto")) == 1


@pytest.mark.parametrize("text", ["garden", "café", "旅行計画", "旅行"])
def test_structured_content_and_tool_calls_show_their_words(db: SessionDB, text: str) -> None:
    db.create_session("a", "cli")
    said = "garden café 旅行計画"
    db.append_message("a", "user", [{"type": "text", "text": said}, {"type": "image_url"}])
    call = {"id": "1", "function": {"name": "write", "arguments": said}}
    db.append_message("a", "assistant", None, tool_calls=[call])
    calls, parts = found(db, text)
    assert parts == said
    assert text in calls


def test_pages_and_limit(db: SessionDB) -> None:
    db.create_session("a", "cli")
    for number in range(25):
        db.append_message("a", "user", f"word {number}")
    pages: list[int] = []
    outcome = db.search(
        SearchQuery("word", limit=20, page_size=8), on_hits=lambda hits: pages.append(len(hits))
    )
    assert pages == [8, 8, 4]
    assert outcome.more
    assert not search(db, "word", limit=30)[0].more


@pytest.mark.slow
def test_filters_that_leave_little_are_filled_from_further_down(db: SessionDB) -> None:
    db.create_session("rare", "slack")
    db.create_session("many", "cli")
    db.append_message("rare", "user", "word long ago")
    for number in range(1_200):
        db.append_message("many", "user", f"word {number}")
    for order in ("newest", "best"):
        assert found(db, "word", sources=["slack"], limit=3, order=order) == ["word long ago"]
    assert len(db.search_messages("word", source_filter=["slack"])) == 1


def test_hits_are_told_with_their_conversation(db: SessionDB) -> None:
    db.create_session("old", "cli")
    db.append_message("old", "user", "the walrus")
    db.end_session("old", "compression")
    db.create_session("new", "cli", parent_session_id="old")
    db.set_session_title("new", "Sea")
    db.append_message("new", "user", "a walrus again")
    hits = search(db, "walrus")[1]
    assert [(h.session_id, h.root_id, h.tip_id, h.title) for h in hits] == [
        ("new", "old", "new", "Sea"),
        ("old", "old", "new", "Sea"),
    ]
    one = search(db, "walrus", one_per_conversation=True)[1]
    assert [hit.session_id for hit in one] == ["new"]


def test_cancelled_before_and_between_pages(talk: SessionDB) -> None:
    cancel = threading.Event()
    cancel.set()
    outcome = talk.search(SearchQuery("please"), on_hits=lambda _: None, cancel=cancel)
    assert outcome.cancelled
    assert outcome.hits == 0
    cancel.clear()
    outcome = talk.search(
        SearchQuery("please", page_size=1), on_hits=lambda _: cancel.set(), cancel=cancel
    )
    assert outcome.cancelled
    assert outcome.hits == 1
    assert len(found(talk, "please")) == 2


def test_a_running_query_is_stopped(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.replace_messages("a", [{"role": "user", "content": "x " * 2_000} for _ in range(2_000)])
    cancel = threading.Event()
    asked = 0

    class Soon:
        """Says stop the third time SQLite asks."""

        def is_set(self) -> bool:
            nonlocal asked
            asked += 1
            return asked > 3

    outcome = db.search(SearchQuery("無"), on_hits=lambda _: None, cancel=Soon())
    assert outcome.cancelled
    assert not search(db, "x", limit=1)[0].cancelled
    assert not cancel.is_set()


def test_no_read_transaction_is_left_open(talk: SessionDB) -> None:
    """A page handed out must not hold the log back."""
    sizes: list[int] = []

    def look(_: object) -> None:
        talk.append_message("a", "user", "please, more")
        busy, log, moved = talk._conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        assert (busy, log) == (0, moved)
        sizes.append(log)

    talk.search(SearchQuery("please", page_size=1), on_hits=look)
    assert sizes


# --------------------------------------------------------------------- other layouts, damage


def test_missing_index_is_named_and_messages_are_read(talk: SessionDB, path: Path) -> None:
    talk.close()
    conn = sqlite3.connect(path)
    for table in ("messages_fts", "messages_fts_trigram"):
        for event in ("insert", "delete", "update"):
            conn.execute(f"DROP TRIGGER {table}_{event}")
        conn.execute(f"DROP TABLE {table}")
    conn.commit()
    conn.close()
    db = SessionDB(path)
    outcome, hits = search(db, "kyoto")
    assert (outcome.way, len(hits)) == ("scan", 1)
    assert outcome.notice is not None
    assert outcome.notice.kind == "index-missing"
    assert len(db.search_messages("kyoto")) == 1
    db.close()


@pytest.mark.parametrize("order", ["newest", "best"])
def test_damaged_index_is_named_and_messages_are_read(
    talk: SessionDB, path: Path, order: str
) -> None:
    talk.close()
    conn = sqlite3.connect(path)
    conn.execute("UPDATE messages_fts_data SET block = x'ffffffffff' WHERE id = 10")
    conn.commit()
    conn.close()
    db = SessionDB(path)
    outcome, hits = search(db, "kyoto", order=order)
    assert (outcome.way, len(hits)) == ("scan", 1)
    assert outcome.notice is not None
    assert outcome.notice.kind == "index-damaged"
    assert len(db.search_messages("kyoto")) == 1
    db.close()


def test_missing_trigger_is_named(talk: SessionDB) -> None:
    talk._conn.execute("DROP TRIGGER messages_fts_insert")
    outcome, hits = search(talk, "please")
    assert len(hits) == 2
    assert outcome.notice is not None
    assert outcome.notice.kind == "index-incomplete"


def test_newer_layout(path: Path) -> None:
    path.parent.mkdir()
    conn = state_files.make_newer_file(path)
    state_files.add_session(conn, "s")
    state_files.add_message(conn, "s", content="please", tool_name="grep_tool")
    conn.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")
    conn.close()
    db = SessionDB(path)
    assert found(db, "please") == ["please"]
    assert found(db, "grep_tool") == ["grep_tool"]
    db.close()


@pytest.mark.parametrize("version", state_files.OLD_VERSIONS)
def test_older_files(path: Path, version: int) -> None:
    path.parent.mkdir()
    conn = state_files.make_old_file(path, version)
    state_files.add_session(conn, "s")
    state_files.add_message(conn, "s", content="please 旅行計画")
    conn.close()
    db = SessionDB(path)
    for text in ("please", "旅行計画", "旅行"):
        assert len(found(db, text)) == 1
        assert len(db.search_messages(text)) == 1
    db.close()


# -------------------------------------------------------------------------------- as rows


def test_rows_with_context(talk: SessionDB) -> None:
    (row,) = talk.search_messages("kyoto")
    assert row == {
        "id": 1,
        "session_id": "a",
        "role": "user",
        "snippet": "Please plan the trip to >>>Kyoto<<<",
        "timestamp": 100.0,
        "tool_name": None,
        "source": "cli",
        "model": "m",
        "session_started": row["session_started"],
        "context": [
            {"role": "user", "content": "Please plan the trip to Kyoto"},
            {"role": "assistant", "content": "The plan: 旅行計画 と 予算 for o'brien"},
        ],
    }


def test_rows_in_order_and_pages(talk: SessionDB) -> None:
    def ids(**choices) -> list[int]:
        return [row["id"] for row in talk.search_messages("please", **choices)]

    assert ids(sort="newest") == [1, 3]
    assert ids(sort="oldest") == [3, 1]
    assert sorted(ids(sort="strange")) == [1, 3]
    assert ids(sort="newest", limit=1, offset=1) == [3]
    assert ids(source_filter=["cli"]) == [1]
    assert ids(exclude_sources=["cli"]) == [3]
    assert ids(role_filter=["assistant"]) == []


def test_rows_of_short_cjk_terms_are_any_of_them(talk: SessionDB) -> None:
    (row,) = talk.search_messages("予算 無")
    assert row["snippet"] == "The plan: 旅行計画 と 予算 for o'brien"


def test_pictures_are_named_in_the_context(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", [{"type": "image_url"}])
    db.append_message("a", "assistant", "a walrus")
    (row,) = db.search_messages("walrus")
    assert row["context"][0]["content"] == "[multimodal content]"


@pytest.mark.parametrize("text", ["", "   ", '"', "AND"])
def test_nothing_asked_nothing_found(talk: SessionDB, text: str) -> None:
    assert talk.search_messages(text) == []
    assert search(talk, text)[1] == []
