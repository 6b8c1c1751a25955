"""Chats, routes, hand-offs and locks."""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(path, clock=clock)) as store:
        yield store


# ------------------------------------------------------------------------- chats


def chat(
    db: SessionDB,
    clock: MovableClock,
    name: str,
    key: str | None,
    *,
    end: str | None = None,
    said: bool = True,
    source: str = "telegram",
    **address: str | None,
) -> None:
    clock.advance(1)
    db.create_session(name, source, session_key=key, **address)  # type: ignore[arg-type]
    if said:
        db.append_message(name, "user", "x")
    if end:
        db.end_session(name, end)


@pytest.fixture
def chats(db: SessionDB, clock: MovableClock) -> SessionDB:
    one = {"chat_id": "1", "user_id": "u", "chat_type": "dm"}
    chat(db, clock, "a1", "A", **one)
    chat(db, clock, "a2", "A", end="agent_close", **one)
    chat(db, clock, "a3", "A", said=False, **one)
    chat(db, clock, "b1", "B", end="agent_close", chat_id="2", user_id="u", chat_type="dm")
    chat(db, clock, "c1", "C", chat_id="3", chat_type="group")
    chat(db, clock, "c2", "C", chat_id="3", user_id="v", chat_type="group")
    chat(db, clock, "d1", "D1", chat_id="4", thread_id="t1", user_id="v", chat_type="group")
    chat(db, clock, "d2", "D2", chat_id="4", thread_id="t2", user_id="v", chat_type="group")
    chat(db, clock, "e1", "E", source="Telegram", chat_id="5", user_id="v")
    chat(db, clock, "f1", "F", end="idle", chat_id="6", user_id="v")
    chat(db, clock, "g1", "G", chat_id="7", user_id="x")
    chat(db, clock, "g2", "G", chat_id="7", user_id="y")
    chat(db, clock, "h1", None, chat_id="8", user_id="y")
    return db


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ({"session_key": "A"}, "a2"),
        ({"session_key": "B"}, "b1"),
        ({"session_key": "F"}, None),
        ({"session_key": "?", "chat_id": "1", "user_id": "u", "chat_type": "dm"}, "a2"),
        ({"session_key": "?", "chat_id": "1"}, None),
        ({"session_key": "?", "chat_id": "3", "chat_type": "group"}, "c1"),
        ({"session_key": "?"}, None),
        ({"chat_id": "1", "user_id": "u", "chat_type": "dm"}, None),
        ({"session_key": ""}, None),
    ],
)
def test_the_session_a_chat_goes_on_with(
    chats: SessionDB, question: dict[str, str], answer: str | None
) -> None:
    found = chats.find_latest_gateway_session_for_peer(source="telegram", **question)
    assert (found or {}).get("id") == answer


def test_a_chat_is_recorded(db: SessionDB) -> None:
    db.create_session("a", "cli", user_id="old")
    names = ("source", "user_id", "session_key", "chat_id", "display_name", "origin_json")

    def stored() -> list[object]:
        row = db.get_session("a") or {}
        return [row[name] for name in names]

    db.record_gateway_session_peer("a", source="telegram", chat_id="c")
    assert stored() == ["cli", "old", None, None, None, None]
    db.record_gateway_session_peer(
        "a", source="telegram", session_key="k", chat_id="c", display_name="D", origin_json="{}"
    )
    assert stored() == ["telegram", None, "k", "c", "D", "{}"]
    db.record_gateway_session_peer("a", source="telegram", session_key="k2", user_id="u")
    assert stored() == ["telegram", "u", "k2", None, "D", "{}"]
    db.record_gateway_session_peer("nobody", source="telegram", session_key="k")
    assert db.get_session("nobody") is None
    db.set_expiry_finalized("a")
    assert (db.get_session("a") or {})["expiry_finalized"] == 1
    db.set_expiry_finalized("a", False)
    assert (db.get_session("a") or {})["expiry_finalized"] == 0


# ------------------------------------------------------------------------ routes


def routes(db: SessionDB) -> dict[tuple[str, str], tuple[str, float]]:
    sql = "SELECT scope, session_key, entry_json, updated_at FROM gateway_routing"
    rows = db.read(lambda conn: conn.execute(sql).fetchall())
    return {(row[0], row[1]): (row[2], row[3]) for row in rows}


def test_routes_are_saved_by_difference(db: SessionDB, clock: MovableClock) -> None:
    db.save_routing_changes(scope="s", changed={"a": {"n": 1}, "b": '{"n": 2}'})
    db.save_routing_changes(scope="other", changed={"a": {"n": 9}})
    first = clock.time()

    def foreign(conn: sqlite3.Connection) -> None:
        conn.execute("INSERT INTO gateway_routing VALUES ('s', 'odd', 'no json', 5)")
        conn.execute("INSERT INTO gateway_routing VALUES ('s', 'new', '{}', 6)")

    db._execute_write(foreign)
    clock.advance(10)
    changed = db.save_routing_changes(
        scope="s", changed={"a": {"n": 1}, "c": {"n": 3}}, removed=["b", "unknown"]
    )
    assert changed == 2
    assert routes(db) == {
        ("s", "a"): ('{"n": 1}', first),
        ("s", "c"): ('{"n": 3}', first + 10),
        ("s", "odd"): ("no json", 5),
        ("s", "new"): ("{}", 6),
        ("other", "a"): ('{"n": 9}', first),
    }


