import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import StateUnavailableError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from hermes_desktop.state.records.records import StateChanges

NOTHING = StateChanges()


@pytest.fixture
def watcher(db: SessionDB, path: Path) -> Iterator[ChangeWatcher]:
    for name in "abc":
        db.create_session(name, "cli")
        db.append_message(name, "user", "hello")
        db.append_message(name, "assistant", "hi")
    found = ChangeWatcher(path)
    assert found.look() == NOTHING
    yield found
    found.close()


def touched(*names: str) -> StateChanges:
    return StateChanges(touched=frozenset(names))


def sql(db: SessionDB, statement: str, *values: object) -> None:
    db._execute_write(lambda conn: conn.execute(statement, values))


def first_message(db: SessionDB, name: str) -> int:
    return int(db.get_messages(name, include_inactive=True)[0]["id"])


def test_nothing_happens(watcher: ChangeWatcher) -> None:
    assert not watcher.look()
    assert not watcher.look()


def test_new_messages(db: SessionDB, watcher: ChangeWatcher) -> None:
    db.append_message("b", "user", "more")
    assert watcher.look() == touched("b")
    assert watcher.look() == NOTHING


def test_new_messages_of_a_program_that_forgets_the_counter(
    db: SessionDB, watcher: ChangeWatcher
) -> None:
    sql(db, "INSERT INTO messages (session_id, role, timestamp) VALUES ('b', 'user', 1)")
    assert watcher.look() == touched("b")


@pytest.mark.parametrize(
    "change",
    [
        lambda db: db.rewind_to_message("b", first_message(db, "b")),
        lambda db: db.replace_messages(
            "b", [{"role": "user", "content": "y"}, {"role": "assistant", "content": "z"}]
        ),
        lambda db: db.replace_messages("b", []),
        lambda db: db.archive_and_compact("b", [{"role": "user", "content": "sum"}]),
        lambda db: db.set_session_title("b", "New"),
        lambda db: db.end_session("b", "cli_close"),
        lambda db: db.set_session_archived("b", archived=True),
        lambda db: sql(db, "UPDATE sessions SET model = 'other' WHERE id = 'b'"),
        lambda db: db.update_token_counts("b", 5, 5),
    ],
    ids=["undo", "rewrite", "clear", "compact", "title", "end", "archive", "model", "tokens"],
)
def test_changes_of_a_session(db: SessionDB, watcher: ChangeWatcher, change: object) -> None:
    change(db)  # type: ignore[operator]
    assert watcher.look() == touched("b")
    assert watcher.look() == NOTHING


def test_restored_messages_of_a_shown_session(db: SessionDB, watcher: ChangeWatcher) -> None:
    since = first_message(db, "b")
    db.rewind_to_message("b", since)
    watcher.look()
    watcher.watch({"b", "c"})
    assert watcher.look() == NOTHING
    sql(db, f"UPDATE messages SET active = 1 WHERE session_id = 'b' AND id >= {since}")
    assert watcher.look() == touched("b")


def test_sessions_come_and_go(db: SessionDB, watcher: ChangeWatcher) -> None:
    db.create_session("new", "cli")
    assert watcher.look() == touched("new")
    sql(db, "DELETE FROM messages WHERE session_id = 'c'")
    sql(db, "DELETE FROM sessions WHERE id IN ('new', 'c')")
    assert watcher.look() == StateChanges(removed=frozenset({"new", "c"}))
    assert watcher.look() == NOTHING


def test_a_row_replaced_by_another_of_the_same_number(
    db: SessionDB, watcher: ChangeWatcher
) -> None:
    """The number of sessions and the greatest row number stay as they were."""
    db.create_session("z", "cli")
    watcher.look()

    def swap(conn: sqlite3.Connection) -> None:
        conn.execute("DELETE FROM sessions WHERE id = 'z'")
        conn.execute("INSERT INTO sessions (id, source, started_at) VALUES ('y', 'cli', 1)")

    db._execute_write(swap)
    changes = watcher.look()
    assert "y" in changes.touched
    assert changes.removed == {"z"}


def test_children_of_a_deleted_session_are_touched(db: SessionDB, watcher: ChangeWatcher) -> None:
    db.create_session("child", "cli", parent_session_id="a")
    watcher.look()
    sql(db, "UPDATE sessions SET parent_session_id = NULL WHERE id = 'child'")
    sql(db, "DELETE FROM messages WHERE session_id = 'a'")
    sql(db, "DELETE FROM sessions WHERE id = 'a'")
    assert watcher.look() == StateChanges(touched=frozenset({"child"}), removed=frozenset({"a"}))


def test_other_tables_touch_no_session(db: SessionDB, watcher: ChangeWatcher) -> None:
    sql(db, "INSERT INTO state_meta VALUES ('k', 'v')")
    assert watcher.look() == NOTHING


def test_several_commits_between_two_looks(db: SessionDB, watcher: ChangeWatcher) -> None:
    db.append_message("a", "user", "x")
    db.set_session_title("b", "New")
    db.create_session("d", "cli")
    assert watcher.look() == touched("a", "b", "d")


