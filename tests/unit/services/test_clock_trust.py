"""A clock that jumps is not believed until it is back, or has run evenly for a week."""

import pytest

from hermes_desktop.services.assembly.history_upkeep import ClockCheck, ClockNote
from tests.fakes.clock import MovableClock

DAY = 86_400.0


class Run:
    """A run of the program with a clock; a later run knows what an earlier one noted."""

    def __init__(self) -> None:
        self.clock = MovableClock()
        self.trust = ClockCheck(self.clock, self.clock.monotonic, ClockNote())

    def look_for(self, seconds: float) -> set[bool]:
        """Look every hour, and say what was found."""
        found = set()
        for _ in range(int(seconds / 3600)):
            self.clock.advance(3600)
            found.add(self.trust.look())
        return found

    def restart(self) -> None:
        note = ClockNote.of(self.trust.note.text)
        self.trust = ClockCheck(self.clock, self.clock.monotonic, note)


@pytest.fixture
def run() -> Run:
    run = Run()
    assert run.trust.look()
    return run


def test_a_clock_that_runs_evenly_is_believed(run: Run) -> None:
    assert run.look_for(30 * DAY) == {True}


@pytest.mark.parametrize("days", [-4000.0, -1.0, -0.1, 0.1, 20.0, 4000.0])
def test_a_jump_is_not_believed_for_a_week(run: Run, days: float) -> None:
    run.clock.jump(days * DAY)
    assert run.look_for(7 * DAY) == {False}
    assert run.look_for(2 * DAY) == {True}


def test_a_clock_that_comes_back_is_believed_at_once(run: Run) -> None:
    run.clock.jump(4000 * DAY)
    assert run.look_for(DAY) == {False}
    run.clock.jump(-4000 * DAY + 60)
    assert run.look_for(DAY) == {True}


def test_another_jump_begins_the_week_again(run: Run) -> None:
    run.clock.jump(400 * DAY)
    assert run.look_for(5 * DAY) == {False}
    run.clock.jump(DAY)
    assert run.look_for(6 * DAY) == {False}


def test_small_corrections_are_no_jump(run: Run) -> None:
    for _ in range(50):
        run.clock.jump(30)
        assert run.look_for(3600) == {True}


def test_a_computer_that_slept_has_not_jumped() -> None:
    clock, slept = MovableClock(), [0.0]
    trust = ClockCheck(clock, lambda: clock.monotonic() + slept[0], ClockNote())
    assert trust.look()
    slept[0] = 60 * DAY
    clock.jump(60 * DAY)
    assert trust.look()


def test_where_no_clock_counts_sleep_a_month_may_have_been_slept() -> None:
    clock = MovableClock()
    trust = ClockCheck(clock, None, ClockNote())
    assert trust.look()
    clock.jump(20 * DAY)
    assert trust.look()
    clock.jump(40 * DAY)
    assert not trust.look()


@pytest.mark.parametrize("days", [0.0, 1.0, 30.0])
def test_the_program_may_be_off_for_a_month(run: Run, days: float) -> None:
    run.clock.advance(days * DAY)
    run.restart()
    assert run.trust.look()


@pytest.mark.parametrize("days", [-1.0, 32.0, 4000.0])
def test_a_jump_between_two_runs_is_not_believed(run: Run, days: float) -> None:
    run.clock.jump(days * DAY)
    run.restart()
    for _ in range(6):
        assert not run.trust.look()
        run.clock.advance(DAY)
        run.restart()
    run.clock.advance(DAY)
    assert run.trust.look()


def test_a_jump_is_remembered_by_the_next_run(run: Run) -> None:
    run.clock.jump(20 * DAY)
    assert not run.trust.look()
    run.restart()
    assert not run.trust.look()
    assert run.trust.note.believed_at == run.clock.time() + 7 * DAY
    run.clock.advance(DAY)
    run.clock.jump(-20 * DAY)
    run.restart()
    assert run.trust.look()
    assert run.trust.note.believed_at == 0


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"seen": "x"}', '{"seen": NaN}', "1"])
def test_a_note_that_makes_no_sense_says_nothing(text: str | None) -> None:
    assert ClockNote.of(text) == ClockNote()
