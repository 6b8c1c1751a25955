"""The demo's home: a believable history that every part of the program can work with."""

import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.demo_home import DEMO_SESSION_TITLE, create_demo_home
from hermes_desktop.services.sessions.session_catalog import SessionCatalog
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionSummary

NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> HermesPaths:
    return create_demo_home(tmp_path_factory.mktemp("demo"), now=NOW)


@pytest.fixture
def db(paths: HermesPaths) -> Iterator[SessionDB]:
    database = SessionDB(paths.state_db, read_only=True)
    yield database
    database.close()


@pytest.fixture
def summaries(db: SessionDB) -> list[SessionSummary]:
    return db.list_summaries(limit=None)


def test_the_file_is_whole(paths: HermesPaths) -> None:
    conn = sqlite3.connect(paths.state_db)
    try:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        assert conn.execute("SELECT version FROM schema_version").fetchall() == [(22,)]
    finally:
        conn.close()


def test_the_home_holds_nothing_else(paths: HermesPaths) -> None:
    names = {file.name for file in paths.home.iterdir()}

    assert names - {"state.db-wal", "state.db-shm"} == {"state.db"}


def test_about_sixty_sessions_of_many_sources(summaries: list[SessionSummary]) -> None:
    sources = Counter(summary.source for summary in summaries)

    assert 55 <= len(summaries) <= 65
    assert set(sources) == {
        "cli", "telegram", "discord", "matrix", "email", "cron", "desktop", "api_server",
    }  # fmt: skip
    assert min(sources.values()) >= 2
    assert all(summary.started_at <= summary.last_active <= NOW for summary in summaries)


def test_empty_untitled_archived_and_long_ones(
    db: SessionDB, summaries: list[SessionSummary]
) -> None:
    assert sum(summary.is_empty for summary in summaries) == 3
    assert sum(summary.title is None and not summary.is_empty for summary in summaries) >= 1
    everything = db.list_summaries(limit=None, include_archived=True)
    assert sum(summary.archived for summary in everything) == 1
    assert max(summary.message_count for summary in summaries) >= 250


def test_the_common_ends_occur(db: SessionDB) -> None:
    ends = {row["end_reason"] for row in db.search_sessions(limit=1000)}

    assert ends >= {
        None, "cli_close", "tui_close", "new_session", "resumed_other", "branched", "compression",
        "session_reset", "session_switch", "idle", "daily", "agent_close", "ws_disconnect",
        "cron_complete",
    }  # fmt: skip


def test_the_chain_is_one_row_and_one_conversation(db: SessionDB) -> None:
    catalog = SessionCatalog(db)
    chain = catalog.find("Down the Rhône by bicycle #3")

    lineage = db.get_compression_lineage(chain.id)
    assert len(lineage) == 3
    assert (chain.id, chain.root_id) == (lineage[2], lineage[0])
    listed = [row for row in db.list_summaries(limit=None) if row.root_id == chain.root_id]
    assert [row.id for row in listed] == [chain.id]
    assert {message.session_id for message in catalog.messages(chain.id)} == set(lineage)


def test_the_branch_is_a_row_of_its_own(summaries: list[SessionSummary]) -> None:
    by_title = {summary.title: summary for summary in summaries}
    branch = by_title["Vienna with the children instead"]

    assert branch.parent_session_id == by_title["Night train to Vienna"].id
    assert branch.root_id == branch.id


def test_tools_that_worked_and_tools_that_failed(db: SessionDB) -> None:
    results = [
        message.content
        for row in db.search_sessions(limit=1000)
        for message in db.read_messages(row["id"], limit=1000)
        if message.role == "tool"
    ]

    assert sum('"exit_code": 0' in result for result in results) >= 5
    assert sum('"exit_code": 1' in result for result in results) >= 2
    assert sum('"error"' in result for result in results) >= 2


@pytest.mark.parametrize(
    "script",
    ["GREEK", "CYRILLIC", "CJK", "HIRAGANA", "HANGUL", "DEVANAGARI", "THAI", "ARABIC", "HEBREW"],
)
def test_many_scripts(db: SessionDB, summaries: list[SessionSummary], script: str) -> None:
    titles = "".join(summary.title or "" for summary in summaries)

    assert any(unicodedata.name(sign, "").startswith(script) for sign in titles)


def test_the_session_of_the_picture_is_new_and_rich(
    db: SessionDB, summaries: list[SessionSummary]
) -> None:
    catalog = SessionCatalog(db)
    session = catalog.find(DEMO_SESSION_TITLE)
    newest = sorted(summaries, key=lambda each: each.last_active, reverse=True)

    assert session.id in {each.id for each in newest[:3]}
    assert session.ended_at is None
    text = "\n".join(message.content for message in catalog.messages(session.id))
    for part in ("```python", "| Box |", "**", "1. ", "exit_code"):
        assert part in text


def test_the_same_every_time(paths: HermesPaths, tmp_path: Path) -> None:
    again = create_demo_home(tmp_path, now=NOW)
    conn = sqlite3.connect(again.state_db)
    conn.execute("ATTACH ? AS first", (str(paths.state_db),))
    try:
        for table in ("sessions", "messages"):
            difference = f"SELECT * FROM main.{table} EXCEPT SELECT * FROM first.{table}"
            assert conn.execute(difference).fetchall() == []
    finally:
        conn.close()


def test_a_home_with_a_history_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"something")

    with pytest.raises(FileExistsError):
        create_demo_home(tmp_path, now=NOW)

    assert (tmp_path / "state.db").read_bytes() == b"something"
