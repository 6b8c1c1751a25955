"""Deleting into the trash and back: everything as it was, nothing lost, nothing doubled."""

import contextlib
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_desktop.core.errors import BusyError, NotFoundError, StateUnavailableError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.stored_rows import decode_row, encode_row
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import (
    TrashDiskFullError,
    TrashTooLargeError,
    empty_trash,
    expire_trash,
    list_trash,
    trash_sessions,
)
from hermes_desktop.state.trash.trash_restore import restore_from_trash, settle_trash
from tests.fakes.state_files import conversations


def trash(db: SessionDB, own: DesktopDatabase, *ids: str, **choices) -> list[int]:
    receipt = trash_sessions(db, own, ids, deleted_at=1_000.0, reason="test", **choices)
    return [item.trash_id for item in receipt.items]


@pytest.fixture
def family(relatives: SessionDB) -> SessionDB:
    """With a subagent of the subagent."""
    mark = {"_delegate_from": "helper"}
    relatives.create_session("deep", "subagent", parent_session_id="helper", model_config=mark)
    return relatives


@pytest.mark.parametrize("named", ["root", "tip"])
def test_whole_conversation_goes_and_comes_back(
    family: SessionDB, own: DesktopDatabase, named: str
) -> None:
    before = conversations(family)
    (item,) = trash_sessions(family, own, [named], deleted_at=5.0, reason="person").items
    assert (item.root_id, item.session_count, item.message_count) == ("root", 4, 4)
    assert (item.title, item.source, item.reason, item.deleted_at) == ("Trip", "cli", "person", 5.0)
    assert {row[1] for row in conversations(family)["sessions"]} == {"branch", "other"}
    branch = family.get_session("branch")
    assert branch is not None
    assert branch["parent_session_id"] is None
    assert list_trash(own) == (item,)
    (restored,) = restore_from_trash(family, own, [item.trash_id])
    assert conversations(family) == before
    assert not restored.retitled
    assert list_trash(own) == ()


def test_a_fork_goes_with_its_conversation(family: SessionDB, own: DesktopDatabase) -> None:
    family.create_session("fork", "cli", parent_session_id="root")
    trash(family, own, "tip")
    assert family.get_session("fork") is None


def test_unknown_ids_are_told_and_one_conversation_counts_once(
    family: SessionDB, own: DesktopDatabase
) -> None:
    receipt = trash_sessions(
        family, own, ["nobody", "root", "tip", "other"], deleted_at=1.0, reason="test"
    )
    assert receipt.missing == ("nobody",)
    assert [item.root_id for item in receipt.items] == ["root", "other"]


def test_nothing_is_made_before_the_first_delete(family: SessionDB, own: DesktopDatabase) -> None:
    assert list_trash(own) == ()
    assert empty_trash(own) == 0
    assert settle_trash(family, own) == 0
    assert not own.path.parent.exists()
    trash(family, own, "other")
    assert own.path.stat().st_mode & 0o777 == 0o600
    assert own.path.parent.stat().st_mode & 0o777 == 0o700


def test_taken_session_id_makes_a_copy(family: SessionDB, own: DesktopDatabase) -> None:
    (number,) = trash(family, own, "root")
    family.create_session("tip", "telegram")
    family.append_message("tip", "user", "another one")
    (restored,) = restore_from_trash(family, own, [number])
    copy = restored.session_ids["tip"]
    assert copy != "tip"
    assert [m["content"] for m in family.get_messages(copy)] == ["go on"]
    assert [m["content"] for m in family.get_messages("tip")] == ["another one"]
    helper = family.get_session("helper")
    assert helper is not None
    assert helper["parent_session_id"] == copy
    assert copy in helper["model_config"]


def test_taken_title_gets_the_next_number(family: SessionDB, own: DesktopDatabase) -> None:
    (number,) = trash(family, own, "root")
    family.set_session_title("other", "Trip")
    (restored,) = restore_from_trash(family, own, [number])
    assert restored.retitled == {"root": "Trip #2"}
    assert family.get_session_title("root") == "Trip #2"


def test_taken_message_ids_become_new_ones_in_order(
    family: SessionDB, own: DesktopDatabase
) -> None:
    contents = [m["content"] for m in family.get_messages("root")]
    first = family.get_messages("root")[0]["id"]
    (number,) = trash(family, own, "root")
    family._conn.execute(
        "INSERT INTO messages (id, session_id, role, timestamp, active) "
        "VALUES (?, 'other', 'user', 1, 1)",
        (first,),
    )
    restore_from_trash(family, own, [number])
    rows = family.get_messages("root")
    assert [row["content"] for row in rows] == contents
    assert rows[0]["id"] > first