def test_a_failing_save_changes_nothing(db: SessionDB) -> None:
    db.save_routing_changes(scope="s", changed={"a": "{}"})
    before = routes(db)
    with pytest.raises(TypeError):
        db.save_routing_changes(scope="s", changed={"b": {"x": object()}}, removed=["a"])
    assert routes(db) == before


def test_entries_stay_text(db: SessionDB) -> None:
    db.save_routing_changes(scope="s", changed={"k": {"name": "Zoë \ud800"}})
    assert json.loads(db.load_gateway_routing_entries(scope="s")["k"])["name"].startswith("Zoë")


# --------------------------------------------------------------------- hand-offs


def test_a_hand_off_from_request_to_end(db: SessionDB, clock: MovableClock) -> None:
    assert not db.request_handoff("nobody", "telegram")
    assert db.get_handoff_state("nobody") is None
    db.create_session("a", "cli")
    assert db.get_handoff_state("a") == {"state": None, "platform": None, "error": None}
    assert db.request_handoff("a", "telegram")
    assert not db.request_handoff("a", "discord")
    clock.advance(-5)
    db.create_session("older", "cli")
    db.request_handoff("older", "telegram")
    assert [row["id"] for row in db.list_pending_handoffs()] == ["older", "a"]
    assert [db.claim_handoff("a"), db.claim_handoff("a")] == [True, False]
    assert not db.request_handoff("a", "discord")
    db.fail_handoff("a", "e" * 600)
    assert db.get_handoff_state("a") == {
        "state": "failed",
        "platform": "telegram",
        "error": "e" * 500,
    }
    assert db.request_handoff("a", "discord")
    assert db.get_handoff_state("a") == {"state": "pending", "platform": "discord", "error": None}
    db.claim_handoff("a")
    db.complete_handoff("a")
    assert db.get_handoff_state("a") == {
        "state": "completed",
        "platform": "discord",
        "error": None,
    }


def won(path: Path, claim: str, *args: str) -> list[bool]:
    """What several stores on one file got when they all tried at once."""
    results: list[bool] = []
    barrier = threading.Barrier(6)

    def attempt(number: int) -> None:
        with contextlib.closing(SessionDB(path)) as store:
            barrier.wait(60)
            more = [each.format(number) for each in args]
            results.append(getattr(store, claim)("a", *more))

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(results)


def test_exactly_one_claims_a_hand_off(db: SessionDB, path: Path) -> None:
    db.create_session("a", "cli")
    db.request_handoff("a", "telegram")
    assert won(path, "claim_handoff") == [False] * 5 + [True]


# ------------------------------------------------------------------------- locks


def test_exactly_one_compresses(db: SessionDB, path: Path) -> None:
    assert won(path, "try_acquire_compression_lock", "holder {}") == [False] * 5 + [True]


def test_a_lock_runs_out(db: SessionDB, clock: MovableClock) -> None:
    assert db.try_acquire_compression_lock("a", "h")
    assert not db.try_acquire_compression_lock("a", "other")
    assert db.try_acquire_compression_lock("a", "h")
    assert db.get_compression_lock_holder("a") == "h"
    clock.advance(299)
    assert not db.refresh_compression_lock("a", "other")
    assert db.refresh_compression_lock("a", "h")
    clock.advance(299)
    assert not db.try_acquire_compression_lock("a", "other")
    clock.advance(2)
    assert db.get_compression_lock_holder("a") is None
    assert not db.refresh_compression_lock("a", "h")
    assert db.try_acquire_compression_lock("a", "other")
    db.release_compression_lock("a", "h")
    assert db.get_compression_lock_holder("a") == "other"
    db.release_compression_lock("a", "other")
    assert db.get_compression_lock_holder("a") is None


def test_no_lock_without_names_or_store(db: SessionDB) -> None:
    assert not db.try_acquire_compression_lock("", "h")
    assert not db.try_acquire_compression_lock("a", "")
    db.close()
    assert not db.try_acquire_compression_lock("a", "h")
    db.release_compression_lock("a", "h")


def test_cooldown_and_streak(db: SessionDB, clock: MovableClock) -> None:
    db.create_session("a", "cli")
    assert db.get_compression_failure_cooldown("a") is None
    until = clock.time() + 60
    db.record_compression_failure_cooldown("a", until, "boom")
    clock.advance(20)
    assert db.get_compression_failure_cooldown("a") == {
        "cooldown_until": until,
        "remaining_seconds": 40.0,
        "error": "boom",
    }
    clock.advance(40)
    assert db.get_compression_failure_cooldown("a") is None
    db.record_compression_failure_cooldown("a", until + 600)
    db.clear_compression_failure_cooldown("a")
    assert db.get_compression_failure_cooldown("a") is None
    assert db.get_compression_failure_cooldown("nobody") is None
    for given, stored in ((3, 3), (-2, 0)):
        db.set_compression_fallback_streak("a", given)
        assert db.get_compression_fallback_streak("a") == stored
    assert db.get_compression_fallback_streak("nobody") == 0
