"""How old a session is: counted from its start, its last message or its last activity."""

import contextlib
import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.bulk_selection import SessionFilter
from tests.fakes import state_files
from tests.fakes.clock import MovableClock

DAY = 86_400.0
NOW = MovableClock().time()
OLD, NEW = NOW - 100 * DAY, NOW - 10 * DAY


@pytest.fixture(params=[22, 27])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def conn(path: Path, version: int) -> Iterator[sqlite3.Connection]:
    path.parent.mkdir()
    make = state_files.make_newer_file if version > 22 else state_files.make_old_file
    with contextlib.closing(make(path, version)) as conn:
        yield conn


def unused(db: SessionDB, days: float) -> SessionFilter:
    return SessionFilter(idle_before=db._clock.time() - days * 86_400)


def pruned(path: Path, days: float = 90) -> set[str]:
    with contextlib.closing(SessionDB(path, clock=MovableClock())) as db:
        before = {row["id"] for row in db.search_sessions(limit=99)}
        db.prune(unused(db, days))
        return before - {row["id"] for row in db.search_sessions(limit=99)}


def test_the_newest_sign_of_life_counts(conn: sqlite3.Connection, path: Path, version: int) -> None:
    ended: dict[str, Any] = {"ended_at": OLD, "end_reason": "cli_close"}
    newer = version > 22
    expected = set()
    for started, said, active in itertools.product((OLD, NEW), (None, OLD, NEW), (None, OLD, NEW)):
        name = f"{started} {said} {active}"
        activity = {"last_activity_at": active} if newer else {}
        state_files.add_session(conn, name, started_at=started, **ended, **activity)
        if said is not None:
            state_files.add_message(conn, name, timestamp=said)
        if NEW not in (started, said, active if newer else None):
            expected.add(name)
    assert pruned(path) == expected != set()


@pytest.mark.parametrize("odd", ["yesterday", float("inf"), 1.7e12, b"1"])
def test_a_time_that_makes_no_sense_spares_a_session(
    conn: sqlite3.Connection, path: Path, version: int, odd: object
) -> None:
    for name in ("start", "message", "activity", "plain"):
        state_files.add_session(conn, name, started_at=OLD, ended_at=OLD, end_reason="x")
    conn.execute("UPDATE sessions SET started_at = ? WHERE id = 'start'", (odd,))
    state_files.add_message(conn, "message", timestamp=odd)
    if version > 22:
        conn.execute("UPDATE sessions SET last_activity_at = ? WHERE id = 'activity'", (odd,))
    else:
        conn.execute("DELETE FROM sessions WHERE id = 'activity'")
    assert pruned(path) == {"plain"}


def test_a_conversation_goes_as_a_whole_or_stays(conn: sqlite3.Connection, path: Path) -> None:
    """Its first part has not been used for long, since the conversation goes on elsewhere."""
    for name, moment in (("gone", OLD), ("kept", NEW)):
        state_files.add_session(
            conn, f"{name}-1", started_at=OLD, ended_at=OLD, end_reason="compression"
        )
        state_files.add_session(
            conn, f"{name}-2", started_at=OLD + 1, ended_at=OLD, end_reason="compression",
            parent_session_id=f"{name}-1",
        )  # fmt: skip
        state_files.add_session(
            conn, f"{name}-3", started_at=OLD + 2, ended_at=OLD, end_reason="cli_close",
            parent_session_id=f"{name}-2",
        )  # fmt: skip
        state_files.add_message(conn, f"{name}-3", timestamp=moment)
    with contextlib.closing(SessionDB(path, clock=MovableClock())) as db:
        found = db.prune_selection(90)
    assert [each.id for each in found.candidates] == ["gone-1", "gone-2", "gone-3"]
    assert (found.spared.parts, found.spared.used_since) == (2, 1)
    assert pruned(path) == {"gone-1", "gone-2", "gone-3"}


def test_archiving_by_age_hides_no_conversation_in_use(
    conn: sqlite3.Connection, path: Path
) -> None:
    state_files.add_session(conn, "root", started_at=OLD, ended_at=OLD, end_reason="compression")
    state_files.add_session(conn, "tip", started_at=NEW, parent_session_id="root")
    with contextlib.closing(SessionDB(path, clock=MovableClock())) as db:
        assert db.archive(unused(db, 90)) == 0
        assert db.archive(SessionFilter(end_reason="compression")) == 1


def test_what_was_used_since_is_counted(conn: sqlite3.Connection, path: Path) -> None:
    for name, said in (("old", OLD), ("used", NEW)):
        state_files.add_session(conn, name, started_at=OLD, ended_at=OLD, end_reason="x")
        state_files.add_message(conn, name, timestamp=said)
    with contextlib.closing(SessionDB(path, clock=MovableClock())) as db:
        found = db.selection(SessionFilter(idle_before=NOW - 90 * DAY))
        assert ([each.id for each in found.candidates], found.spared.used_since) == (["old"], 1)
        found = db.selection(SessionFilter(started_before=NOW - 90 * DAY))
        assert (len(found.candidates), found.spared.used_since) == (2, 0)
