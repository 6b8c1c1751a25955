"""The newest lines, found from the newest messages back, are those of the whole order."""

import contextlib
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.list_order import NewestTimes, list_keys, newest_keys
from hermes_desktop.state.sessions.session_list import ListFilter
from tests.fakes.clock import MovableClock

BY_ACTIVITY = ListFilter(order_by_last_active=True, limit=None)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    with contextlib.closing(SessionDB(path, clock=clock)) as store:
        yield store


def whole(db: SessionDB, choice: ListFilter) -> list[tuple[str, str]]:
    """The same lines from the whole order."""
    end = None if choice.limit is None else choice.offset + choice.limit
    every = db.read(
        lambda conn: list_keys(
            conn, replace(choice, limit=None, offset=0), db.layout, NewestTimes()
        )
    )
    return every[choice.offset : end]


def newest(
    db: SessionDB, choice: ListFilter, times: NewestTimes, first_look: int = 3
) -> list[tuple[str, str]] | None:
    return db.read(lambda conn: newest_keys(conn, choice, db.layout, times, first_look=first_look))


def add_anything(db: SessionDB, clock: MovableClock, rng: random.Random, number: int) -> None:
    """Talk on, begin a session, continue or branch one, or import an old one."""
    clock.advance(rng.choice((0, 1, 60)))
    names = [row["id"] for row in db.search_sessions(limit=999)]
    name, source = f"s{number}", rng.choice(("cli", "telegram", "tool", "cron"))
    kind = rng.random()
    if kind < 0.4 and names:
        db.append_message(rng.choice(names), "user", "x")
    elif kind < 0.5 and names:
        above = rng.choice(names)
        db.end_session(above, "compression")
        db.create_session(name, source, parent_session_id=above)
        db.append_message(name, "user", "x")
    elif kind < 0.6 and names:
        above = rng.choice(names)
        mark = rng.choice(("_branched_from", "_delegate_from"))
        db.create_session(name, source, parent_session_id=above, model_config={mark: above})
        db.append_message(name, "user", "x")
    elif kind < 0.7:
        when = clock.time() - rng.randint(1, 10_000)
        message = {"role": "user", "content": "old", "timestamp": when}
        given = {"id": name, "source": source, "started_at": when, "messages": [message]}
        db.import_sessions([given])
    else:
        db.create_session(name, source)
        for _ in range(rng.randint(0, 4)):
            db.append_message(name, "user", "x")
    if names and rng.random() < 0.1:
        db.set_session_archived(rng.choice(names), True)
    if names and rng.random() < 0.05:
        db.delete_sessions([rng.choice(names)])


@pytest.mark.parametrize("seed", range(12))
def test_any_home_has_the_same_first_lines(db: SessionDB, clock: MovableClock, seed: int) -> None:
    rng, times, found = random.Random(seed), NewestTimes(), 0
    for number in range(120):
        add_anything(db, clock, rng, number)
        choice = replace(
            BY_ACTIVITY,
            limit=rng.randint(1, 6),
            offset=rng.choice((0, 0, 3)),
            source=rng.choice((None, None, "cli")),
            exclude_sources=rng.choice(((), ("tool",))),
            include_archived=rng.random() < 0.3,
            project_compression_tips=rng.random() < 0.8,
            empty=rng.choice((None, False)),
        )
        lines = newest(db, choice, times)
        if lines is not None:
            found += 1
            assert lines == whole(db, choice)
    assert found > 30


def test_an_old_session_with_a_time_in_the_future_stays_first(
    db: SessionDB, clock: MovableClock
) -> None:
    db.create_session("future", "cli")
    db.append_message("future", "user", "x", timestamp=clock.time() + 10_000)
    for number in range(50):
        clock.advance(1)
        db.create_session(f"s{number}", "cli")
        db.append_message(f"s{number}", "user", "x")
    listed = [each.id for each in db.list_summaries(order="activity", limit=2)]
    assert listed == ["future", "s49"]
    assert newest(db, replace(BY_ACTIVITY, limit=2), NewestTimes()) == [
        ("future", "future"),
        ("s49", "s49"),
    ]


@pytest.mark.parametrize("odd", ["2026-01-01T00:00:00", 1.7e12, b"x"])
def test_times_that_are_no_seconds_are_left_to_the_whole_order(
    db: SessionDB, clock: MovableClock, odd: object
) -> None:
    for number in range(20):
        clock.advance(1)
        db.create_session(f"s{number}", "cli")
        db.append_message(f"s{number}", "user", "x")

    def spoil(conn: sqlite3.Connection) -> None:
        conn.execute("UPDATE messages SET timestamp = ? WHERE session_id = 's3'", (odd,))

    db._execute_write(spoil)
    choice = replace(BY_ACTIVITY, limit=2)
    assert newest(db, choice, NewestTimes()) in (None, whole(db, choice))


def test_what_needs_the_whole_order(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.append_message("a", "user", "x")
    for choice in (
        BY_ACTIVITY,
        replace(BY_ACTIVITY, limit=1, empty=True),
        replace(BY_ACTIVITY, limit=1, include_children=True),
        replace(BY_ACTIVITY, limit=2),
    ):
        assert newest(db, choice, NewestTimes()) is None


def test_bounds_are_kept_for_a_few_blocks(db: SessionDB, clock: MovableClock) -> None:
    db.create_session("a", "cli")
    rows = [("a", "user", number, "x") for number in range(10_000)]

    def fill(conn: sqlite3.Connection) -> None:
        conn.executemany(
            "INSERT INTO messages (session_id, role, timestamp, content) VALUES (?, ?, ?, ?)", rows
        )

    db._execute_write(fill)
    times = NewestTimes()
    for row_id in (9_000, 10_001, 4_000, 1, 9_000):
        assert db.read(lambda conn, to=row_id: times.before(conn, to)) == (  # type: ignore[misc]
            row_id - 2 if row_id > 1 else float("-inf")
        )
    db.delete_sessions(["a"])
    times.clear()
    assert db.read(lambda conn: times.before(conn, 9_000)) == float("-inf")
