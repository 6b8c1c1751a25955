"""Words about work that `hermes` promises in our name."""

import pytest

from hermes_desktop.core.events import UndoneWork
from hermes_desktop.gateway.identity.scheduled_work import ScheduledWork
from hermes_desktop.services.hosting.undone_words import (
    short_name,
    undone_brief,
    undone_lines,
    undone_sentence,
)
from hermes_desktop.services.hosting.undone_work import undone_work


def undone(jobs: tuple[str, ...] = (), boards: tuple[str, ...] = (), cards: int = 0) -> UndoneWork:
    found = undone_work(ScheduledWork(jobs, boards, cards))
    assert found is not None
    return found


def test_nothing_is_nothing() -> None:
    assert undone_work(ScheduledWork()) is None


@pytest.mark.parametrize(
    ("found", "brief", "sentence"),
    [
        (
            undone(("news",)),
            "1 job not run",
            "Not run here: 1 scheduled job (“news”).",
        ),
        (
            undone((), ("garden",), 1),
            "1 card not run",
            "Not run here: 1 kanban card (board “garden”).",
        ),
        (
            undone(("a", "b"), ("default", "garden"), 1_200),
            "2 jobs and 1,200 cards not run",
            (
                "Not run here: 2 scheduled jobs (“a”, “b”) and 1,200 kanban cards"
                " (boards “default”, “garden”)."
            ),
        ),
    ],
)
def test_it_is_counted_and_named(found: UndoneWork, brief: str, sentence: str) -> None:
    assert (undone_brief(found), undone_sentence(found)) == (brief, sentence)


def test_many_are_counted_and_few_are_named() -> None:
    found = undone(tuple(f"job {n}" for n in range(5_000)), tuple(f"b{n}" for n in range(20)), 20)

    assert undone_sentence(found) == (
        "Not run here: 5,000 scheduled jobs (“job 0”, “job 1”, “job 2”, 4,997 more)"
        " and 20 kanban cards (boards “b0”, “b1”, “b2”, 17 more)."
    )
    lines = undone_lines(found)
    assert len(lines) == 18
    assert lines[7:10] == (
        "Scheduled job “job 7”",
        "4,992 more scheduled jobs",
        "Cards of the kanban board “b0”",
    )
    assert lines[-1] == "Cards of 12 more kanban boards"


def test_names_are_short_and_on_one_line() -> None:
    assert short_name("  every\nday \x1b[2J\u202e") == "every day [2J"
    assert short_name("") == short_name("\n") == "?"
    assert short_name("x" * 5_000_000) == "x" * 47 + "…"
    assert undone(("two\nlines",)).job_names == ("two lines",)
