"""Values that other programs stored in our columns: no operation stops at them."""

from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.database import chunked_writes
from hermes_desktop.state.records.records import SessionMark
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import trash_sessions
from hermes_desktop.state.trash.trash_insertion import _remarked
from hermes_desktop.state.trash.trash_restore import restore_from_trash
from tests.fakes.state_files import conversations

LARGEST = 2**63 - 1
DEEP = "[" * 20_000


def change(db: SessionDB, sql: str, *values: Any) -> None:
    db._execute_write(lambda conn: conn.execute(sql, values))


@pytest.mark.parametrize("value", [LARGEST, -(2**63), 9e999, "abc", b"\xff"])
@pytest.mark.parametrize("column", ["active", "compacted"])
def test_a_session_with_odd_flags_is_deleted_and_comes_back(
    relatives: SessionDB, own: DesktopDatabase, column: str, value: Any
) -> None:
    relatives.append_message("other", "assistant", "yours")
    change(relatives, f"UPDATE messages SET {column} = ? WHERE session_id = 'other'", value)
    before = conversations(relatives)

    receipt = trash_sessions(relatives, own, ["other"], deleted_at=1.0, reason="test")
    assert relatives.get_session("other") is None
    restore_from_trash(relatives, own, [item.trash_id for item in receipt.items])

    assert conversations(relatives) == before


def test_messages_with_the_greatest_ids_are_branched(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunked_writes, "MOST_ROWS", 1)
    db.create_session("origin", "cli")
    for number in range(2):
        db.append_message("origin", "user", str(number))
    change(db, "UPDATE messages SET id = id + ?", 2**62)
    db.create_branch(Branch("origin", "copy", source="cli"))

    assert [row["content"] for row in db.get_messages("copy")] == ["0", "1"]


@pytest.mark.parametrize("value", ["abc", b"\xff", 1.5])
def test_odd_counters_count_as_none(db: SessionDB, value: Any) -> None:
    db.create_session("odd", "cli")
    db.end_session("odd", "done")
    change(db, "UPDATE sessions SET message_count = ?, rewind_count = ?", value, value)

    assert db.session_mark("odd") == SessionMark(0, 0, 0)
    (found,) = db.read(SessionFilter(source="cli").select)
    assert found.message_count == 0


@pytest.mark.parametrize("config", [DEEP, '{"_branched_from": ["a"]}', '{"_branched_from": {}}'])
def test_settings_that_cannot_be_understood_come_back_as_they_were(config: str) -> None:
    assert _remarked(config, {"a": "b"}) == config
