"""Pruning into the trash: each session by itself, and everything as it was after a restore."""

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations import trash_rows
from hermes_desktop.state.records.cancellation import Progress
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.trash.trash import (
    TrashDiskFullError,
    TrashReceipt,
    TrashTooLargeError,
    list_trash,
    trash_sessions,
)
from hermes_desktop.state.trash.trash_restore import restore_from_trash, settle_trash
from tests.fakes.state_files import conversations

T = TypeVar("T")
ALL = ("root", "tip", "helper", "branch")


@pytest.fixture
def family(relatives: SessionDB) -> SessionDB:
    """All ended but the stranger."""
    for name in ("tip", "helper", "branch"):
        relatives.end_session(name, "user_exit")
    return relatives


def prune(db: SessionDB, own: DesktopDatabase, *ids: str, **choices) -> TrashReceipt:
    return trash_sessions(
        db,
        own,
        ids,
        deleted_at=1_000.0,
        reason="pruned",
        taking=trash_rows.ended_session,
        **choices,
    )


def restore(db: SessionDB, own: DesktopDatabase, receipt: TrashReceipt) -> None:
    restore_from_trash(db, own, [item.trash_id for item in receipt.items])


def parents(db: SessionDB) -> dict[str, str | None]:
    return {row["id"]: row["parent_session_id"] for row in db.search_sessions()}


def test_one_session_goes_and_its_conversation_stays(
    family: SessionDB, own: DesktopDatabase
) -> None:
    before = conversations(family)

    receipt = prune(family, own, "tip")

    (item,) = receipt.items
    assert (item.root_id, item.session_count, item.message_count) == ("tip", 1, 1)
    assert parents(family) == {"root": None, "helper": None, "branch": None, "other": None}
    restore(family, own, receipt)
    assert conversations(family) == before
    assert list_trash(own) == ()


def test_it_is_listed_under_its_own_title(family: SessionDB, own: DesktopDatabase) -> None:
    family.set_session_title("tip", "Trip, later")
    (item,) = prune(family, own, "root").items
    assert item.title == "Trip"


