"""Files of older releases here, files of ours there. The releases run in kept environments."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes import state_files

LINE = ("id", "source", "title", "preview", "message_count", "started_at", "last_active")
TELEGRAM = "20250101_000003_aaaaaa"


def ours(db: SessionDB) -> dict[str, Any]:
    """The answers of tests/interop/scripts/observe_old_home.py, by our means."""
    titles = ("Zebra facts", "Zebra facts #2", "Ours", "Nothing")
    return {
        "lines": [[line[n] for n in LINE] for line in db.list_sessions_rich(limit=100)],
        "titles": {
            title: [db.resolve_session_by_title(title), db.get_next_title_in_lineage(title)]
            for title in titles
        },
        "export": {row["id"]: row for row in db.export_all()},
        "found": sorted({hit["id"] for hit in db.search_messages("zebra", limit=100)}),
    }


def agree(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Everything equal; of exports, all that an older release knows of."""
    for question in ("lines", "titles", "found"):
        assert mine[question] == theirs[question], question
    assert mine["export"].keys() == theirs["export"].keys()
    for session_id, exported in theirs["export"].items():
        own = mine["export"][session_id]
        known = {key: own[key] for key in exported if key != "messages"}
        assert known == {key: value for key, value in exported.items() if key != "messages"}
        for message, their_message in zip(own["messages"], exported["messages"], strict=True):
            assert {key: message[key] for key in their_message} == their_message


def facts(path: Path) -> tuple[int, bool]:
    """Stored version, and whether every message is in the index exactly once."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        version = conn.execute("SELECT version FROM schema_version").fetchone()[0]
        ids = conn.execute("SELECT id FROM messages ORDER BY id").fetchall()
        tables = ("messages_fts", "messages_fts_trigram")
        indexed = [
            conn.execute(f"SELECT rowid FROM {table} ORDER BY rowid").fetchall() for table in tables
        ]
        return version, indexed == [ids, ids]


@pytest.fixture
def old_home(old_hermes: Any) -> Any:
    """A home that an older release filled."""
    old_hermes.script("build_old_home.py", str(old_hermes.state_db))
    return old_hermes


def test_a_file_of_theirs_is_read_as_they_read_it(old_home: Any) -> None:
    path = old_home.state_db
    theirs = old_home.script("observe_old_home.py", str(path))
    before = state_files.dump(path)
    with contextlib.closing(SessionDB(path)) as db:
        assert db.condition.writable
        assert db.condition.notice
        agree(ours(db), theirs)
        assert len(theirs["found"]) == 3
    assert state_files.dump(path) == before


def test_a_file_of_theirs_is_written_by_both(old_home: Any) -> None:
    path = old_home.state_db
    version = facts(path)[0]
    with contextlib.closing(SessionDB(path)) as db:
        db.append_message(TELEGRAM, "user", "our zebra", api_content="sent", effect_disposition="x")
        db.create_session("20250101_000004_bbbbbb", "desktop", model_config={"k": 1}, cwd="/w")
        db.append_message("20250101_000004_bbbbbb", "user", [{"type": "text", "text": "a zebra"}])
        db.set_session_title("20250101_000004_bbbbbb", "Ours")
        db.update_token_counts("20250101_000004_bbbbbb", 3, 4, model="m", api_call_count=1)
        assert db.condition.schema_version == version
        theirs = old_home.script("observe_old_home.py", str(path), "20250101_000004_bbbbbb")
        mine = ours(db)
        assert mine["found"] == theirs["found"]
        assert len(mine["found"]) == 6
        assert mine["export"].keys() == theirs["export"].keys()
        assert mine["titles"] == theirs["titles"]
        db.delete_sessions(["20250101_000001_aaaaaa"])
        assert len(ours(db)["export"]) == 3
    assert facts(path) == (version, True)
    assert len(old_home.script("observe_old_home.py", str(path))["export"]) == 3


def test_a_file_that_all_three_wrote_is_migrated(old_home: Any, hermes_python: Path) -> None:
    path = old_home.state_db
    with contextlib.closing(SessionDB(path)) as db:
        db.append_message(TELEGRAM, "user", "our zebra")
        db.update_token_counts(TELEGRAM, 3, 4, model="m", billing_provider="p", api_call_count=1)
        current = type(old_home)(hermes_python, old_home.home)
        theirs = current.script("observe_old_home.py", str(path), TELEGRAM)
        assert db.condition.schema_version in {11, 14, 19, 22}
        agree(ours(db), theirs)
        assert db.condition.schema_version == 22
        db.append_message(TELEGRAM, "user", "and again a zebra")
    assert facts(path) == (22, True)
    with contextlib.closing(sqlite3.connect(path)) as conn:
        shares = conn.execute("SELECT sum(input_tokens) FROM session_model_usage").fetchone()
        assert shares == (13,)


def test_a_file_of_ours_is_opened_by_them(old_hermes: Any) -> None:
    path = old_hermes.state_db
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session(TELEGRAM, "telegram", model="m")
        db.append_message(TELEGRAM, "user", "our zebra")
        db.append_message(TELEGRAM, "assistant", "stripes", finish_reason="stop")
        db.create_session("20250101_000004_bbbbbb", "desktop", parent_session_id=None)
        db.append_message("20250101_000004_bbbbbb", "user", "hello zebra")
        db.set_session_title("20250101_000004_bbbbbb", "Ours")
    shape = objects(path)
    theirs = old_hermes.script("observe_old_home.py", str(path), TELEGRAM)
    with contextlib.closing(SessionDB(path)) as db:
        agree(ours(db), theirs)
        assert len(theirs["found"]) == 3
        assert db.get_messages(TELEGRAM)[-1]["content"] == "appended zebra"
        assert db.condition.writable
    assert objects(path) >= shape
    assert facts(path) == (22, True)


def objects(path: Path) -> set[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return set(conn.execute("SELECT type, name, sql FROM sqlite_master").fetchall())
