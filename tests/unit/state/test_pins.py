"""Pins: in the column of newer releases, else in our own database; of whole conversations."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import StateError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions import pins
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash import trash
from hermes_desktop.state.trash.trash_restore import restore_from_trash
from tests.fakes import state_files
from tests.fakes.clock import MovableClock

DAY = 86_400.0


@pytest.fixture(params=["own store", "column"])
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[SessionDB]:
    """An ended conversation in two parts with a branch, and two ended sessions; all of them old."""
    path.parent.mkdir()
    if request.param == "column":
        state_files.make_newer_file(path).close()
    clock = MovableClock()
    with contextlib.closing(SessionDB(path, clock=clock)) as db:
        db.create_session("root", "cli")
        db.end_session("root", "compression")
        clock.advance(60)
        db.create_session("tip", "cli", parent_session_id="root")
        branch = {"_branched_from": "tip"}
        db.create_session("branch", "cli", parent_session_id="tip", model_config=branch)
        for name in ("one", "two"):
            db.create_session(name, "cli")
        for name in ("tip", "branch", "one", "two"):
            db.append_message(name, "user", f"said in {name}")
            db.end_session(name, "cli_close")
        clock.advance(200 * DAY)
        assert db.shares_pins == (request.param == "column")
        yield db


def left(db: SessionDB) -> set[str]:
    return {row["id"] for row in db.search_sessions(limit=99)}


def pinned_ids(db: SessionDB) -> frozenset[str]:
    """Every segment of every pinned conversation."""
    own = db.own_pins_if_readable()
    return db.read(lambda conn: pins.pinned_conversations(conn, own))


def unused(db: SessionDB, days: float, *, include_pinned: bool = False) -> SessionFilter:
    return SessionFilter(idle_before=db._clock.time() - days * DAY, include_pinned=include_pinned)


def marked(db: SessionDB) -> set[str]:
    return {each.id for each in db.list_summaries(include_archived=True) if each.pinned}


@pytest.mark.parametrize("name", ["root", "tip"])
def test_a_pin_is_of_the_whole_conversation(store: SessionDB, name: str) -> None:
    assert store.set_session_pinned(name, pinned=True)
    assert not store.set_session_pinned("tip", pinned=True)
    assert pinned_ids(store) == {"root", "tip"}
    assert marked(store) == {"tip"}
    found = store.summary("root")
    assert found is not None
    assert found.pinned
    assert store.prune(unused(store, 90)) == 3
    assert left(store) == {"root", "tip"}
    assert store.set_session_pinned("root", pinned=False)
    assert not store.set_session_pinned("root", pinned=False)
    assert marked(store) == set()
    assert store.prune(unused(store, 90)) == 2


def test_a_part_that_came_later_is_pinned_too(store: SessionDB) -> None:
    store.set_session_pinned("one", pinned=True)
    store.reopen_session("one")
    store.end_session("one", "compression")
    store.create_session("later", "cli", parent_session_id="one")
    store.end_session("later", "cli_close")
    assert pinned_ids(store) == {"one", "later"}
    assert marked(store) == {"later"}
    assert store.prune(SessionFilter(source="cli")) == 4
    assert left(store) == {"one", "later"}


def test_unknown_sessions_are_not_pinned(store: SessionDB) -> None:
    assert not store.set_session_pinned("nobody", pinned=True)
    assert not store.set_session_pinned("nobody", pinned=False)
    assert pinned_ids(store) == frozenset()


def test_every_bulk_operation_spares_pinned_sessions(store: SessionDB) -> None:
    store.create_session("empty", "cli")
    store.end_session("empty", "cli_close")
    store.create_session("ghost", "tui")
    store.end_session("ghost", "cli_close")
    for name in ("one", "empty", "ghost"):
        store.set_session_pinned(name, pinned=True)
    found = store.selection(SessionFilter(source="cli"))
    assert [each.id for each in found.candidates] == ["root", "branch", "tip", "two"]
    assert (found.spared.pinned, found.pinned) == (2, 0)
    assert store.archive(SessionFilter(source="cli")) == 4
    assert [each.id for each in store.candidates(unused(store, 90))] == [
        "root",
        "branch",
        "tip",
        "two",
    ]
    store._clock.advance(2 * DAY)  # type: ignore[attr-defined]
    assert store.prune_empty_ghost_sessions() == 0
    assert store.prune(unused(store, 0)) == 4
    assert left(store) == {"one", "empty", "ghost"}


def test_pinned_sessions_go_when_they_are_included(store: SessionDB) -> None:
    store.set_session_pinned("one", pinned=True)
    found = store.selection(SessionFilter(include_pinned=True))
    assert (len(found.candidates), found.spared.pinned, found.pinned) == (5, 0, 1)
    assert store.prune(unused(store, 90, include_pinned=True)) == 5


def test_a_session_pinned_in_between_stays(store: SessionDB) -> None:
    """Pinned by another process after the choice was made, before its portion is deleted."""

    class PinningElsewhere:
        def is_set(self) -> bool:
            with contextlib.closing(SessionDB(store.db_path)) as other:
                other.set_session_pinned("two", pinned=True)
            return False

    assert store.prune(SessionFilter(source="cli"), cancel=PinningElsewhere()) == 4
    assert left(store) == {"two"}


def test_a_session_used_in_between_stays(store: SessionDB) -> None:
    class WritingElsewhere:
        def is_set(self) -> bool:
            with contextlib.closing(SessionDB(store.db_path, clock=store._clock)) as other:
                other.append_message("two", "user", "one more")
            return False

    choice = SessionFilter(idle_before=store._clock.time() - 90 * DAY)
    assert store.prune(choice, cancel=WritingElsewhere()) == 4
    assert left(store) == {"two"}


def test_pins_survive_the_trash(store: SessionDB, own: DesktopDatabase) -> None:
    store.set_session_pinned("root", pinned=True)
    receipt = trash.trash_sessions(store, own, ["tip"], deleted_at=1.0, reason="deleted")
    (item,) = receipt.items
    restore_from_trash(store, own, [item.trash_id])
    assert pinned_ids(store) == {"root", "tip"}


def test_a_pin_follows_a_session_that_gets_another_id(
    store: SessionDB, own: DesktopDatabase
) -> None:
    store.set_session_pinned("one", pinned=True)
    receipt = trash.trash_sessions(store, own, ["one"], deleted_at=1.0, reason="deleted")
    store.create_session("one", "cli")
    (restored,) = restore_from_trash(store, own, [receipt.items[0].trash_id])
    new = restored.session_ids["one"]
    assert new != "one"
    assert new in pinned_ids(store)


def test_a_session_deleted_for_good_leaves_no_pin(store: SessionDB) -> None:
    store.set_session_pinned("one", pinned=True)
    assert store.delete_sessions(["one"])
    assert pinned_ids(store) == frozenset()
    store.create_session("one", "cli")
    assert pinned_ids(store) == frozenset()


def test_pins_are_exported_and_imported(store: SessionDB, tmp_path: Path) -> None:
    store.set_session_pinned("root", pinned=True)
    exported = json.loads(json.dumps([store.export_session_lineage("tip"), *store.export_all()]))
    assert [each["pinned"] for each in exported[0]["segments"]] == [1, 1]
    assert {each["id"] for each in exported[1:] if each.get("pinned")} == {"root", "tip"}
    with contextlib.closing(SessionDB(tmp_path / "elsewhere" / "state.db")) as other:
        other.import_sessions(exported[1:])
        assert pinned_ids(other) == {"root", "tip"}


def test_pins_move_into_the_column_once_there_is_one(path: Path) -> None:
    with contextlib.closing(SessionDB(path)) as db:
        for name in ("a", "b", "c"):
            db.create_session(name, "cli")
            db.set_session_pinned(name, pinned=True)
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.execute("ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0")
        conn.commit()
    with contextlib.closing(SessionDB(path)) as db:
        assert db.shares_pins
        assert pinned_ids(db) == {"a", "b", "c"}
        assert db.set_session_pinned("b", pinned=False)
        assert pinned_ids(db) == {"a", "c"}
    with contextlib.closing(sqlite3.connect(path)) as conn:
        rows = conn.execute("SELECT id, pinned FROM sessions ORDER BY id").fetchall()
    assert rows == [("a", 1), ("b", 0), ("c", 1)]
    with contextlib.closing(sqlite3.connect(path.parent / "desktop" / "desktop.db")) as conn:
        assert conn.execute("SELECT count(*) FROM pins").fetchone() == (0,)


def test_nothing_is_deleted_while_nobody_knows_what_is_pinned(store: SessionDB) -> None:
    own_path = store.db_path.parent / "desktop" / "desktop.db"
    own_path.parent.mkdir(exist_ok=True)
    own_path.write_bytes(b"this is no database, but it is long enough to be taken for one" * 40)
    with contextlib.closing(SessionDB(store.db_path, clock=store._clock)) as db:
        assert len(db.list_summaries()) == 4
        with pytest.raises(StateError):
            db.prune(unused(db, 90))
        assert "error" in db.maybe_auto_prune_and_vacuum(90)
        assert len(left(db)) == 5


def test_no_table_of_the_shared_file_gets_anything_of_ours(path: Path) -> None:
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session("a", "cli")
        before = state_files.dump(path)
        db.set_session_pinned("a", pinned=True)
        assert state_files.dump(path) == before
