"""One list becomes another by the fewest steps, and ends up exactly there."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QDate, QLocale

from hermes_desktop.ui.sessions.list_entries import (
    Entry,
    HeadingEntry,
    Insert,
    Move,
    Remove,
    SessionEntry,
    Step,
    Update,
    entries_of,
    steps_between,
)
from hermes_desktop.ui.words.day_words import DateFormatter
from tests.fakes.session_pages import summary

WORDS = DateFormatter(QDate(2026, 11, 28), QLocale(QLocale.Language.English))


def entry(number: int, *, title: str = "") -> SessionEntry:
    return SessionEntry(summary(number, title=title or f"t{number}"))


def carry_out(entries: list[Entry], steps: list[Step]) -> list[Entry]:
    result = list(entries)
    for step in steps:
        match step:
            case Remove(at, count):
                assert at >= 0
                assert at + count <= len(result)
                del result[at : at + count]
            case Insert(at, new):
                assert 0 <= at <= len(result)
                result[at:at] = new
            case Move(source, target):
                assert source != target
                result.insert(target, result.pop(source))
            case Update(at, new_entry):
                assert result[at].key == new_entry.key
                result[at] = new_entry
    return result


numbers = st.lists(st.integers(0, 30), unique=True, max_size=20)


@settings(max_examples=400, deadline=None)
@given(numbers, numbers, st.sets(st.integers(0, 30)))
def test_any_list_becomes_any_other(old: list[int], new: list[int], renamed: set[int]) -> None:
    before: list[Entry] = [entry(n) for n in old]
    after: list[Entry] = [entry(n, title="new" if n in renamed else "") for n in new]
    steps = steps_between(before, after)
    assert carry_out(before, steps) == after
    assert len(steps) <= len(before) + 2 * len(after)


def test_nothing_changed_means_no_step() -> None:
    entries: list[Entry] = [entry(n) for n in range(5)]
    assert steps_between(entries, list(entries)) == []


def test_one_that_became_newest_is_one_move_and_one_update() -> None:
    old: list[Entry] = [entry(n) for n in range(50)]
    newer = SessionEntry(replace(old[30].summary, message_count=99))  # type: ignore[union-attr]
    new = [newer, *old[:30], *old[31:]]
    assert steps_between(old, new) == [Move(30, 0), Update(0, newer)]


def test_one_that_sank_is_one_move() -> None:
    old: list[Entry] = [entry(n) for n in range(50)]
    new = [*old[1:40], old[0], *old[40:]]
    assert steps_between(old, new) == [Move(0, 39)]


def test_ranges_are_removed_and_inserted_at_once() -> None:
    old: list[Entry] = [entry(n) for n in range(10)]
    new = [*old[:2], *old[6:], *(entry(n) for n in range(20, 25))]
    assert steps_between(old, new) == [Remove(2, 4), Insert(6, tuple(new[6:]))]


def test_headings_stand_above_the_first_of_their_day() -> None:
    rows = [summary(1), summary(2), summary(20), summary(100)]
    assert [
        e.text if isinstance(e, HeadingEntry) else e.summary.title for e in entries_of(rows, WORDS)
    ] == [
        "Today",
        "Session 1",
        "Session 2",
        "Yesterday",
        "Session 20",
        "Tuesday",
        "Session 100",
    ]


def test_a_clock_that_went_back_gives_no_day_two_headings() -> None:
    rows = [summary(1), summary(20), summary(2)]
    keys = [e.key for e in entries_of(rows, WORDS)]
    assert len(keys) == len(set(keys)) == 5
