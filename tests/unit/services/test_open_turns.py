"""Which turns of other programs are seen, and which alarms would be false."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.errors import StillBusyError
from hermes_desktop.services.sessions.foreign_wait import ForeignWait
from hermes_desktop.services.sessions.open_turns import FRESH_S, ForeignTurns, OpenTurn
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from hermes_desktop.state.database.holders import Holder
from tests.fakes.clock import MovableClock
from tests.fakes.foreign_program import foreign_program


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def db(tmp_path: Path, clock: MovableClock) -> Iterator[SessionDB]:
    database = SessionDB(tmp_path / "state.db", clock=clock)
    database.create_session("s", "cli")
    yield database
    database.close()


def hermes(_: Path) -> list[Holder]:
    return [Holder(12, "hermes")]


def nobody(_: Path) -> list[Holder]:
    return []


def test_a_prompt_without_a_reply_is_open_only_while_a_foreign_program_has_the_file(
    db: SessionDB, clock: MovableClock
) -> None:
    db.append_message("s", "user", "Which  train?")
    clock.advance(7)
    assert ForeignTurns(db, clock, holders=nobody).find("s") is None
    found = ForeignTurns(db, clock, holders=hermes).find("s")
    assert found == OpenTurn("Which train?", "hermes (process 12)", age_s=7.0)
    assert str(found) == (
        "“Which train?” had activity 7 s ago, and hermes (process 12) may still be answering"
    )


def test_a_reply_an_end_and_five_minutes_of_silence_close_it(
    db: SessionDB, clock: MovableClock
) -> None:
    turns = ForeignTurns(db, clock, holders=hermes)
    db.append_message("s", "user", "Which train?")
    clock.advance(FRESH_S)
    assert turns.find("s") is None
    db.append_message("s", "tool", "6:12", tool_call_id="c")
    assert turns.find("s") is not None
    db.append_message("s", "assistant", "At 6:12.")
    assert turns.find("s") is None
    db.append_message("s", "user", "Thanks")
    assert turns.find("s") is not None
    db.end_session("s", "cli_close")
    assert turns.find("s") is None
    assert turns.find("no such session") is None


@pytest.mark.two_processes
def test_real_processes_are_found_and_this_one_does_not_count(
    db: SessionDB, clock: MovableClock
) -> None:
    db.append_message("s", "user", "Which train?")
    turns = ForeignTurns(db, clock)
    assert turns.find("s") is None
    with foreign_program(db.db_path) as program:
        assert f"(process {program.process.pid})" in str(turns.find("s"))
    assert turns.find("s") is None


def test_one_of_ours_is_known_by_its_lock(
    db: SessionDB, clock: MovableClock, tmp_path: Path
) -> None:
    locks = ConversationLocks(db, tmp_path / "desktop", "a test")
    held = locks.attempt("s")
    held.try_now()
    turns = ForeignTurns(db, clock, locks, holders=nobody)
    assert turns.find("s") is None, "this process knows its own turns"
    owner = tmp_path / "desktop" / "turns" / "s.turn"
    owner.write_text('{"pid": 77, "program": "hermes-desktop chat"}')
    db.append_message("s", "user", "Which train?")
    assert turns.turn_in("s") == ("hermes-desktop chat (process 77) is answering “Which train?”")
    assert turns.foreign("s") is None
    held.give_back()


def test_what_a_turn_of_ours_left_without_a_reply_is_nobodys_turn(
    db: SessionDB, clock: MovableClock, tmp_path: Path
) -> None:
    locks = ConversationLocks(db, tmp_path / "desktop", "a test")
    turns = ForeignTurns(db, clock, locks, holders=hermes)
    held = locks.attempt("s")
    held.try_now()
    db.append_message("s", "user", "Which train?")
    assert turns.foreign("s") is not None
    held.give_back()
    assert turns.foreign("s") is None
    db.append_message("s", "user", "And back?")
    assert turns.foreign("s") is not None, "that came from somebody else"
    answered = locks.attempt("s")
    answered.try_now()
    db.append_message("s", "assistant", "At 6:12.")
    answered.give_back()
    assert list((tmp_path / "desktop" / "turns").iterdir()) == []


@pytest.mark.parametrize("first", ["s", "another"])
def test_what_a_killed_turn_of_ours_left_is_nobodys_turn(
    db: SessionDB, clock: MovableClock, tmp_path: Path, first: str
) -> None:
    """Whichever session the next program answers in first."""
    folder = tmp_path / "desktop" / "turns"
    folder.mkdir(parents=True)
    (folder / "s.turn").write_text('{"pid": 1, "program": "a killed program"}')
    db.append_message("s", "user", "Which train?")
    locks = ConversationLocks(db, tmp_path / "desktop", "a test")
    turns = ForeignTurns(db, clock, locks, holders=hermes)
    assert turns.foreign("s") is not None
    held = locks.attempt(first)
    assert held.try_now()
    assert turns.foreign("s") is None
    held.give_back()
    assert turns.foreign("s") is None


@pytest.mark.parametrize("of", ["root", "tip"])
def test_a_lease_of_newer_hermes_is_read_and_never_written(
    db: SessionDB, clock: MovableClock, of: str
) -> None:
    db.create_session("root", "cli")
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root")
    db._execute_write(
        lambda conn: conn.execute(
            "CREATE TABLE session_turn_leases (conversation_id TEXT PRIMARY KEY, "
            "holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL)"
        )
    )
    lease = (of, f"pid={os.getpid()}:tid=1", clock.time(), clock.time() + 30)
    db._execute_write(
        lambda conn: conn.execute("INSERT INTO session_turn_leases VALUES (?, ?, ?, ?)", lease)
    )
    turns = ForeignTurns(db, clock, holders=nobody)
    found = turns.find("tip")
    assert found == OpenTurn("", f"hermes (process {os.getpid()})", certain=True)
    assert turns.find("s") is None
    clock.advance(31)
    assert turns.find("tip") is None
    rows = db.read(lambda conn: conn.execute("SELECT * FROM session_turn_leases").fetchall())
    assert [tuple(row) for row in rows] == [lease]


# ----------------------------------------------------------------------------------- the waiting


class Waiting:
    """A wait with a clock that each look moves on."""

    def __init__(self, db: SessionDB, clock: MovableClock, step_s: float) -> None:
        self.told: list[tuple[str, int]] = []
        self.looks = 0
        self.ending = asyncio.Event()
        self._clock, self._step_s, self._db = clock, step_s, db
        self.readers = WorkerThreads("looks")
        turns = ForeignTurns(db, clock, holders=hermes)
        self.wait = ForeignWait(turns, self.readers, clock, self._tell, look_s=0.001)

    def _tell(self, turn: OpenTurn | None, left_s: float) -> None:
        self.told.append(("" if turn is None else turn.who, round(left_s)))
        if turn is None:
            return
        self.looks += 1
        self._clock.advance(self._step_s)
        self.on_look()

    def on_look(self) -> None:
        self._db.append_message("s", "tool", "still at it", tool_call_id="c")


@pytest.mark.asyncio
async def test_it_waits_five_minutes_and_then_sends_nothing(
    db: SessionDB, clock: MovableClock
) -> None:
    db.append_message("s", "user", "Which train?")
    waiting = Waiting(db, clock, 100)
    with pytest.raises(StillBusyError) as refused:
        await waiting.wait.pass_gate("s", waiting.ending)
    assert refused.value.exit_code == 7
    assert "--now" in refused.value.hint
    who = "hermes (process 12)"
    assert waiting.told == [(who, 300), (who, 200), (who, 100), ("", 0)]
    waiting.readers.close()


@pytest.mark.asyncio
async def test_it_goes_on_when_the_other_program_has_answered(
    db: SessionDB, clock: MovableClock
) -> None:
    db.append_message("s", "user", "Which train?")
    waiting = Waiting(db, clock, 1)
    waiting.on_look = lambda: db.append_message("s", "assistant", "At 6:12.")  # type: ignore[method-assign]
    await waiting.wait.pass_gate("s", waiting.ending)
    assert len(waiting.told) == 2
    waiting.readers.close()


@pytest.mark.asyncio
async def test_it_can_be_given_up(db: SessionDB, clock: MovableClock) -> None:
    db.append_message("s", "user", "Which train?")
    waiting = Waiting(db, clock, 1)
    waiting.on_look = waiting.ending.set  # type: ignore[method-assign]
    with pytest.raises(WaitAbandonedError):
        await waiting.wait.pass_gate("s", waiting.ending)
    assert waiting.told[-1] == ("", 0)
    waiting.readers.close()
