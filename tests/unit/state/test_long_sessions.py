"""Sessions with thousands of messages: short transactions, and nobody ever finds half of one."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.errors import BusyError, CancelledError, RefusedError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.facade.activity_index import ActivityIndex
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from hermes_desktop.state.maintenance.health import health_report
from hermes_desktop.state.records.cancellation import Progress
from hermes_desktop.state.search.search_records import SearchQuery
from hermes_desktop.state.sessions import transit_rows
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import TrashReceipt, list_trash, trash_sessions
from hermes_desktop.state.trash.trash_restore import restore_from_trash, settle_trash
from tests.fakes.clock import MovableClock
from tests.fakes.state_files import conversations

MANY = 2_500


class Watched(SessionDB):
    """Somebody looks, acts or pulls the plug around a write."""

    before: Callable[[int], object] | None = None
    writes = 0

    def _execute_write(self, fn: Callable[[sqlite3.Connection], Any]) -> Any:
        self.writes += 1
        if self.before is not None:
            self.before(self.writes)
        return super()._execute_write(fn)


class PowerCutError(BaseException):
    """The machine stops here."""


@pytest.fixture
def long(relatives: SessionDB) -> SessionDB:
    """The conversation with many messages in its root and its subagent."""
    for name, count in (("root", MANY), ("helper", MANY // 2)):
        words = [{"role": "user", "content": f"{name} says {n}"} for n in range(count)]
        words[1] |= {"role": "assistant", "tool_calls": [{"id": "1"}, {"id": "2"}]}
        relatives.replace_messages(name, words)
    for name in ("tip", "helper"):
        relatives.end_session(name, "cli_close")
    return relatives


@pytest.fixture
def db2(long: SessionDB, path: Path) -> Iterator[Watched]:
    with contextlib.closing(Watched(path)) as store:
        yield store


def trash(db: SessionDB, own: DesktopDatabase, *ids: str, **choices: Any) -> TrashReceipt:
    return trash_sessions(db, own, ids, deleted_at=1_000.0, reason="test", **choices)


def on_their_way(db: SessionDB) -> list[str]:
    return [each for each, _ in db.read(lambda conn: list(transit_rows.on_their_way(conn)))]


def listed(db: SessionDB) -> set[str]:
    """Whatever leads to a session: lists, titles, the latest of the command line."""
    index = ActivityIndex(db)
    index.rebuild()
    found = {row["id"] for row in db.list_sessions_rich(limit=99, include_archived=True)}
    found |= {row["id"] for row in db.search_sessions(source="cli", limit=99)}
    found |= {line.id for line in db.list_summaries(limit=None)}
    found |= {part for key in index.select(limit=99).keys for part in key}
    by_title = db.get_session_by_title("Trip")
    return found | ({by_title["id"]} if by_title else set())


def test_it_goes_and_comes_back_as_it_was(db2: Watched, own: DesktopDatabase) -> None:
    before = conversations(db2)
    seen: list[Progress] = []

    receipt = trash(db2, own, "tip", on_progress=seen.append)

    assert db2.writes > 5
    (item,) = receipt.items
    assert (item.root_id, item.session_count, item.message_count) == ("root", 3, 3_751)
    assert [each.total for each in seen[:-1]] == [3_751] * (len(seen) - 1)
    assert seen[-2].done == 3_751
    assert listed(db2) == {"branch", "other"}
    assert db2.message_count() == 2
    assert db2._conn.execute("PRAGMA foreign_key_check").fetchall() == []
    restored = restore_from_trash(db2, own, [item.trash_id], on_progress=seen.append)
    assert conversations(db2) == before
    assert restored[0].retitled == {}
    assert list_trash(own) == ()


def test_nobody_finds_it_on_its_way(db2: Watched, own: DesktopDatabase, long: SessionDB) -> None:
    watcher = ChangeWatcher(long.db_path)
    watcher.look()
    index = ActivityIndex(long)
    index.rebuild()
    places: list[set[str]] = []

    def look(write: int) -> None:
        if write > 1:
            places.append(listed(long))

    db2.before = look
    receipt = trash(db2, own, "root")
    index.apply(watcher.look())
    assert {key[0] for key in index.select(limit=9).keys} == {"branch", "other"}
    assert long.create_session("root2", "cli")
    restore_from_trash(db2, own, [receipt.items[0].trash_id])
    index.apply(watcher.look())
    watcher.close()
    assert places[0] == {"branch", "other"}
    assert all(each <= {"branch", "other", "root2"} for each in places)
    assert {key[0] for key in index.select(limit=9, empty=None).keys} == {
        "root",
        "branch",
        "other",
        "root2",
    }


def test_no_search_finds_it_on_its_way(db2: Watched, own: DesktopDatabase, long: SessionDB) -> None:
    found: list[int] = []

    def look(write: int) -> None:
        if write > 1:
            for archived in (None, True):
                long.search(
                    SearchQuery("says", archived=archived), on_hits=lambda h: found.append(len(h))
                )
            found.append(len(long.search_messages("says")))
            found.append(len(long.search_messages("says", sort="newest", include_inactive=True)))
            found.append(len(long.search_messages("%旅%") + long.search_messages("s*")))

    assert long.search_messages("says")
    db2.before = look
    receipt = trash(db2, own, "root")
    restore_from_trash(db2, own, [receipt.items[0].trash_id])
    assert found
    assert not any(found)
    assert long.search_messages("says")


@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("what", ["trash", "restore"])
def test_a_power_cut_between_two_steps(
    db2: Watched, own: DesktopDatabase, long: SessionDB, nth: int, what: str
) -> None:
    before = conversations(long)
    numbers = [] if what == "trash" else [trash(long, own, "root").items[0].trash_id]

    def cut(write: int) -> None:
        if write == nth:
            raise PowerCutError

    db2.before = cut
    with pytest.raises(PowerCutError):
        trash(db2, own, "root") if what == "trash" else restore_from_trash(db2, own, numbers)
    assert listed(long) & {"root", "tip"} in (set(), {"root", "tip"})
    assert settle_trash(long, own) == 1
    assert settle_trash(long, own) == 0
    assert on_their_way(long) == []
    if list_trash(own):
        assert long.get_session("root") is None
        restore_from_trash(long, own, [list_trash(own)[0].trash_id])
    assert conversations(long) == before


@pytest.mark.parametrize("nth", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("what", ["trash", "restore"])
def test_our_own_store_is_lost_between_two_steps(
    db2: Watched, own: DesktopDatabase, long: SessionDB, path: Path, nth: int, what: str
) -> None:
    numbers = [] if what == "trash" else [trash(long, own, "root").items[0].trash_id]

    def cut(write: int) -> None:
        if write == nth:
            raise PowerCutError

    db2.before = cut
    with pytest.raises(PowerCutError):
        trash(db2, own, "root") if what == "trash" else restore_from_trash(db2, own, numbers)
    hidden = on_their_way(long)
    assert {"root", "tip", "helper"} == set(hidden)
    own.close()
    for each in own.path.parent.glob("desktop.db*"):
        each.unlink()
    clock = MovableClock()
    clock.advance(365 * 86_400.0)
    with contextlib.closing(SessionDB(path, clock=clock)) as later:
        report = health_report(path, check="none", clock=clock)
        assert (report.cut_short, report.is_healthy) == (3, False)
        left = {name: later.message_count(name) for name in hidden}
        assert settle_trash(later, own) == 3
        assert settle_trash(later, own) == 0
        rows = {name: later.get_session(name) or {} for name in hidden}
        assert {name: rows[name]["message_count"] for name in hidden} == left
        assert rows["tip"]["parent_session_id"] == "root"
        assert (rows["root"]["source"], rows["root"]["end_reason"]) == ("cli", "compression")
    assert on_their_way(long) == []
    assert health_report(path, check="none", clock=clock).cut_short == 0
    assert listed(long) >= {"tip", "branch", "other"}


def stop_after(steps: int) -> tuple[threading.Event, Callable[[Progress], None]]:
    stop = threading.Event()
    left = [steps]

    def look(_: Progress) -> None:
        left[0] -= 1
        if left[0] == 0:
            stop.set()

    return stop, look


def test_a_delete_that_is_cancelled_puts_back_what_it_took(
    db2: Watched, own: DesktopDatabase
) -> None:
    before = conversations(db2)
    stop, look = stop_after(2)
    receipt = trash(db2, own, "other", "root", on_progress=look, cancel=stop)
    assert [item.root_id for item in receipt.items] == ["other"]
    assert list_trash(own) == receipt.items
    restore_from_trash(db2, own, [receipt.items[0].trash_id])
    assert conversations(db2) == before


CHANGES: dict[str, Callable[[SessionDB], object]] = {
    "append": lambda db: db.append_message("root", "user", "late"),
    "rewind": lambda db: db.rewind_to_message("helper", db.get_messages("helper")[-1]["id"]),
    "sent": lambda db: db._conn.execute("UPDATE messages SET api_content = 'x' WHERE id > 3000"),
    "reopen": lambda db: db.reopen_session("tip"),
    "usage": lambda db: db.record_auxiliary_usage("root", "vision", model="m"),
    "tokens": lambda db: db.update_token_counts("tip", 1, 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_somebody_does_on_the_way_is_not_lost(
    db2: Watched, own: DesktopDatabase, long: SessionDB, change: str
) -> None:
    """It comes back whole, and goes with what was changed."""
    seen: list[object] = []

    def act(write: int) -> None:
        if write == 4:
            CHANGES[change](long)
            seen.append(on_their_way(long))

    db2.before = act
    receipt = trash(db2, own, "root")
    assert seen == [["helper", "root", "tip"]]
    (item,) = receipt.items
    assert item.message_count == 3_751 + (change == "append")
    db2.before = None
    restore_from_trash(db2, own, [item.trash_id])
    row, tip = long.get_session("root") or {}, long.get_session("tip") or {}
    assert row["title"] == "Trip"
    assert row["message_count"] == MANY + (change == "append")
    assert (tip["ended_at"] is None) == (change == "reopen")
    contents = [row["content"] for row in long.get_messages("root")]
    wanted = [f"root says {n}" for n in range(MANY)] + ["late"] * (change == "append")
    assert contents == wanted
    assert sum(each["rewind_count"] for each in long.search_sessions()) == (change == "rewind")
    assert tip["input_tokens"] == (change == "tokens")
    assert len(conversations(long)["session_model_usage"]) == 1 + (change in {"usage", "tokens"})


def test_somebody_who_writes_all_the_time(
    db2: Watched, own: DesktopDatabase, long: SessionDB
) -> None:
    db2.before = lambda _: long.append_message("root", "user", "late")
    with pytest.raises(BusyError):
        trash(db2, own, "root")
    assert list_trash(own) == ()
    assert on_their_way(long) == []
    assert "root" in {line.root_id for line in long.list_summaries()}
    assert len(long.get_messages("root")) == long.message_count("root") > MANY


def test_a_message_between_the_last_step_and_the_end(
    db2: Watched, own: DesktopDatabase, long: SessionDB
) -> None:
    said: list[int] = []

    def act(_: int) -> None:
        if not said and long.message_count("helper") == 0:
            said.append(long.append_message("tip", "user", "late"))

    db2.before = act
    (item,) = trash(db2, own, "root").items
    assert item.message_count == 3_752


def test_the_owner_deletes_it_on_the_way(
    db2: Watched, own: DesktopDatabase, long: SessionDB
) -> None:
    before = conversations(long)

    def act(write: int) -> None:
        if write == 4:
            long.delete_sessions(["root", "tip", "helper"])

    db2.before = act
    (item,) = trash(db2, own, "root").items
    db2.before = None
    restore_from_trash(db2, own, [item.trash_id])
    assert conversations(long) == before


def test_pruned_alone(db2: Watched, own: DesktopDatabase) -> None:
    before = conversations(db2)
    receipt = trash(db2, own, "root", "helper", "tip", taking=trash_rows.ended_session)
    assert [item.session_count for item in receipt.items] == [1, 1, 1]
    for item in receipt.items:
        restore_from_trash(db2, own, [item.trash_id])
    assert conversations(db2) == before


def test_taken_ids_and_title(db2: Watched, own: DesktopDatabase, long: SessionDB) -> None:
    (item,) = trash(db2, own, "root").items
    long.create_session("root", "cli")
    long.set_session_title("root", "Trip")
    long._conn.execute("DELETE FROM sqlite_sequence")  # as a file has it that was made anew
    used = long.append_message("root", "user", "new")
    assert used <= MANY

    (restored,) = restore_from_trash(db2, own, [item.trash_id])

    new = restored.session_ids["root"]
    assert restored.retitled == {new: "Trip #2"}
    assert long.get_session_title(new) == "Trip #2"
    rows = long.get_messages(new)
    assert [row["content"] for row in rows] == [f"root says {n}" for n in range(MANY)]
    assert [row["content"] for row in long.get_messages("root")] == ["new"]
    tip = long.get_session("tip") or {}
    assert tip["parent_session_id"] == new


def refer(conn: sqlite3.Connection) -> None:
    conn.execute("CREATE TABLE notes (about TEXT REFERENCES sessions(id))")
    conn.execute("INSERT INTO notes VALUES ('root')")


def test_what_may_not_be_deleted_stays(db2: Watched, own: DesktopDatabase) -> None:
    refer(db2._conn)
    before = conversations(db2)
    with pytest.raises(RefusedError):
        trash(db2, own, "root")
    with pytest.raises(RefusedError):
        db2.delete_sessions(["root", "tip"])
    assert conversations(db2) == before
    assert list_trash(own) == ()


def test_what_is_on_its_way_is_left_alone_by_others(
    db2: Watched, own: DesktopDatabase, long: SessionDB
) -> None:
    seen: list[object] = []

    def look(write: int) -> None:
        if write == 3:
            seen.append([each.id for each in long.candidates(SessionFilter())])
            seen.append(trash(long, own, "root", "helper").missing)
            seen.append(trash(long, own, "tip", taking=trash_rows.ended_session).missing)

    db2.before = look
    (item,) = trash(db2, own, "root").items
    assert seen == [[], ("root", "helper"), ("tip",)]
    assert list_trash(own) == (item,)


# ---------------------------------------------------------------------------------------- for good


def test_deleted_for_good(db2: Watched) -> None:
    seen: list[Progress] = []
    db2.set_session_archived("root", True)
    assert db2.delete_sessions(["root", "tip"]) == 2
    assert db2.writes > 4
    assert db2.message_count() == 2
    assert {row["id"] for row in db2.search_sessions()} == {"branch", "other"}
    assert seen == []


@pytest.mark.parametrize("nth", [2, 3, 4, 5])
def test_a_deletion_for_good_that_is_cut_short_is_finished(
    db2: Watched, own: DesktopDatabase, long: SessionDB, path: Path, nth: int
) -> None:
    def cut(write: int) -> None:
        if write == nth:
            raise PowerCutError

    db2.before = cut
    with pytest.raises(PowerCutError):
        db2.delete_sessions(["root"])
    assert listed(long) == {"tip", "branch", "other"}
    assert settle_trash(long, own) == 0, "its process is still there"
    assert on_their_way(long) == ["root"]
    clock = MovableClock()
    clock.advance(365 * 86_400.0)
    with contextlib.closing(SessionDB(path, clock=clock)) as later:
        assert later.finish_what_was_cut_short() == 1
    assert on_their_way(long) == []
    assert long.get_session("root") is None
    assert long.message_count() == MANY // 2 + 3


def test_a_message_added_while_it_is_deleted_for_good_stays(db2: Watched, long: SessionDB) -> None:
    def act(write: int) -> None:
        if write == 3:
            long.append_message("root", "user", "late")

    db2.before = act
    assert not db2.delete_sessions(["root"])
    row = long.get_session("root") or {}
    assert (row["title"], row["source"], row["message_count"]) == ("Trip", "cli", 1)
    assert [row["content"] for row in long.get_messages("root")] == ["late"]


# ----------------------------------------------------------------------------------------- branches


def test_a_long_branch(db2: Watched) -> None:
    seen: list[Progress] = []
    assert db2.create_branch(Branch("root", "copy"), on_progress=seen.append) == MANY
    assert db2.writes > 3
    assert (seen[-1].done, seen[-1].total) == (MANY, MANY)
    row = db2.get_session("copy") or {}
    assert (row["title"], row["parent_session_id"], row["source"]) == ("Trip #2", "root", "cli")
    assert (row["ended_at"], row["archived"], row["tool_call_count"]) == (None, 0, 2)
    assert row["model_config"] == '{"_branched_from": "root"}'
    rows = db2.get_messages("copy")
    assert [row["content"] for row in rows] == [f"root says {n}" for n in range(MANY)]
    times = [row["timestamp"] for row in rows]
    assert times == sorted(times)
    assert "copy" in {line.id for line in db2.list_summaries()}


def test_a_branch_that_is_cut_short_is_seen_by_nobody_and_goes(
    db2: Watched, own: DesktopDatabase, long: SessionDB
) -> None:
    before = conversations(long)

    def stop(write: int) -> None:
        if write == 3:
            assert "copy" not in listed(long)
            db2.before = None
            raise PowerCutError

    db2.before = stop
    with pytest.raises(PowerCutError):
        db2.create_branch(Branch("root", "copy"))
    settle_trash(long, own)
    assert conversations(long) == before


def test_a_branch_that_is_cancelled(db2: Watched) -> None:
    before = conversations(db2)
    stop, look = stop_after(1)
    with pytest.raises(CancelledError):
        db2.create_branch(Branch("root", "copy"), on_progress=look, cancel=stop)
    assert conversations(db2) == before


def test_an_origin_that_changes_meanwhile(db2: Watched, long: SessionDB) -> None:
    target = long.get_messages("root")[2]["id"]

    def act(write: int) -> None:
        if write == 3:
            long.append_message("root", "user", "late")
            long.rewind_to_message("root", target)

    db2.before = act
    assert db2.create_branch(Branch("root", "copy")) == 2
    assert [row["content"] for row in db2.get_messages("copy")] == ["root says 0", "root says 1"]


def test_what_is_added_to_the_origin_meanwhile_is_not_copied(db2: Watched, long: SessionDB) -> None:
    db2.before = lambda _: long.append_message("root", "user", "late")
    assert db2.create_branch(Branch("root", "copy")) == MANY + 1


# ------------------------------------------------------------------------------------------ imports


@pytest.fixture
def exported(long: SessionDB) -> dict[str, Any]:
    found = (long.export_session_lineage("root") or {})["segments"][0]
    long.delete_sessions(["root", "tip"])
    return found


@pytest.mark.parametrize("keeps_ids", [True, False])
def test_a_long_import(db2: Watched, exported: dict[str, Any], keeps_ids: bool) -> None:
    if not keeps_ids:
        for message in exported["messages"]:
            del message["id"]
    places: list[set[str]] = []
    db2.before = lambda write: write > 1 and places.append(listed(db2))
    assert db2.import_sessions([exported])["imported_ids"] == ["root"]
    assert len(places) > 3
    assert not any("root" in each for each in places)
    rows = db2.get_messages("root")
    assert [row["content"] for row in rows] == [f"root says {n}" for n in range(MANY)]
    if keeps_ids:
        assert [row["id"] for row in rows] == [row["id"] for row in exported["messages"]]
    row = db2.get_session("root") or {}
    assert (row["title"], row["message_count"], row["tool_call_count"]) == ("Trip", MANY, 2)
    assert (row["source"], row["archived"]) == ("cli", 0)


def test_an_import_whose_title_is_taken_meanwhile(
    db2: Watched, long: SessionDB, exported: dict[str, Any]
) -> None:
    db2.before = lambda write: write == 3 and long.set_session_title("other", "Trip")
    done = db2.import_sessions([exported])
    assert done["retitled"] == [{"session_id": "root", "from": "Trip", "to": "Trip #2"}]
    assert long.get_session_title("root") == "Trip #2"


def test_an_import_that_is_cut_short(
    db2: Watched, long: SessionDB, exported: dict[str, Any]
) -> None:
    before = conversations(long)

    def stop(write: int) -> None:
        if write == 3:
            db2.before = None
            raise PowerCutError

    db2.before = stop
    with pytest.raises(PowerCutError):
        db2.import_sessions([exported])
    assert conversations(long) == before
    assert db2.import_sessions([exported])["imported"] == 1


# ---------------------------------------------------------------------------------- taking back


def said(db: SessionDB) -> list[str]:
    return [row["content"] for row in db.get_messages("root")]


def test_many_messages_are_taken_back_the_newest_first(db2: Watched, long: SessionDB) -> None:
    first = long.get_messages("root")[0]["id"]
    whole, lengths = said(long), []

    def look(_: int) -> None:
        there = said(long)
        assert there == whole[: len(there)]
        lengths.append(len(there))

    db2.before = look
    done = db2.rewind_to_message("root", first)
    assert (done["rewound_count"], done["new_head_id"]) == (MANY, None)
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) > 2
    assert (long.get_session("root") or {})["rewind_count"] == 1


def test_a_power_cut_while_many_are_taken_back(db2: Watched, long: SessionDB) -> None:
    first = long.get_messages("root")[0]["id"]
    whole = said(long)

    def cut(write: int) -> None:
        if write == 2:
            long.append_message("root", "user", "late")
            raise PowerCutError

    db2.before = cut
    with pytest.raises(PowerCutError):
        db2.rewind_to_message("root", first)
    left = said(long)
    assert 0 < len(left) < MANY
    assert left == [*whole[: len(left) - 1], "late"]
    long.rewind_to_message("root", first)
    assert said(long) == []


def test_what_cannot_be_taken_back_changes_nothing(db2: Watched) -> None:
    answer = db2.get_messages("root")[1]["id"]
    for wrong in (answer, 10**9):
        with pytest.raises(ValueError, match="Message"):
            db2.rewind_to_message("root", wrong)
    assert db2.writes == 0
    assert len(said(db2)) == MANY
