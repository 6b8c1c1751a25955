"""SessionDB as other parts use it: rows, messages, counters, errors, threads."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.core.errors import BusyError, NotFoundError, StateError, StateUnavailableError
from hermes_desktop.state import MissingSessionError, SessionDB
from hermes_desktop.state.database.connection import Patience
from hermes_desktop.state.records.records import SessionMark
from tests.fakes.clock import MovableClock

IMPATIENT = Patience(attempts=2, wait_s=0.01, pause_s=(0.0, 0.001))


def row(db: SessionDB, session_id: str) -> dict[str, object]:
    found = db.get_session(session_id)
    assert found is not None
    return found


# ---------------------------------------------------------------------- sessions


def test_create_is_repeatable_and_only_fills_gaps(db: SessionDB) -> None:
    assert db.create_session("a", "cli", model="m1", user_id=None) == "a"
    db.create_session("a", "telegram", model="m2", user_id="u", cwd="/x", model_config={"k": 1})
    found = row(db, "a")
    assert (found["source"], found["model"], found["user_id"]) == ("cli", "m1", None)
    assert (found["cwd"], found["model_config"]) == ("/x", '{"k": 1}')


def test_an_empty_model_config_is_null(db: SessionDB) -> None:
    db.create_session("a", "cli", model_config={})
    assert row(db, "a")["model_config"] is None


def test_unknown_parent_and_unknown_field(db: SessionDB) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        db.create_session("a", "cli", parent_session_id="nobody")
    with pytest.raises(TypeError, match="colour"):
        db.create_session("a", "cli", colour="red")
    assert db.get_session("a") is None


def test_ensure_session(db: SessionDB) -> None:
    assert db.ensure_session("a") == "a"
    assert row(db, "a")["source"] == "unknown"
    db.ensure_session("a", "cli", "m", profile_name="work")
    assert (row(db, "a")["source"], row(db, "a")["model"]) == ("unknown", "m")
    assert row(db, "a")["profile_name"] == "work"


def test_the_first_end_stays_until_reopened(path: Path) -> None:
    clock = MovableClock()
    with contextlib.closing(SessionDB(path, clock=clock)) as db:
        db.create_session("a", "cli")
        clock.advance(5)
        db.end_session("a", "cli_close")
        clock.advance(5)
        db.end_session("a", "other")
        found = row(db, "a")
        assert found["end_reason"] == "cli_close"
        assert found["ended_at"] == clock.time() - 5
        assert found["started_at"] == clock.time() - 10
        db.reopen_session("a")
        assert (row(db, "a")["ended_at"], row(db, "a")["end_reason"]) == (None, None)
        db.end_session("nobody", "x")


@pytest.mark.parametrize(
    ("reason", "promoted"),
    [(None, True), ("agent_close", True), ("ws_orphan_reap", True), ("compression", False)],
)
def test_promote_to_reset(db: SessionDB, reason: str | None, *, promoted: bool) -> None:
    db.create_session("a", "telegram")
    if reason:
        db.end_session("a", reason)
    assert db.promote_to_session_reset("a") is promoted
    assert row(db, "a")["end_reason"] == ("session_reset" if promoted else reason)
    assert not db.promote_to_session_reset("nobody")


def test_ids_by_prefix(db: SessionDB) -> None:
    for name in ("20260101_000000_aaaaaa", "20260101_000000_bbbbbb", "x_y", "xzy"):
        db.create_session(name, "cli")
    assert db.resolve_session_id("20260101_000000_aaaaaa") == "20260101_000000_aaaaaa"
    assert db.resolve_session_id("20260101_000000_a") == "20260101_000000_aaaaaa"
    assert db.resolve_session_id("20260101") is None
    assert db.resolve_session_id("x_") == "x_y"
    assert db.resolve_session_id("%") is None
    assert db.resolve_session_id("") is None


def test_empty_text_means_no_session_even_when_there_is_one(db: SessionDB) -> None:
    db.create_session("only", "cli")
    assert db.resolve_session_id("") is None


def test_odd_ids_do_no_harm(db: SessionDB) -> None:
    for name in ("a'b", "%", "ü\ud800"):
        db.create_session(name, "cli")
        db.append_message(name, "user", "x")
        assert db.session_mark(name) == SessionMark(1, 0, db.read_messages(name)[0].id)
        assert db.summary(name) is not None


# ---------------------------------------------------------------------- messages


def test_append_keeps_the_counters(db: SessionDB) -> None:
    db.create_session("a", "cli")
    first = db.append_message("a", "user", "hi")
    second = db.append_message("a", "assistant", None, tool_calls=[{"id": "1"}, {"id": "2"}])
    db.append_message("a", "tool", "out", tool_call_id="1", tool_name="t")
    db.append_message("a", "assistant", "x", tool_calls=[])
    db.append_message("a", "assistant", "x", tool_calls={"id": "3"})
    assert second == first + 1
    assert (row(db, "a")["message_count"], row(db, "a")["tool_call_count"]) == (5, 3)
    assert db.message_count("a") == db.message_count() == 5


def test_append_to_a_session_that_is_gone(db: SessionDB) -> None:
    with pytest.raises(MissingSessionError) as caught:
        db.append_message("nobody", "user", "hi")
    assert isinstance(caught.value, NotFoundError)
    assert isinstance(caught.value, sqlite3.IntegrityError)
    assert db.message_count() == 0


def test_append_refuses_unknown_fields(db: SessionDB) -> None:
    db.create_session("a", "cli")
    with pytest.raises(TypeError, match="colour"):
        db.append_message("a", "user", "x", colour="red")


def test_surrogates_are_replaced_in_every_text(db: SessionDB) -> None:
    db.create_session("a", "cli\ud800", model="\ud800", user_id="\ud800")
    bad = "x\ud800"
    db.append_message(
        "a",
        "assistant",
        bad,
        tool_name=bad,
        tool_call_id=bad,
        tool_calls=[{"id": bad}],
        reasoning=bad,
        reasoning_content=bad,
        reasoning_details=[{"text": bad}],
        finish_reason=bad,
        api_content=bad,
        platform_message_id=bad,
    )
    db.append_message("a", "user", [{"type": "text", "text": bad}])
    found = db.get_messages("a")
    texts = [v for v in found[0].values() if isinstance(v, str) and v.startswith("x")]
    assert texts == ["x�"] * 8
    assert found[0]["tool_calls"] == [{"id": "x�"}]
    assert found[1]["content"] == [{"type": "text", "text": "x�"}]


@pytest.mark.parametrize("bad", ["yesterday", None, float("nan"), object()])
def test_a_bad_time_is_now(path: Path, bad: object) -> None:
    clock = MovableClock()
    with contextlib.closing(SessionDB(path, clock=clock)) as db:
        db.create_session("a", "cli")
        db.append_message("a", "user", "x", timestamp=bad)
        assert db.get_messages("a")[0]["timestamp"] == clock.time()


def test_messages_are_ordered_by_id_not_by_time(db: SessionDB) -> None:
    db.create_session("a", "cli")
    for number, when in enumerate((300, 100, 200)):
        db.append_message("a", "user", str(number), timestamp=when)
    assert [m["content"] for m in db.get_messages("a")] == ["0", "1", "2"]
    assert [m.content for m in db.read_messages("a", limit=2)] == ["1", "2"]
    assert [m["content"] for m in db.get_messages("a", limit=1, offset=1)] == ["1"]


def test_replace_sets_the_counters(db: SessionDB) -> None:
    db.create_session("a", "cli")
    for number in range(3):
        db.append_message("a", "user", str(number), tool_calls=[1])
    db.replace_messages(
        "a", [{"role": "user", "content": "new", "message_id": "p1"}, {"role": "assistant"}]
    )
    assert [m["content"] for m in db.get_messages("a")] == ["new", None]
    assert (row(db, "a")["message_count"], row(db, "a")["tool_call_count"]) == (2, 0)
    first, second = db.get_messages("a")
    assert first["platform_message_id"] == "p1"
    assert second["timestamp"] == pytest.approx(first["timestamp"] + 1e-6, abs=5e-7)


def test_replace_only_the_active_ones(db: SessionDB) -> None:
    db.create_session("a", "cli")
    ids = [db.append_message("a", "user", str(n)) for n in range(3)]
    db.rewind_to_message("a", ids[2])
    db.replace_messages("a", [{"role": "user", "content": "new"}], active_only=True)
    assert [m["content"] for m in db.get_messages("a", include_inactive=True)] == ["2", "new"]
    assert row(db, "a")["message_count"] == 1


def test_failed_replace_changes_nothing(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", "kept")
    with pytest.raises(sqlite3.IntegrityError):
        db._execute_write(
            lambda conn: (
                conn.execute("DELETE FROM messages"),
                conn.execute("INSERT INTO messages (session_id) VALUES ('nobody')"),
            )
        )
    assert [m["content"] for m in db.get_messages("a")] == ["kept"]


def test_compaction_keeps_what_was_said_in_sight(db: SessionDB) -> None:
    db.create_session("a", "cli")
    for number in range(3):
        db.append_message("a", "user", str(number))
    assert db.archive_and_compact("a", [{"role": "user", "content": "sum"}]) == 3
    assert [m["content"] for m in db.get_messages("a")] == ["sum"]
    shown = db.read_messages("a")
    assert [m.content for m in shown] == ["0", "1", "2", "sum"]
    assert [(m.active, m.compacted) for m in shown[-2:]] == [(False, True), (True, False)]
    assert row(db, "a")["message_count"] == 1


def test_undo(db: SessionDB) -> None:
    db.create_session("a", "cli")
    ids = [db.append_message("a", role, role) for role in ("user", "assistant") * 2]
    before = db.session_mark("a")
    result = db.rewind_to_message("a", ids[2])
    assert (result["rewound_count"], result["new_head_id"]) == (2, ids[1])
    assert result["target_message"]["content"] == "user"
    assert [m.id for m in db.read_messages("a")] == ids[:2]
    assert row(db, "a")["message_count"] == 4
    assert db.session_mark("a") == SessionMark(4, 1, ids[3])
    assert db.session_mark("a") != before


def test_undo_refuses_what_is_not_the_users(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.create_session("b", "cli")
    answer = db.append_message("a", "assistant", "x")
    question = db.append_message("a", "user", "x")
    with pytest.raises(ValueError, match="not a user message"):
        db.rewind_to_message("a", answer)
    with pytest.raises(ValueError, match="not found"):
        db.rewind_to_message("b", question)
    assert row(db, "a")["rewind_count"] == 0


# ---------------------------------------------------------------------- conversation


def test_conversation_holds_only_what_says_something(db: SessionDB) -> None:
    db.create_session("a", "telegram")
    db.append_message("a", "session_meta")
    db.append_message(
        "a",
        "user",
        " hi <memory-context>secret</memory-context>",
        platform_message_id="p",
        observed=True,
        timestamp=5.0,
        api_content="sent",
    )
    db.append_message(
        "a",
        "assistant",
        "yo",
        timestamp=6.0,
        finish_reason="stop",
        reasoning_content="",
        reasoning_details=[{"a": 1}],
        tool_calls=[{"id": "1"}],
    )
    meta, user, assistant = db.get_messages_as_conversation("a")
    assert meta["role"] == "session_meta"
    assert user == {
        "role": "user",
        "content": "hi",
        "timestamp": 5.0,
        "message_id": "p",
        "observed": True,
        "api_content": "sent",
    }
    assert assistant == {
        "role": "assistant",
        "content": "yo",
        "timestamp": 6.0,
        "finish_reason": "stop",
        "reasoning_content": "",
        "reasoning_details": [{"a": 1}],
        "tool_calls": [{"id": "1"}],
    }


def test_conversation_with_ancestors_drops_the_repeated_question(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", "first")
    db.append_message("a", "assistant", "answer")
    db.append_message("a", "user", "second")
    db.end_session("a", "compression")
    db.create_session("b", "cli", parent_session_id="a")
    db.append_message("b", "user", "second")
    db.append_message("b", "assistant", "answer 2")
    told = db.get_messages_as_conversation("b", include_ancestors=True)
    assert [m["content"] for m in told] == ["first", "answer", "second", "answer 2"]
    assert len(db.get_messages_as_conversation("b")) == 2


# ---------------------------------------------------------------------- the file


def test_a_write_waits_for_another_program_and_gives_up(db: SessionDB, path: Path) -> None:
    db.create_session("a", "cli")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError) as caught:
        db.append_message("a", "user", "x")
    assert caught.value.hint
    assert db.message_count("a") == 0
    assert not db._lock.locked()
    other.execute("COMMIT")
    other.close()
    db.append_message("a", "user", "x")


def test_a_write_gets_through_when_the_other_one_ends(path: Path) -> None:
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session("a", "cli")
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.2, lambda: other.execute("COMMIT"))
        timer.start()
        db.append_message("a", "user", "x")
        timer.join()
        other.close()
        assert db.message_count("a") == 1


def test_an_error_inside_a_write_rolls_back(db: SessionDB) -> None:
    def broken(conn: sqlite3.Connection) -> None:
        conn.execute("INSERT INTO state_meta VALUES ('k', 'v')")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        db._execute_write(broken)
    assert not db._conn.in_transaction
    assert db.read(lambda c: c.execute("SELECT count(*) FROM state_meta").fetchone()[0]) == 0


def test_readers_refuse_to_write(db: SessionDB) -> None:
    with pytest.raises(Exception, match="cannot be written"):
        db.read(lambda conn: conn.execute("DELETE FROM sessions"))


def test_a_reader_left_in_a_transaction_is_freed(db: SessionDB) -> None:
    def broken(conn: sqlite3.Connection) -> None:
        conn.execute("BEGIN")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        db.read(broken)
    assert db.read(lambda conn: conn.in_transaction) is False


def test_text_that_is_no_utf8_is_still_read(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db._execute_write(
        lambda conn: conn.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) "
            "VALUES ('a', 'user', CAST(x'61ff62' AS TEXT), 1)"
        )
    )
    assert db.read_messages("a")[0].content == "a�b"
    assert db.list_summaries()[0].preview == "a�b"


def test_closed_store_says_so(db: SessionDB) -> None:
    db.close()
    db.close()
    for call in (lambda: db.get_session("a"), lambda: db.create_session("a", "cli")):
        with pytest.raises(StateUnavailableError):
            call()


def test_a_replaced_file_is_followed(db: SessionDB, path: Path, tmp_path: Path) -> None:
    db.create_session("old", "cli")
    db.append_message("old", "user", "x")
    assert db.session_mark("old") is not None
    other = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as restorer:
        restorer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with contextlib.closing(SessionDB(other)) as fresh:
        fresh.create_session("new", "cli")
    path.unlink()
    other.rename(path)
    assert db.get_session("new") is not None
    assert db.session_mark("old") is None
    db.append_message("new", "user", "hello")
    with contextlib.closing(SessionDB(path)) as again:
        assert again.message_count() == 1
        assert again.get_session("old") is None


def test_writing_to_a_vanished_file_fails_and_makes_none(db: SessionDB, path: Path) -> None:
    db.create_session("a", "cli")
    assert db.get_session("a") is not None
    path.unlink()
    with pytest.raises(StateUnavailableError):
        db.append_message("a", "user", "x")
    assert not path.exists()
    assert db.get_session("a") is not None


def test_a_full_disk_is_named_and_nothing_is_half_written(db: SessionDB) -> None:
    db.create_session("a", "cli")
    with db._lock:
        pages = db._conn.execute("PRAGMA page_count").fetchone()[0]
        db._conn.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StateError, match="disk is full") as caught:
        db.append_message("a", "user", "x" * 100_000)
    assert caught.value.hint
    assert db.message_count() == 0
    assert row(db, "a")["message_count"] == 0


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE messages_fts_data SET block = x'00'",
        "DELETE FROM messages_fts_data",
        "INSERT INTO messages_fts (rowid, content) VALUES (2, 'in the way')",
        "DELETE FROM messages_fts_config",
    ],
)
def test_a_damaged_search_index_is_named(path: Path, damage: str) -> None:
    with contextlib.closing(SessionDB(path)) as db:
        db.create_session("a", "cli")
        db.append_message("a", "user", "hello")
        db._execute_write(lambda conn: conn.execute(damage))
    with contextlib.closing(SessionDB(path)) as db:
        with pytest.raises(StateUnavailableError, match="damaged") as caught:
            db.append_message("a", "user", "hello")
        assert "repair" in caught.value.hint
        assert [m.content for m in db.read_messages("a")] == ["hello"]
        assert row(db, "a")["message_count"] == 1


def run_together(calls: list[Callable[[], object]]) -> list[BaseException]:
    errors: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_many_threads_read_and_write(db: SessionDB) -> None:
    db.create_session("a", "cli")

    def write() -> None:
        for number in range(40):
            db.append_message("a", "user", f"text {number}")

    def read() -> None:
        for _ in range(40):
            mark = db.session_mark("a")
            assert mark is not None
            assert mark.message_count <= 160
            db.list_summaries()
            db.read_messages("a")

    assert run_together([write, read] * 4) == []
    mark = db.session_mark("a")
    assert mark is not None
    assert mark.message_count == db.message_count("a") == 160


def test_two_stores_are_made_at_once(path: Path) -> None:
    stores: list[SessionDB] = []
    errors = run_together([lambda: stores.append(SessionDB(path))] * 6)
    for store in stores:
        assert store.condition.writable
        store.close()
    assert errors == []