@pytest.mark.parametrize("order", [ALL, ALL[::-1], ("tip", "branch", "root", "helper")])
@pytest.mark.parametrize("back", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_a_whole_family_comes_back_in_any_order(
    family: SessionDB, own: DesktopDatabase, order: tuple[str, ...], back: tuple[int, ...]
) -> None:
    before = conversations(family)
    items = prune(family, own, *order).items
    assert set(parents(family)) == {"other"}

    for place in back:
        restore_from_trash(family, own, [items[place].trash_id])

    assert conversations(family) == before


def test_children_that_found_another_parent_keep_it(
    family: SessionDB, own: DesktopDatabase
) -> None:
    receipt = prune(family, own, "tip")
    family._conn.execute("UPDATE sessions SET parent_session_id = 'other' WHERE id = 'branch'")

    restore(family, own, receipt)

    found = parents(family)
    assert (found["helper"], found["branch"], found["tip"]) == ("tip", "other", "root")


def test_what_is_deleted_for_good_leaves_the_same(
    family: SessionDB, own: DesktopDatabase, tmp_path: Path
) -> None:
    twin = tmp_path / "twin.db"
    family._conn.execute("VACUUM INTO ?", (str(twin),))
    prune(family, own, "root", "tip", "helper", "branch")

    with contextlib.closing(SessionDB(twin)) as other:
        assert other.prune(SessionFilter(idle_before=time.time() + 86_400)) == 4
        assert conversations(other) == conversations(family)


def test_an_open_session_stays(family: SessionDB, own: DesktopDatabase) -> None:
    before = conversations(family)
    receipt = prune(family, own, "other", "nobody")
    assert receipt == TrashReceipt((), ("other", "nobody"))
    assert conversations(family) == before


class Between(SessionDB):
    """Somebody else does something before the next write."""

    act: Callable[[], object] | None = None

    def _execute_write(self, fn):
        act, self.act = self.act, None
        if act is not None:
            act()
        return super()._execute_write(fn)


def test_a_session_opened_again_after_its_copy_stays(
    family: SessionDB, own: DesktopDatabase, path: Path
) -> None:
    with contextlib.closing(Between(path)) as db:
        db.act = lambda: family.reopen_session("tip")
        receipt = prune(db, own, "tip", "branch")

    assert [item.root_id for item in receipt.items] == ["branch"]
    assert list_trash(own) == receipt.items
    tip = family.get_session("tip")
    assert tip is not None
    assert tip["ended_at"] is None
    assert [row["content"] for row in family.get_messages("tip")] == ["go on"]


def test_a_session_opened_again_after_the_look_stays(
    family: SessionDB, own: DesktopDatabase, path: Path
) -> None:
    with contextlib.closing(SessionDB(path)) as other:
        receipt = prune(
            family,
            own,
            "root",
            "tip",
            together=1,
            on_progress=lambda _: other.reopen_session("tip"),
        )
    assert [item.root_id for item in receipt.items] == ["root"]
    assert family.get_session("tip") is not None


def test_a_message_that_comes_in_between_is_kept(
    family: SessionDB, own: DesktopDatabase, path: Path
) -> None:
    with contextlib.closing(Between(path)) as db:
        db.act = lambda: family.append_message("tip", "user", "late")
        receipt = prune(db, own, "tip")
    restore(family, own, receipt)
    assert [row["content"] for row in family.get_messages("tip")] == ["go on", "late"]


class PowerCutError(Exception):
    """The machine stops here."""


def power_cut() -> None:
    raise PowerCutError


def test_a_copy_without_its_delete_is_dropped(
    family: SessionDB, own: DesktopDatabase, path: Path
) -> None:
    before = conversations(family)

    with contextlib.closing(Between(path)) as db:
        db.act = power_cut
        with pytest.raises(PowerCutError):
            prune(db, own, "tip")

    assert list_trash(own) == ()
    assert settle_trash(family, own) == 1
    assert settle_trash(family, own) == 0
    assert list_trash(own) == ()
    assert conversations(family) == before


def test_a_delete_that_was_not_noted_is_restorable(family: SessionDB, own: DesktopDatabase) -> None:
    before = conversations(family)

    class Failing(DesktopDatabase):
        left = 1

        def write(self, fn: Callable[..., T]) -> T:
            if self.left == 0:
                power_cut()
            self.left -= 1
            return super().write(fn)

    with contextlib.closing(Failing(own.path)) as failing, pytest.raises(PowerCutError):
        prune(family, failing, "tip", "branch", together=1)
    assert family.get_session("tip") is None
    assert family.get_session("branch") is not None

    settle_trash(family, own)

    (item,) = list_trash(own)
    restore_from_trash(family, own, [item.trash_id])
    assert conversations(family) == before


def test_a_lot_asks_first(family: SessionDB, own: DesktopDatabase) -> None:
    before = conversations(family)
    with pytest.raises(TrashTooLargeError):
        prune(family, own, *ALL, most_bytes=10)
    with pytest.raises(TrashDiskFullError):
        prune(family, own, *ALL, free=lambda _: 1_000)
    assert conversations(family) == before
    assert list_trash(own) == ()
    assert len(prune(family, own, *ALL, most_bytes=10, force=True).items) == len(ALL)


def test_progress_and_a_stop_between_two_sessions(family: SessionDB, own: DesktopDatabase) -> None:
    stop = threading.Event()
    seen: list[Progress] = []

    def look(progress: Progress) -> None:
        seen.append(progress)
        if progress.done == 2:
            stop.set()

    receipt = prune(family, own, *ALL, together=1, on_progress=look, cancel=stop)

    assert [(each.done, each.total) for each in seen] == [(1, 4), (2, 4)]
    assert [item.root_id for item in receipt.items] == ["root", "tip"]
    assert list_trash(own) == receipt.items[::-1]
    assert set(parents(family)) == {"helper", "branch", "other"}
    assert settle_trash(family, own) == 0


MADE = st.lists(
    st.tuples(
        st.sampled_from(["root", "branch", "subagent", "compression", "child"]),
        st.integers(0, 5),
        st.integers(0, 3),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30
)
@given(made=MADE, data=st.data())
def test_restoring_what_was_pruned_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, made: list, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("home")
    with (
        contextlib.closing(SessionDB(folder / "state.db")) as db,
        contextlib.closing(DesktopDatabase(folder / "desktop" / "desktop.db")) as own,
    ):
        build(db, made)
        before = conversations(db)
        names = [row["id"] for row in db.search_sessions()]
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        items = prune(db, own, *chosen).items
        ended = [name for name, (*_, is_ended) in zip(sorted(names), made, strict=True) if is_ended]
        assert {item.root_id for item in items} == set(chosen) & set(ended)
        assert set(parents(db)) == set(names) - {item.root_id for item in items}
        numbers = [item.trash_id for item in items]
        restore_from_trash(db, own, data.draw(st.permutations(numbers)))
        assert conversations(db) == before


def build(db: SessionDB, made: list) -> None:
    marks = {"branch": "_branched_from", "subagent": "_delegate_from"}
    for number, (kind, above, messages, is_ended) in enumerate(made):
        parent = f"s{above % number}" if number and kind != "root" else None
        mark = {marks[kind]: parent} if parent and kind in marks else None
        db.create_session(f"s{number}", "cli", parent_session_id=parent, model_config=mark)
        db.set_session_title(f"s{number}", f"Title {number}")
        for each in range(messages):
            db.append_message(f"s{number}", "user", f"words {each}")
        if is_ended:
            db.end_session(f"s{number}", "user_exit")
