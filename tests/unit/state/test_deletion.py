"""Deleting sessions: what goes with one, what is cut loose, what stays."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions import deletion
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from tests.fakes.clock import MovableClock


def parents(db: SessionDB) -> dict[str, str | None]:
    rows = db.read(
        lambda conn: conn.execute("SELECT id, parent_session_id FROM sessions").fetchall()
    )
    return {row[0]: row[1] for row in rows}


def leftovers(db: SessionDB) -> list[int]:
    """Rows that belong to no session, and index rows that belong to no message."""
    lost = "SELECT count(*) FROM {0} WHERE session_id NOT IN (SELECT id FROM sessions)"
    index = "SELECT count(*) FROM {0} WHERE rowid NOT IN (SELECT id FROM messages)"
    statements = [lost.format(t) for t in ("messages", "session_model_usage")]
    statements += [index.format(t) for t in ("messages_fts", "messages_fts_trigram")]
    return [
        db.read(lambda conn, sql=sql: conn.execute(sql).fetchone()[0])  # type: ignore[misc]
        for sql in statements
    ]


def family(db: SessionDB) -> None:
    """A conversation of two segments with a fork, subagents of subagents, a branch and a child."""
    db.create_session("root", "cli")
    db.append_message("root", "user", "first words")
    db.update_token_counts("root", 5, model="m", billing_provider="p", api_call_count=1)
    db.end_session("root", "compression")
    for name in ("tip", "fork"):
        db.create_session(name, "cli", parent_session_id="root")
        db.append_message(name, "user", f"words of {name}")
    delegate = {"_delegate_from": "tip"}
    db.create_session("sub", "subagent", parent_session_id="tip", model_config=delegate)
    db.append_message("sub", "user", "work")
    db.create_session("subsub", "subagent", model_config={"_delegate_from": "sub"})
    db.create_session("other sub", "subagent", parent_session_id="sub", model_config=delegate)
    db.create_session(
        "branch", "cli", parent_session_id="tip", model_config={"_branched_from": "tip"}
    )
    db.create_session("plain", "cli", parent_session_id="sub")
    db.create_session("stranger", "cli")


def test_deleting_a_session_takes_its_subagents_and_cuts_the_others_loose(db: SessionDB) -> None:
    family(db)
    assert db.delete_sessions(["tip"])
    assert parents(db) == {
        "root": None,
        "fork": "root",
        "branch": None,
        "plain": None,
        "stranger": None,
    }
    assert leftovers(db) == [0, 0, 0, 0]
    assert not db.delete_sessions(["tip"])
    assert not db.delete_sessions([""])


def test_the_scope_of_a_conversation(db: SessionDB) -> None:
    family(db)
    for member in ("root", "tip", "fork"):
        scope = db.lineage_ids_for_delete(member)
        assert scope.session_ids[0] == "root"
        assert set(scope.session_ids) == {"root", "tip", "fork"}
        assert set(scope.subagent_ids) == {"sub", "subsub", "other sub"}
    assert db.lineage_ids_for_delete("branch") == deletion.DeletionScope(("branch",), ())
    assert db.lineage_ids_for_delete("nobody") == deletion.DeletionScope((), ())
    assert db.delete_sessions(db.lineage_ids_for_delete("tip").session_ids) == 3
    assert parents(db) == {"branch": None, "plain": None, "stranger": None}
    assert leftovers(db) == [0, 0, 0, 0]


def test_a_parent_and_its_child_are_deleted_together(db: SessionDB) -> None:
    family(db)
    assert db.delete_sessions(["tip", None, "nobody", "root", "tip", "sub"]) == 3
    assert set(parents(db)) == {"fork", "branch", "plain", "stranger"}


def test_many_sessions_go_in_short_transactions(db: SessionDB) -> None:
    ids = [f"s{number}" for number in range(250)]
    for session_id in ids:
        db.create_session(session_id, "cli")
    portions = db.read(lambda conn: list(deletion.portions(conn, ids, {})))
    assert [len(portion.agents) for portion in portions] == [100, 100, 50]
    assert db.delete_sessions(ids) == 250
    assert parents(db) == {}


def test_a_long_session_has_a_transaction_of_its_own(db: SessionDB) -> None:
    for name, count in (("a", 1), ("long", deletion.MOST_MESSAGES + 1), ("b", 1), ("c", 1)):
        db.create_session(name, "cli")
        db.replace_messages(name, [{"role": "user", "content": "x"}] * count)
    portions = db.read(lambda conn: list(deletion.portions(conn, ["a", "long", "b", "c"], {})))
    assert [list(portion.agents) for portion in portions] == [["a"], ["long"], ["b", "c"]]
    assert [portion.is_long for portion in portions] == [False, True, False]


def test_files_beside_the_store(db: SessionDB, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    names = [
        "a*.json",
        "a*.jsonl",
        "request_dump_a*_20260101_000000_000001.json",
        "request_dump_ab_20260101_000000_000001.json",
        "session_a*.json",
        "ab.json",
    ]
    for name in names:
        (folder / name).touch()
    for session_id in ("a*", "ab", "../escape"):
        db.create_session(session_id, "cli")
    (tmp_path / "escape.json").touch()
    assert db.delete_sessions(["a*", "../escape"], folder) == 2
    assert sorted(file.name for file in folder.iterdir()) == sorted(names[3:])
    assert (tmp_path / "escape.json").exists()


def test_routes_of_our_scope_only_when_asked(db: SessionDB) -> None:
    def route(conn: sqlite3.Connection) -> None:
        for scope, key, entry in (
            ("ours", "k", {"session_id": "a"}),
            ("ours", "other", {"session_id": "b"}),
            ("ours", "odd", "no json"),
            ("theirs", "k", {"session_id": "a"}),
        ):
            text = entry if isinstance(entry, str) else json.dumps(entry)
            conn.execute("INSERT INTO gateway_routing VALUES (?, ?, ?, 1)", (scope, key, text))

    def routes() -> set[tuple[str, str]]:
        sql = "SELECT scope, session_key FROM gateway_routing"
        return {tuple(row) for row in db.read(lambda conn: conn.execute(sql).fetchall())}

    db.create_session("a", "telegram")
    db._execute_write(route)
    before = routes()
    db.delete_sessions(["a"])
    assert routes() == before
    db.create_session("a", "telegram")
    db.delete_sessions(["a"], routing_scope="ours")
    assert routes() == before - {("ours", "k")}


def test_a_table_we_do_not_know_holds_a_session(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", "x")

    def claim(conn: sqlite3.Connection) -> None:
        conn.execute("CREATE TABLE claims (session_id TEXT REFERENCES sessions(id))")
        conn.execute("INSERT INTO claims VALUES ('a')")

    db._execute_write(claim)
    with pytest.raises(RefusedError) as caught:
        db.delete_sessions(["a"])
    assert caught.value.hint
    assert db.message_count("a") == 1


def unused(db: SessionDB, days: float) -> SessionFilter:
    return SessionFilter(idle_before=db._clock.time() - days * 86_400)


def test_a_session_that_was_reopened_is_not_pruned(path: Path) -> None:
    clock = MovableClock()
    with contextlib.closing(SessionDB(path, clock=clock)) as db:
        for name in ("a", "b"):
            db.create_session(name, "cli")
            db.end_session(name, "tui_close")
        clock.advance(91 * 86_400)
        assert [each.id for each in db.candidates(unused(db, 90))] == ["a", "b"]
        db.reopen_session("a")
        assert db.prune(unused(db, 90)) == 1
        assert parents(db) == {"a": None}


def test_pruning_leaves_subagents_to_themselves(path: Path) -> None:
    clock = MovableClock()
    with contextlib.closing(SessionDB(path, clock=clock)) as db:
        db.create_session("a", "cli")
        db.end_session("a", "tui_close")
        clock.advance(91 * 86_400)
        db.create_session(
            "sub", "subagent", parent_session_id="a", model_config={"_delegate_from": "a"}
        )
        db.end_session("sub", "agent_close")
        assert db.prune(unused(db, 90)) == 1
        assert parents(db) == {"sub": None}
