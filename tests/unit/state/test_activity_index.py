import contextlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.errors import StateUnavailableError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.facade.activity_index import ActivityIndex
from hermes_desktop.state.maintenance.change_watcher import ChangeWatcher
from hermes_desktop.state.records.records import StateChanges
from tests.fakes.clock import MovableClock


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(path, clock=clock)) as store:
        yield store


def tips(index: ActivityIndex, **choice: object) -> list[str]:
    return [tip for _, tip in index.select(**choice).keys]


def add(
    db: SessionDB, clock: MovableClock, name: str, source: str = "cli", **fields: object
) -> None:
    clock.advance(1)
    db.create_session(name, source, **fields)
    clock.advance(1)
    db.append_message(name, "user", "x")


def built(db: SessionDB) -> ActivityIndex:
    index = ActivityIndex(db)
    index.rebuild()
    return index


def test_order_pages_and_total(db: SessionDB, clock: MovableClock) -> None:
    for name in "abc":
        add(db, clock, name)
    clock.advance(1)
    db.append_message("a", "user", "again")
    index = built(db)
    assert tips(index) == ["a", "c", "b"]
    page = index.select(limit=1, offset=1)
    assert page.keys == (("c", "c"),)
    assert page.total == 3
    assert index.select(offset=9).keys == ()
    assert len(index) == 3


@pytest.mark.slow
def test_first_page_before_the_index_is_built(db: SessionDB, clock: MovableClock) -> None:
    assert ActivityIndex(db).first_page().keys == ()
    for number in range(30):
        add(db, clock, f"s{number}")
        add(db, clock, f"t{number}", "tool")
    db.end_session("s3", "compression")
    add(db, clock, "tip", parent_session_id="s3")
    db.create_session("empty", "cli")
    for _ in range(1_100):
        db.append_message("s5", "user", "x")
    index = built(db)
    for limit in (1, 10, 50):
        page = ActivityIndex(db).first_page(limit=limit)
        assert page.keys == index.select(limit=limit).keys


def test_same_lines_as_the_list(db: SessionDB, clock: MovableClock) -> None:
    add(db, clock, "a")
    add(db, clock, "sub", "subagent", parent_session_id="a", model_config={"_delegate_from": "a"})
    add(db, clock, "t", "tool")
    db.end_session("a", "compression")
    add(db, clock, "b", "cli", parent_session_id="a")
    add(db, clock, "branch", "cli", parent_session_id="b", model_config={"_branched_from": "b"})
    db.create_session("empty", "telegram")
    index = built(db)
    listed = [s.id for s in db.list_summaries(order="activity", limit=None)]
    assert tips(index, empty=None) == listed == ["empty", "branch", "b"]
    assert tips(index) == ["branch", "b"]
    assert tips(index, empty=True) == ["empty"]
    assert index.sources() == {"cli": 2}
    assert index.sources(empty=None) == {"cli": 2, "telegram": 1}
    assert tips(index, source="telegram", empty=None) == ["empty"]
    assert index.key_of("a") == index.key_of("b") == ("a", "b")
    assert index.key_of("sub") is None


def test_text_finds_any_segment(db: SessionDB, clock: MovableClock) -> None:
    add(db, clock, "first")
    db.set_session_title("first", "Trip Plan")
    db.end_session("first", "compression")
    add(db, clock, "second", parent_session_id="first")
    add(db, clock, "other")
    index = built(db)
    for text in ("trip", "tripplan", "Trip-Plan", "FIRST", "seco"):
        assert tips(index, text=text) == ["second"]
    assert tips(index, text="  ") == ["other", "second"]
    assert tips(index, text="nothing") == []


def test_apply_follows_what_happens(db: SessionDB, path: Path, clock: MovableClock) -> None:
    add(db, clock, "a")
    add(db, clock, "b")
    index = built(db)
    with contextlib.closing(ChangeWatcher(path)) as watcher:
        watcher.look()

        def after() -> list[str]:
            index.apply(watcher.look())
            return tips(index)

        assert after() == ["b", "a"]
        clock.advance(1)
        db.append_message("a", "user", "again")
        assert after() == ["a", "b"]
        db.end_session("a", "compression")
        add(db, clock, "a2", parent_session_id="a")
        assert after() == ["a2", "b"]
        assert index.key_of("a2") == ("a", "a2")
        db.set_session_title("a2", "Found")
        after()
        assert tips(index, text="found") == ["a2"]
        db.reopen_session("a")
        assert after() == ["a", "b"]
        archive(db, "b")
        assert after() == ["a"]


def archive(db: SessionDB, name: str) -> None:
    db._execute_write(
        lambda conn: conn.execute("UPDATE sessions SET archived = 1 WHERE id = ?", (name,))
    )