def test_children_that_found_another_parent_keep_it(
    family: SessionDB, own: DesktopDatabase
) -> None:
    (number,) = trash(family, own, "root")
    family._conn.execute("UPDATE sessions SET parent_session_id = 'other' WHERE id = 'branch'")
    restore_from_trash(family, own, [number])
    branch = family.get_session("branch")
    assert branch is not None
    assert branch["parent_session_id"] == "other"


def test_vanished_parent_is_left_out(family: SessionDB, own: DesktopDatabase) -> None:
    (branch,) = trash(family, own, "branch")
    trash(family, own, "root")
    empty_trash(own, older_than=0.0)
    restore_from_trash(family, own, [branch])
    row = family.get_session("branch")
    assert row is not None
    assert row["parent_session_id"] is None


@pytest.mark.parametrize("deleted", [("root", "branch"), ("branch", "root")])
@pytest.mark.parametrize("back", [(0, 1), (1, 0)])
def test_parent_and_child_find_each_other_in_any_order(
    family: SessionDB, own: DesktopDatabase, deleted: tuple[str, ...], back: tuple[int, ...]
) -> None:
    before = conversations(family)
    numbers = [trash(family, own, name)[0] for name in deleted]
    for place in back:
        restore_from_trash(family, own, [numbers[place]])
    assert conversations(family) == before


def test_unknown_columns_and_odd_values_survive(family: SessionDB, own: DesktopDatabase) -> None:
    conn = family._conn
    conn.execute("ALTER TABLE sessions ADD COLUMN pinned_note BLOB")
    conn.execute("UPDATE sessions SET pinned_note = x'00ff', cwd = CAST(x'ff41' AS TEXT)")
    conn.execute(
        "UPDATE messages SET content = x'01', token_count = 9e999 WHERE session_id = 'root'"
    )

    def stored() -> list[tuple[object, ...]]:
        rows = conn.execute(
            "SELECT id, pinned_note, typeof(cwd), hex(cwd) FROM sessions ORDER BY id"
        ).fetchall()
        more = conn.execute(
            "SELECT id, content, token_count, typeof(content) FROM messages ORDER BY id"
        ).fetchall()
        return [tuple(row) for row in (*rows, *more)]

    before = stored()
    restore_from_trash(family, own, trash(family, own, "root", "other"))
    assert stored() == before


def test_a_lot_asks_first(family: SessionDB, own: DesktopDatabase) -> None:
    before = conversations(family)
    with pytest.raises(TrashTooLargeError):
        trash(family, own, "root", most_bytes=10)
    with pytest.raises(TrashDiskFullError):
        trash(family, own, "root", force=True, free=lambda _: 1_000)
    assert conversations(family) == before
    assert trash(family, own, "root", most_bytes=10, force=True)


def test_emptying(family: SessionDB, own: DesktopDatabase) -> None:
    trash(family, own, "other")
    assert empty_trash(own, older_than=1_000.0) == 0
    day = 86_400.0
    assert expire_trash(own, now=1_000.0 + 29 * day) == 0
    assert expire_trash(own, now=1_000.0 + 31 * day) == 1
    assert b"mine" not in own.path.read_bytes()
    with pytest.raises(NotFoundError):
        restore_from_trash(family, own, [1])


def test_a_message_that_comes_in_between_is_not_lost(
    family: SessionDB, own: DesktopDatabase, path: Path
) -> None:
    """Another program writes after the copy was made and before the originals go."""
    other = SessionDB(path)
    wrote: list[int] = []

    class Between(SessionDB):
        def _execute_write(self, fn):
            if len(wrote) < 2:
                wrote.append(other.append_message("other", "user", f"late {len(wrote)}"))
            return super()._execute_write(fn)

    with contextlib.closing(Between(path)) as db:
        (number,) = trash(db, own, "other")
    other.close()
    restore_from_trash(family, own, [number])
    assert [m["content"] for m in family.get_messages("other")] == ["mine", "late 0", "late 1"]


def test_a_conversation_that_never_rests_is_refused(
    family: SessionDB, own: DesktopDatabase, path: Path
) -> None:
    other = SessionDB(path)

    class Between(SessionDB):
        def _execute_write(self, fn):
            other.append_message("other", "user", "again")
            return super()._execute_write(fn)

    with contextlib.closing(Between(path)) as db, pytest.raises(BusyError):
        trash(db, own, "other")
    other.close()
    assert list_trash(own) == ()
    assert family.get_session("other") is not None


class PowerCutError(Exception):
    """The machine stops here."""


def write_once_then_fail(own: DesktopDatabase, after: int) -> DesktopDatabase:
    """The same store, which fails after so many writes as if the process had ended."""

    class Failing(DesktopDatabase):
        left = after

        def write(self, fn):
            if self.left == 0:
                raise PowerCutError
            self.left -= 1
            return super().write(fn)

    return Failing(own.path)


