"""Export and import: shapes, limits, what is taken over, round trips."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(tmp_path / "empty.db")) as store:
        yield store


def fill(db: SessionDB) -> None:
    db.create_session(
        "a",
        "telegram",
        model="m",
        model_config={"k": [1]},
        user_id="u",
        chat_id="c",
        cwd="/w",
        session_key="key",
        system_prompt="p",
    )
    db.append_message("a", "user", "one \ud800 ✓", platform_message_id="7", observed=True)
    calls = [{"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]
    db.append_message(
        "a",
        "assistant",
        None,
        tool_calls=calls,
        reasoning="r",
        reasoning_details=[{"x": 1}],
        finish_reason="tool_calls",
        token_count=5,
    )
    db.append_message("a", "tool", '{"o": 1}', tool_call_id="1", tool_name="t")
    db.append_message("a", "user", [{"type": "text", "text": "parts"}], api_content="sent")
    db.set_session_title("a", "Trip")
    db.end_session("a", "compression")
    db.update_token_counts("a", 5, 6, model="m", billing_provider="p", api_call_count=1)
    db.create_session("b", "telegram", parent_session_id="a")
    db.append_message("b", "user", "two")
    db.set_session_title("b", "Trip #2")
    db.create_session("empty", "cli")
    db.set_session_archived("empty", True)


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def exported(db: SessionDB, name: str) -> dict[str, Any]:
    """One session of an exported conversation."""
    whole = db.export_session_lineage(name) or {"segments": []}
    return next(each for each in whole["segments"] if each["id"] == name)


def test_shapes(db: SessionDB) -> None:
    fill(db)
    one = exported(db, "a")
    row = db.get_session("a") or {}
    assert list(one) == [*row, "messages"]
    assert one["messages"] == db.get_messages("a")
    every = db.export_all()
    assert [each["id"] for each in every] == [row["id"] for row in db.search_sessions()]
    last_active = {each["id"]: each["last_active"] for each in every}
    assert last_active["b"] == db.get_messages("b")[-1]["timestamp"]
    assert [each["id"] for each in db.export_all("cli")] == ["empty"]
    line = db.export_session_lineage("a")
    assert line is not None
    assert line["id"] == "b"
    assert line["lineage_session_ids"] == ["a", "b"]
    assert [each["id"] for each in line["segments"]] == ["a", "b"]
    assert line["message_count"] == len(line["messages"]) == 5
    assert db.export_session_lineage("nobody") is None
    assert as_json(every) == every


def test_what_was_taken_back_is_not_exported(db: SessionDB) -> None:
    fill(db)
    db.rewind_to_message("b", db.append_message("b", "user", "x"))
    db._execute_write(
        lambda conn: conn.execute("UPDATE messages SET content = x'61ff' WHERE session_id = 'b'")
    )
    one = exported(db, "b")
    assert [message["content"] for message in one["messages"]] == ["a�"]


_LOST = ("session_key", "chat_id")


def test_export_import_export(db: SessionDB, empty: SessionDB) -> None:
    fill(db)
    first = as_json(db.export_all())
    result = empty.import_sessions(first)
    assert result == {
        "ok": True,
        "imported": 3,
        "skipped": 0,
        "detached": 0,
        "imported_ids": [session["id"] for session in first],
        "skipped_ids": [],
        "errors": [],
        "retitled": [],
    }
    second = as_json(empty.export_all())
    for session in first:
        session.update(dict.fromkeys(_LOST))
    assert second == first
    again = empty.import_sessions(first)
    assert (again["imported"], again["skipped"]) == (0, 3)
    assert as_json(empty.export_all()) == first


def test_a_conversation_comes_back_as_its_segments(db: SessionDB, empty: SessionDB) -> None:
    fill(db)
    assert empty.import_sessions([db.export_session_lineage("b")])["imported_ids"] == ["a", "b"]
    assert empty.get_compression_lineage("b") == ["a", "b"]
    assert empty.message_count() == 5
    assert empty.get_session_title("b") == "Trip #2"


def test_taken_titles_get_the_next_number(db: SessionDB, empty: SessionDB) -> None:
    empty.create_session("other", "cli")
    empty.set_session_title("other", "Trip")
    fill(db)
    result = empty.import_sessions(db.export_all())
    assert result["retitled"] == [
        {"session_id": "a", "from": "Trip", "to": "Trip #2"},
        {"session_id": "b", "from": "Trip #2", "to": "Trip #3"},
    ]
    long = [{"id": "l", "title": " x " + "y" * 200}, {"id": "m", "title": "  "}]
    assert empty.import_sessions(long)["retitled"] == [
        {"session_id": "l", "from": long[0]["title"], "to": "x " + "y" * 98}
    ]
    assert empty.get_session_title("m") is None


def test_row_ids_are_kept_only_where_they_are_free(db: SessionDB, empty: SessionDB) -> None:
    empty.create_session("x", "cli")
    taken = empty.append_message("x", "user", "x")
    messages = [{"id": taken + n, "role": "user", "content": str(n)} for n in range(3)]
    high = {"id": 2**62, "role": "user", "content": "high"}
    empty.import_sessions(
        [
            {"id": "clash", "messages": messages},
            {"id": "free", "messages": [{**m, "id": 100 + n} for n, m in enumerate(messages)]},
            {"id": "back", "messages": [{**m, "id": 210 - n} for n, m in enumerate(messages)]},
            {"id": "high", "messages": [high]},
        ]
    )
    ids = {name: [m["id"] for m in empty.get_messages(name)] for name in ("free", "back", "high")}
    assert ids["free"] == [100, 101, 102]
    assert ids["back"] == sorted(ids["back"])
    assert ids["high"][0] < 1000
    for name in ("clash", "back"):
        assert [m["content"] for m in empty.get_messages(name)] == ["0", "1", "2"]
    assert empty.message_count() == 11


def test_parents(empty: SessionDB) -> None:
    empty.create_session("here", "cli")
    result = empty.import_sessions(
        [
            {"id": "child", "parent_session_id": "later"},
            {"id": "later", "parent_session_id": "here"},
            {"id": "lost", "parent_session_id": "nobody"},
            {"id": "p", "parent_session_id": "q"},
            {"id": "q", "parent_session_id": "p"},
            {"id": "self", "parent_session_id": "self"},
        ]
    )
    assert (result["imported"], result["detached"]) == (6, 3)
    assert result["imported_ids"] == ["child", "later", "lost", "p", "q", "self"]
    parents = {
        name: (empty.get_session(name) or {})["parent_session_id"] for name in ("child", "p")
    }
    assert parents == {"child": "later", "p": "q"}


def test_odd_values(empty: SessionDB) -> None:
    session = {
        "id": "odd",
        "source": "cli",
        "started_at": "yesterday",
        "ended_at": 5,
        "model_config": {"a": 1},
        "input_tokens": "many",
        "estimated_cost_usd": float("nan"),
        "message_count": 99,
        "rewind_count": 4,
        "handoff_state": "pending",
        "colour": "red",
        "messages": [
            {"role": "user", "content": {"a": 1}, "active": 0, "timestamp": "bad", "colour": 1},
            {"role": "assistant", "tool_calls": [{"id": 1}], "active": 0},
        ],
    }
    assert empty.import_sessions([session])["ok"]
    row = empty.get_session("odd") or {}
    wanted = {"source": "cli", "ended_at": 5.0, "model_config": '{"a": 1}'}
    wanted |= {"input_tokens": 0, "estimated_cost_usd": None, "message_count": 2}
    wanted |= {"tool_call_count": 1, "rewind_count": 0, "handoff_state": None}
    assert {name: row[name] for name in wanted} == wanted
    assert row["started_at"] > 1e9
    assert [m["content"] for m in empty.get_messages("odd")] == [{"a": 1}, None]


def message(**more: Any) -> dict[str, Any]:
    return {"role": "user", "content": "x", **more}


_BIG = message(content="x" * 4_900_000)


@pytest.mark.parametrize(
    ("sessions", "index", "words"),
    [
        ([5], 0, "object"),
        ([{}], 0, "id is required"),
        ([{"id": ""}], 0, "id is required"),
        ([{"id": 5}], 0, "id is required"),
        ([{"id": "../x"}], 0, "path"),
        ([{"id": "a"}, {"id": "a"}], 1, "duplicate"),
        ([{"id": "a", "source": 5}], 0, "source"),
        ([{"id": "a", "title": 5}], 0, "title"),
        ([{"id": "a", "parent_session_id": 5}], 0, "parent"),
        ([{"id": "a", "user_id": 5}], 0, "user_id must be a string"),
        ([{"id": "a", "user_id": True}], 0, "user_id must be a string"),
        ([{"id": "a"}, {"id": "b", "user_id": ["u"]}], 1, "user_id must be a string"),
        ([{"id": "a", "model": 5}], 0, "model must be a string"),
        ([{"id": "a", "system_prompt": {}}], 0, "system_prompt must be a string"),
        ([{"id": "a", "cwd": 5}], 0, "cwd must be a string"),
        ([{"id": "a", "git_branch": 5}], 0, "git_branch must be a string"),
        ([{"id": "a", "end_reason": 5}], 0, "end_reason must be a string"),
        ([{"id": "a", "billing_mode": 5}], 0, "billing_mode must be a string"),
        ([{"id": "a", "model_config": "garbage"}], 0, "model_config"),
        ([{"id": "a", "model_config": "[1]"}], 0, "model_config"),
        ([{"id": "a", "messages": 5}], 0, "list"),
        ([{"id": "a", "messages": [5]}], 0, "objects"),
        ([{"id": "a", "messages": [message(), message(role=5)]}], 0, r"messages\[1\].role"),
        ([{"id": "a", "messages": [message(role="")]}], 0, "role"),
        ([{"id": "a", "messages": [message()] * 10_001}], 0, "10000 messages"),
        ([{"id": "a", "messages": [message(content="x" * 5_300_000)]}], 0, "5 MiB"),
        ([{"id": str(n), "messages": [message()] * 9_000} for n in range(6)], 0, "50000"),
        (
            [{"id": str(n), "messages": [message(content="x" * 4_900_000)]} for n in range(6)],
            0,
            "25",
        ),
    ],
)
def test_what_is_wrong_is_said_and_nothing_imported(
    empty: SessionDB, sessions: list[Any], index: int, words: str
) -> None:
    result = empty.import_sessions([*sessions])
    assert {name: result[name] for name in ("ok", "imported", "skipped", "detached")} == {
        "ok": False,
        "imported": 0,
        "skipped": 0,
        "detached": 0,
    }
    (error,) = result["errors"]
    assert error["index"] == index
    with contextlib.suppress(KeyError, TypeError):
        assert error["session_id"] == sessions[index]["id"]
    assert re.search(words, error["error"])
    assert empty.session_count() == 0


def test_no_list_and_too_long_a_list(empty: SessionDB) -> None:
    with pytest.raises(ValueError, match="list"):
        empty.import_sessions({"id": "a"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="500"):
        empty.import_sessions([{"id": str(n)} for n in range(501)])
    assert empty.import_sessions([])["ok"]


def test_many_sessions_come_in_portions(empty: SessionDB) -> None:
    sessions = [{"id": f"s{n}", "messages": [message()] * 100} for n in range(120)]
    assert empty.import_sessions(sessions)["imported"] == 120
    assert empty.message_count() == 12_000
