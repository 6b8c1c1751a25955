"""A file of layout 30 that we read, or wrote, is opened by hermes-agent as it was before."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.newest_home import bytes_of, make_newest_file

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


def shape(path: Path) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        for table in ("messages_fts", "messages_fts_trigram"):
            conn.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        conn.rollback()
        return conn.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name"
        ).fetchall()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_after_our_reading(hermes: Any, journal: str) -> None:
    make_newest_file(hermes.state_db, single_writer=True, journal=journal)
    before, layout = bytes_of(hermes.state_db), shape(hermes.state_db)
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        assert db.list_summaries()
        assert db.search_messages("zebra")
        assert db.read_messages("s_cli")
    assert bytes_of(hermes.state_db) == before
    assert "s_cli" in hermes.command("sessions", "list")
    assert set(layout) <= set(shape(hermes.state_db))


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_after_our_writing(hermes: Any, journal: str) -> None:
    make_newest_file(hermes.state_db, single_writer=False, journal=journal)
    layout = shape(hermes.state_db)
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        db.create_session("ours", "cli")
        db.append_message("ours", "user", "about walruses")
        assert db.set_session_title("ours", "From here")
        assert db.delete_sessions(["s_unread"])
    assert shape(hermes.state_db) == layout
    listed = hermes.command("sessions", "list")
    assert "From here" in listed
    assert "s_unread" not in listed
    hermes.command("sessions", "rename", "ours", "Renamed there")
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        assert db.get_session_title("ours") == "Renamed there"
        assert [row["session_id"] for row in db.search_messages("walruses")] == ["ours"]
    assert set(layout) <= set(shape(hermes.state_db))