def delete(db: SessionDB, name: str) -> None:
    def run(conn: object) -> None:
        execute = conn.execute  # type: ignore[attr-defined]
        execute("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", (name,))
        execute("DELETE FROM messages WHERE session_id = ?", (name,))
        execute("DELETE FROM sessions WHERE id = ?", (name,))

    db._execute_write(run)


def test_a_deleted_root_makes_the_next_segment_a_line(
    db: SessionDB, path: Path, clock: MovableClock
) -> None:
    add(db, clock, "a")
    db.end_session("a", "compression")
    add(db, clock, "b", parent_session_id="a")
    index = built(db)
    delete(db, "a")
    index.apply(StateChanges(removed=frozenset({"a"})))
    assert index.select().keys == (("b", "b"),)
    delete(db, "b")
    index.apply(StateChanges(removed=frozenset({"b"})))
    assert index.select().total == 0


def test_many_changes_rebuild(db: SessionDB, clock: MovableClock) -> None:
    index = built(db)
    for number in range(600):
        db.create_session(f"s{number}", "cli")
    index.apply(StateChanges(touched=frozenset(f"s{n}" for n in range(600))))
    assert index.select(empty=True).total == 600
    index.apply(StateChanges(reload_all=True))
    assert index.select(empty=True).total == 600


@pytest.mark.parametrize("seed", range(6))
def test_increments_give_what_a_rebuild_gives(
    db: SessionDB, path: Path, clock: MovableClock, seed: int
) -> None:
    rng = random.Random(seed)
    names: list[str] = []
    index = built(db)
    with contextlib.closing(ChangeWatcher(path)) as watcher:
        watcher.look()
        for step in range(80):
            clock.advance(1)
            do_something(db, rng, names, step)
            if rng.random() < 0.5:
                index.apply(watcher.look())
        index.apply(watcher.look())
    fresh = built(db)
    assert index.select(empty=None, limit=999) == fresh.select(empty=None, limit=999)
    assert index.sources(empty=None) == fresh.sources(empty=None)
    for name in names:
        assert index.key_of(name) == fresh.key_of(name)


def do_something(db: SessionDB, rng: random.Random, names: list[str], step: int) -> None:
    some = rng.choice(names) if names else None
    roll = rng.random()
    if some is None or roll < 0.25:
        name = f"s{step:03d}"
        fields: dict[str, object] = {}
        if some is not None and rng.random() < 0.7:
            fields["parent_session_id"] = some
            marker = rng.choice([None, None, "_branched_from", "_delegate_from"])
            fields["model_config"] = {marker: some} if marker else None
        db.create_session(name, rng.choice(["cli", "telegram", "tool"]), **fields)
        names.append(name)
    elif roll < 0.45:
        db.append_message(some, "user", "x")
    elif roll < 0.60:
        db.end_session(some, rng.choice(["compression", "compression", "branched", "cli_close"]))
    elif roll < 0.70:
        db.reopen_session(some)
    elif roll < 0.80:
        db.set_session_title(some, f"Title {step}")
    elif roll < 0.85:
        archive(db, some)
    elif roll < 0.92:
        db.replace_messages(some, [])
    else:
        delete(db, some)
        names.remove(some)


def test_a_failed_rebuild_keeps_what_was_there(db: SessionDB, clock: MovableClock) -> None:
    add(db, clock, "a")
    index = built(db)
    db.close()
    with pytest.raises(StateUnavailableError):
        index.rebuild()
    assert tips(index) == ["a"]


def test_archived_lines_are_a_list_of_their_own(db: SessionDB, clock: MovableClock) -> None:
    for name in "abc":
        add(db, clock, name)
    db.end_session("b", "compression")
    add(db, clock, "b2", "telegram", parent_session_id="b")
    db.create_session("empty", "cli")
    index = built(db)
    assert tips(index, archived=True, empty=None) == []
    for name in ("b2", "empty"):
        db.set_session_archived(name, archived=True)
    index.apply(StateChanges(touched=frozenset({"b", "b2", "empty"})))
    for each in (index, built(db)):
        assert tips(each) == ["c", "a"]
        assert tips(each, empty=True) == []
        assert tips(each, archived=True) == ["b2"]
        assert tips(each, archived=True, empty=True) == ["empty"]
        assert tips(each, archived=True, empty=None) == ["empty", "b2"]
        assert each.sources() == {"cli": 2}
        assert each.sources(archived=True) == {"cli": 1}
        assert each.key_of("b") == ("b", "b2")
    assert ActivityIndex(db).first_page().keys == index.select().keys
    db.set_session_archived("b2", archived=False)
    index.apply(StateChanges(touched=frozenset({"b", "b2"})))
    assert tips(index) == ["b2", "c", "a"]
    assert tips(index, archived=True) == []