def test_every_change_is_found_in_a_large_store(db: SessionDB, path: Path) -> None:
    """More sessions than one slice; the old ones are neither new, nor shown, nor lately changed."""

    def many(conn: sqlite3.Connection) -> None:
        conn.executemany(
            "INSERT INTO sessions (id, source, started_at) VALUES (?, 'cli', ?)",
            [(f"s{number:05d}", float(number)) for number in range(5_000)],
        )

    db._execute_write(many)
    with contextlib.closing(ChangeWatcher(path)) as watcher:
        watcher.look()
        wanted = {"s00007", "s02500", "s04990"}
        for number, name in enumerate(sorted(wanted)):
            db.set_session_title(name, f"T{number}")
        found: set[str] = set()
        for _ in range(6):
            found |= watcher.look().touched
        assert found == wanted
        db.append_message("s02500", "user", "x")
        db.set_session_title("s00100", "mixed with a message")
        assert watcher.look() == touched("s02500")
        assert {name for _ in range(4) for name in watcher.look().touched} == {"s00100"}
        assert watcher.look() == NOTHING


def test_a_change_outside_the_first_slice_of_a_shown_session_is_found_at_once(
    db: SessionDB, path: Path
) -> None:
    db._execute_write(
        lambda conn: conn.executemany(
            "INSERT INTO sessions (id, source, started_at) VALUES (?, 'cli', ?)",
            [(f"s{number:05d}", float(number)) for number in range(3_000)],
        )
    )
    with contextlib.closing(ChangeWatcher(path)) as watcher:
        watcher.look()
        watcher.watch({"s02500"})
        db.set_session_title("s02500", "Shown")
        assert watcher.look() == touched("s02500")


def test_a_locked_file_is_looked_at_later(db: SessionDB, tmp_path: Path) -> None:
    path = tmp_path / "rollback.db"
    with contextlib.closing(SessionDB(path)) as store:
        store.create_session("a", "cli")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode=DELETE")
    with contextlib.closing(ChangeWatcher(path)) as watcher:
        watcher.look()
        other.execute("UPDATE sessions SET title = 'x'")
        other.execute("BEGIN EXCLUSIVE")
        assert watcher.look() == NOTHING
        other.execute("COMMIT")
        assert watcher.look() == touched("a")
        other.execute("BEGIN EXCLUSIVE")
        with contextlib.closing(ChangeWatcher(path)) as late:
            assert late.look() == NOTHING
            other.execute("COMMIT")
            assert late.look() == NOTHING
            other.execute("UPDATE sessions SET title = 'y'")
            assert late.look() == touched("a")
    other.close()


def test_a_missing_file_is_reported_when_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with contextlib.closing(ChangeWatcher(path)) as watcher:
        assert watcher.look() == NOTHING
        assert not path.exists()
        with contextlib.closing(SessionDB(path)) as db:
            assert watcher.look() == StateChanges(reload_all=True, file_replaced=True)
            db.create_session("a", "cli")
            assert watcher.look() == touched("a")


def test_a_replaced_file(db: SessionDB, watcher: ChangeWatcher, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with contextlib.closing(SessionDB(other)) as fresh:
        fresh.create_session("new", "cli")
    sql(db, "DELETE FROM state_meta")
    with contextlib.closing(sqlite3.connect(path)) as restorer:
        restorer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.unlink()
    assert watcher.look() == StateChanges(reload_all=True, file_replaced=True)
    assert watcher.look() == NOTHING
    other.rename(path)
    assert watcher.look() == StateChanges(reload_all=True, file_replaced=True)
    assert watcher.look() == NOTHING
    db.append_message("new", "user", "x")
    assert watcher.look() == touched("new")


def test_a_file_that_became_something_else_is_named(
    watcher: ChangeWatcher, path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"nothing to do with it" * 500)
    with contextlib.closing(sqlite3.connect(path)) as restorer:
        restorer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.rename(path)
    for _ in range(2):
        with pytest.raises(StateUnavailableError):
            watcher.look()


def test_text_that_is_no_utf8(db: SessionDB, watcher: ChangeWatcher) -> None:
    sql(db, "UPDATE sessions SET title = CAST(x'61ff' AS TEXT) WHERE id = 'b'")
    found = watcher.look().touched | watcher.look().touched
    assert found == {"b"}
    assert watcher.look() == NOTHING


def test_looking_on_after_close(db: SessionDB, watcher: ChangeWatcher) -> None:
    watcher.close()
    db.append_message("a", "user", "x")
    assert watcher.look().reload_all


def test_new_messages_are_found_by_their_ids(db: SessionDB) -> None:
    """Walking along the index of sessions instead costs a hundred times more."""
    plan = db.read(
        lambda conn: conn.execute(
            "EXPLAIN QUERY PLAN SELECT DISTINCT +session_id FROM messages WHERE id > 5"
        ).fetchall()
    )
    assert "INTEGER PRIMARY KEY (rowid>?)" in plan[0]["detail"]
