"""Upkeep: ghosts, orphans, the pruning once in a while, the search index, the size."""

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import BusyError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.database import holders
from hermes_desktop.state.records import meta_table
from hermes_desktop.state.sessions import maintenance
from tests.fakes import state_files
from tests.fakes.clock import MovableClock

DAY = 86_400


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(path, clock=clock)) as store:
        yield store


def ids(db: SessionDB) -> set[str]:
    rows = db.read(lambda conn: conn.execute("SELECT id FROM sessions").fetchall())
    return {row[0] for row in rows}


def test_ghosts(db: SessionDB, clock: MovableClock) -> None:
    for name, source in (("ghost", "tui"), ("parent", "tui"), ("cli", "cli"), ("open", "tui")):
        db.create_session(name, source)
    db.create_session("child", "cli", parent_session_id="parent")
    for name in ("titled", "talked"):
        db.create_session(name, "tui")
    db.set_session_title("titled", "T")
    db.append_message("talked", "user", "x")
    for name in ("ghost", "parent", "cli", "titled", "talked"):
        db.end_session(name, "tui_close")
    clock.advance(DAY - 1)
    assert db.prune_empty_ghost_sessions() == 0
    clock.advance(2)
    db.create_session("young", "tui")
    db.end_session("young", "tui_close")
    before = ids(db)
    assert db.prune_empty_ghost_sessions() == 1
    assert ids(db) == before - {"ghost"}


@pytest.mark.parametrize(
    "spoil",
    [
        None,
        "UPDATE sessions SET api_call_count = 1 WHERE id = 'child'",
        "UPDATE sessions SET end_reason = 'x' WHERE id = 'child'",
        "UPDATE sessions SET ended_at = 1 WHERE id = 'child'",
        "UPDATE sessions SET started_at = started_at + 2 * 86400 WHERE id = 'child'",
        "UPDATE sessions SET end_reason = 'cli_close' WHERE id = 'parent'",
        "DELETE FROM messages WHERE session_id = 'child'",
    ],
)
def test_orphans_meet_all_six_conditions(
    db: SessionDB, clock: MovableClock, spoil: str | None
) -> None:
    db.create_session("parent", "cli")
    db.end_session("parent", "compression")
    db.create_session("child", "cli", parent_session_id="parent")
    db.append_message("child", "user", "x")
    if spoil:
        db._execute_write(lambda conn: conn.execute(spoil))
    clock.advance(7 * DAY + 1)
    before = db.get_session("child")
    assert db.finalize_orphaned_compression_sessions() == (0 if spoil else 1)
    row = db.get_session("child") or {}
    if spoil:
        assert row == before
    else:
        assert (row["ended_at"], row["end_reason"]) == (clock.time(), "orphaned_compression")
        assert db.message_count("child") == 1
    assert db.finalize_orphaned_compression_sessions() == 0


def test_pruning_once_in_a_while(db: SessionDB, clock: MovableClock) -> None:
    db.create_session("old", "cli")
    db.end_session("old", "cli_close")
    clock.advance(91 * DAY)
    db.create_session("new", "cli")
    assert db.maybe_auto_prune_and_vacuum() == {"skipped": False, "pruned": 1, "vacuumed": True}
    assert ids(db) == {"new"}
    assert db.last_auto_prune() == clock.time()
    clock.advance(3600)
    assert db.maybe_auto_prune_and_vacuum() == {"skipped": True, "pruned": 0, "vacuumed": False}
    clock.advance(DAY)
    done = db.maybe_auto_prune_and_vacuum(vacuum=False)
    assert done == {"skipped": False, "pruned": 0, "vacuumed": False}
    db._execute_write(lambda conn: meta_table.put(conn, "last_auto_prune", "garbage"))
    assert not db.maybe_auto_prune_and_vacuum()["skipped"]


def test_pruning_never_raises(db: SessionDB) -> None:
    db.close()
    assert "closed" in db.maybe_auto_prune_and_vacuum()["error"]


def indexed(db: SessionDB, table: str) -> list[tuple[int, str]]:
    sql = f"SELECT rowid, content FROM {table} ORDER BY rowid"
    return [tuple(row) for row in db.read(lambda conn: conn.execute(sql).fetchall())]


def test_the_index_is_made_anew_from_the_messages(db: SessionDB) -> None:
    db.create_session("a", "cli")
    messages = [
        {"role": "user", "content": f"word{number}", "tool_name": "t", "tool_calls": [number]}
        for number in range(2100)
    ]
    db.replace_messages("a", messages)
    assert len(db.read(lambda conn: list(maintenance.portions(conn)))) == 3
    good = {table: indexed(db, table) for table in ("messages_fts", "messages_fts_trigram")}
    assert good["messages_fts"][0][1].startswith("word0 t [")

    def damage(conn: sqlite3.Connection) -> None:
        conn.execute("DELETE FROM messages_fts WHERE rowid IN (2, 1000, 1001, 2100)")
        conn.execute("INSERT INTO messages_fts (rowid, content) VALUES (-5, 'stale')")
        conn.execute("INSERT INTO messages_fts_trigram (rowid, content) VALUES (9999, 'stale')")

    db._execute_write(damage)
    assert db.rebuild_fts() == 2
    assert {table: indexed(db, table) for table in good} == good
    check = "INSERT INTO messages_fts (messages_fts) VALUES ('integrity-check')"
    db._execute_write(lambda conn: conn.execute(check))


def test_the_index_is_put_in_order(db: SessionDB) -> None:
    db.create_session("a", "cli")
    for number in range(60):
        db.append_message("a", "user", f"some words {number}")
    segments = "SELECT count(DISTINCT segid) FROM messages_fts_idx"
    assert db.optimize_fts() == 2
    assert db.read(lambda conn: conn.execute(segments).fetchone()[0]) <= 1
    found = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'words'"
    assert db.read(lambda conn: conn.execute(found).fetchone()[0]) == 60


def test_a_newer_index_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    conn = state_files.make_newer_file(path)
    state_files.add_session(conn, "a")
    state_files.add_message(conn, "a")
    conn.close()
    before = state_files.dump(path)
    with contextlib.closing(SessionDB(path)) as store:
        assert (store.rebuild_fts(), store.optimize_fts()) == (0, 0)
    assert state_files.dump(path) == before


def test_the_store_is_made_smaller(db: SessionDB, path: Path) -> None:
    db.create_session("a", "cli")
    db.replace_messages("a", [{"role": "user", "content": "x" * 5000}] * 200)
    db.delete_sessions(["a"])
    assert db.vacuum() == 2
    assert db.read(lambda conn: conn.execute("PRAGMA freelist_count").fetchone()[0]) == 0
    assert db.read(lambda conn: conn.execute("PRAGMA integrity_check").fetchone()[0]) == "ok"


@pytest.mark.two_processes
def test_not_while_another_program_has_it_open(db: SessionDB, path: Path) -> None:
    code = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}); "
        "c.execute('SELECT 1 FROM sessions').fetchall(); print('open', flush=True); input()"
    )
    assert holders.other_holders(path).seen == ()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        (seen,) = holders.other_holders(path).seen
        assert seen.pid == other.pid
        with pytest.raises(BusyError) as caught:
            db.vacuum()
        assert str(other.pid) in caught.value.detail
        assert db.maybe_auto_prune_and_vacuum()["vacuumed"] is False
        other.communicate("\n")
    assert db.vacuum() == 2


def test_nobody_holds_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert holders.other_holders(tmp_path / "none.db").seen == ()
