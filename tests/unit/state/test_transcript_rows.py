import contextlib
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionMark


def fill(db: SessionDB, count: int) -> list[int]:
    """Two sessions that talk by turns; returns the ids of the first one's messages."""
    for name in "ab":
        db.create_session(name, "cli")
    ids = []
    for number in range(count):
        ids.append(db.append_message("a", "user", str(number), timestamp=1000 - number))
        db.append_message("b", "user", "other")
    return ids


def test_pages(db: SessionDB) -> None:
    ids = fill(db, 10)

    def page(**edges: int) -> list[int]:
        return [m.id for m in db.read_messages("a", limit=3, **edges)]

    assert page() == ids[7:]
    assert page(before_id=ids[7]) == ids[4:7]
    assert page(before_id=ids[1]) == ids[:1]
    assert page(before_id=ids[0]) == []
    assert page(after_id=0) == ids[:3]
    assert page(after_id=ids[7]) == ids[8:]
    assert page(after_id=ids[9]) == []
    assert page(after_id=ids[2], before_id=ids[8]) == ids[5:8]
    assert db.read_messages("nobody") == []


def test_hidden_rows_do_not_shorten_a_page(db: SessionDB) -> None:
    ids = fill(db, 40)
    for _ in range(20):
        db.append_message("a", "session_meta")
    taken = db.append_message("a", "user", "taken back")
    for _ in range(200):
        db.append_message("a", "assistant", "too")
    db.rewind_to_message("a", taken)
    assert [m.id for m in db.read_messages("a", limit=5)] == ids[-5:]
    assert [m.id for m in db.read_messages("a", limit=50, after_id=0)] == ids


def test_what_outlived_a_summary_is_shown_once(db: SessionDB) -> None:
    db.create_session("a", "cli")
    for number, role in enumerate(("user", "assistant", "user", "assistant")):
        db.append_message("a", role, f"text {number}", timestamp=100.0 + number)
    for told in ("summary", "second summary"):
        first, *_, last = db.get_messages("a")
        db.archive_and_compact("a", [first, {"role": "user", "content": told}, last])
    db.append_message("a", "user", "text 3", timestamp=103.5)

    shown = [each.content for each in db.read_messages("a", limit=50)]
    assert shown == [*(f"text {n}" for n in range(4)), "summary", "second summary", "text 3"]
    assert [each.content for each in db.read_messages("a", limit=2)] == shown[-2:]


def test_messages_by_ids(db: SessionDB) -> None:
    ids = fill(db, 600)
    found = db.messages_by_ids([*reversed(ids), ids[0], 10**9])
    assert [m.id for m in found] == ids
    assert db.messages_by_ids([]) == []


def test_a_message_is_decoded(db: SessionDB) -> None:
    db.create_session("a", "cli")
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]
    db.append_message("a", "user", parts, observed=True)
    calls = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]
    db.append_message(
        "a", "assistant", None, tool_calls=calls, reasoning_content="hm", token_count=5
    )
    db.append_message("a", "tool", "out", tool_call_id="1", tool_name="f", finish_reason="stop")
    user, assistant, tool = db.read_messages("a")
    assert (user.content, user.parts, user.observed) == ("look", parts, True)
    assert (assistant.content, assistant.parts) == ("", None)
    assert assistant.tool_calls == tuple(calls)
    assert (assistant.reasoning, assistant.token_count) == ("hm", 5)
    assert (tool.tool_call_id, tool.tool_name, tool.finish_reason) == ("1", "f", "stop")


@pytest.mark.parametrize(
    ("stored", "calls"),
    [("{broken", ()), ("5", ()), ('{"id": 1}', ({"id": 1},)), ("[5]", ({"value": 5},))],
)
def test_odd_calls_are_tolerated(db: SessionDB, stored: str, calls: object) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "assistant", "x", tool_calls=stored)
    assert db.read_messages("a")[0].tool_calls == calls


def test_unknown_roles_are_shown(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "narrator", "once")
    assert [m.role for m in db.read_messages("a")] == ["narrator"]


def test_pages_of_a_session_come_from_its_index(db: SessionDB) -> None:
    """Else a page of a quiet session would walk through the rows of all others."""
    fill(db, 3)
    for edge in ("", "AND +id < 9", "AND +id > 9"):
        sql = f"SELECT id FROM messages WHERE session_id = 'a' {edge} ORDER BY +id DESC LIMIT 3"
        plan = db.read(lambda conn, q=sql: conn.execute(f"EXPLAIN QUERY PLAN {q}").fetchall())
        assert "COVERING INDEX idx_messages_session" in plan[0]["detail"]


# ---------------------------------------------------------------------- marks

STEPS = st.lists(
    st.sampled_from(["append a", "append b", "replace a", "rewind a", "clear a", "delete last"]),
    max_size=12,
)


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(STEPS)
def test_a_mark_is_what_a_full_look_finds(tmp_path: Path, steps: list[str]) -> None:
    path = tmp_path / "state.db"
    path.unlink(missing_ok=True)
    with contextlib.closing(SessionDB(path)) as db:
        fill(db, 2)
        for step in steps:
            act(db, step)
            mark = db.session_mark("a")
            assert mark == full_mark(db)


def act(db: SessionDB, step: str) -> None:
    verb, target = step.split()
    if verb == "append":
        db.append_message(target, "user", "x")
    elif verb == "replace":
        db.replace_messages(target, [{"role": "user", "content": "y"}])
    elif verb == "rewind":
        users = db.get_messages(target)
        if users:
            db.rewind_to_message(target, users[-1]["id"])
    elif verb == "clear":
        db.replace_messages(target, [])
    else:
        db._execute_write(
            lambda conn: conn.execute(
                "DELETE FROM messages WHERE id = (SELECT max(id) FROM messages)"
            )
        )


def full_mark(db: SessionDB) -> SessionMark:
    def look(conn: sqlite3.Connection) -> SessionMark:
        row = conn.execute(
            "SELECT message_count, rewind_count, coalesce((SELECT max(id) FROM messages "
            "WHERE session_id = 'a'), 0) FROM sessions WHERE id = 'a'"
        ).fetchone()
        return SessionMark(*row)

    return db.read(look)


def test_thinking_that_was_stored_in_a_reply_is_shown_as_thinking(db: SessionDB) -> None:
    db.create_session("a", "cli")
    stored = "hm\n</think>\n\nHello"
    db.append_message("a", "user", stored)
    db.append_message("a", "assistant", stored)
    db.append_message("a", "assistant", stored, reasoning="its own")
    shown = [(each.content, each.reasoning) for each in db.read_messages("a")]
    assert shown == [(stored, None), ("Hello", "hm"), ("Hello", "its own")]
    told = [each["content"] for each in db.get_messages_as_conversation("a")]
    assert told == [stored, "Hello", "Hello"]
    assert [row["content"] for row in db.get_messages("a")] == [stored] * 3