@pytest.mark.parametrize("writes", [0, 1])
def test_a_delete_that_stopped_half_way(
    family: SessionDB, own: DesktopDatabase, writes: int
) -> None:
    before = conversations(family)
    failing = write_once_then_fail(own, writes)
    with pytest.raises(PowerCutError):
        trash(family, failing, "root")
    failing.close()
    settle_trash(family, own)
    if writes:  # it was copied and deleted
        (item,) = list_trash(own)
        restore_from_trash(family, own, [item.trash_id])
    assert list_trash(own) == ()
    assert conversations(family) == before


def test_a_copy_without_its_delete_is_dropped(family: SessionDB, own: DesktopDatabase) -> None:
    before = conversations(family)

    class Stops(SessionDB):
        def _execute_write(self, fn):
            raise PowerCutError

    with contextlib.closing(Stops(family.db_path)) as db, pytest.raises(PowerCutError):
        trash(db, own, "root")
    assert list_trash(own) == ()
    assert settle_trash(family, own) == 1
    assert settle_trash(family, own) == 0
    assert conversations(family) == before


@pytest.mark.parametrize("writes", [0, 1])
def test_a_restore_that_stopped_half_way(
    family: SessionDB, own: DesktopDatabase, writes: int
) -> None:
    before = conversations(family)
    (number,) = trash(family, own, "root")
    failing = write_once_then_fail(own, writes)
    with pytest.raises(PowerCutError):
        restore_from_trash(family, failing, [number])
    failing.close()
    settle_trash(family, own)
    for item in list_trash(own):
        restore_from_trash(family, own, [item.trash_id])
    assert list_trash(own) == ()
    assert conversations(family) == before


def test_a_store_of_a_later_version_is_left_alone(own: DesktopDatabase, family: SessionDB) -> None:
    trash(family, own, "other")
    own.close()
    conn = sqlite3.connect(own.path)
    conn.execute("PRAGMA user_version = 9")
    conn.close()
    with pytest.raises(StateUnavailableError) as caught:
        list_trash(own)
    assert "newer version" in caught.value.title


def test_own_store_locked(own: DesktopDatabase, family: SessionDB) -> None:
    trash(family, own, "other")
    conn = sqlite3.connect(own.path, isolation_level=None)
    conn.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError) as caught:
        trash(family, own, "root")
    conn.close()
    assert caught.value.title == "The program's own store is busy."
    assert family.get_session("root") is not None


VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.binary(),
    st.text(st.characters(exclude_categories=["Cs"])),
)  # fmt: skip


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), VALUES))
def test_rows_round_trip(row: dict[str, object]) -> None:
    assert decode_row(encode_row(row)) == row


TEXTS = st.one_of(st.none(), st.text(max_size=20), st.lists(st.dictionaries(st.text(), st.text())))
SESSIONS = st.lists(
    st.tuples(
        st.sampled_from(["root", "branch", "subagent", "compression", "child"]),
        st.integers(0, 5),
        st.lists(
            st.tuples(st.sampled_from(["user", "assistant", "tool", "odd"]), TEXTS), max_size=4
        ),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(made=SESSIONS, chosen=st.lists(st.integers(0, 7), min_size=1, max_size=4), data=st.data())
def test_restoring_what_was_deleted_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, made: list, chosen: list[int], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("home")
    with (
        contextlib.closing(SessionDB(folder / "state.db")) as db,
        contextlib.closing(DesktopDatabase(folder / "desktop" / "desktop.db")) as own,
    ):
        build(db, made)
        before = conversations(db)
        ids = [f"s{number % len(made)}" for number in chosen]
        numbers = trash(db, own, *ids)
        assert all(db.get_session(name) is None for name in ids)
        assert db._conn.execute("PRAGMA foreign_key_check").fetchall() == []
        restore_from_trash(db, own, data.draw(st.permutations(numbers)))
        assert conversations(db) == before


def build(db: SessionDB, made: list) -> None:
    marks = {"branch": "_branched_from", "subagent": "_delegate_from"}
    for number, (kind, above, messages, titled) in enumerate(made):
        name, parent = f"s{number}", f"s{above % number}" if number else None
        if kind == "root":
            parent = None
        mark = {marks[kind]: parent} if parent and kind in marks else None
        if parent and kind == "compression":
            db.end_session(parent, "compression")
        db.create_session(name, "cli", parent_session_id=parent, model_config=mark)
        for role, content in messages:
            db.append_message(name, role, content)
        if titled:
            db.set_session_title(name, f"Title {number}")
