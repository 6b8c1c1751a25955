"""Wishes that a gateway end: which of them count when there are several."""

import asyncio

import pytest

from hermes_desktop.gateway.runtime_files.identity_events import (
    HardStop,
    IdentityLost,
    StopRequested,
)
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from hermes_desktop.services.hosting.hosting_ending import (
    Ending,
    StopRequests,
    forced_ending,
    requested_ending,
)

PERSON = Ending("person", 100.0)
RESTART = Ending("person", 100.0, comes_back=True)
OUTSIDE = requested_ending(StopRequested("stop", 60.0))


def test_a_stop_from_outside_has_its_deadline_and_drains_until_a_second_before() -> None:
    assert (OUTSIDE.drain_until, OUTSIDE.deadline) == (59.0, 60.0)
    assert OUTSIDE.stopped_from_outside
    assert OUTSIDE.from_outside
    assert "command line" in OUTSIDE.words
    assert not requested_ending(
        StopRequested("restart", 60.0, comes_back=True)
    ).stopped_from_outside


@pytest.mark.parametrize(
    ("event", "cause", "words"),
    [
        (HardStop("stop", "…"), "stop", "command line"),
        (HardStop(None, "It was killed too often."), "gone", "too often"),
        (IdentityLost(None), "gone", "The home no longer exists."),
        (IdentityLost(GatewayRecord(1)), "gone", "Another gateway"),
    ],
)
def test_without_an_identity_there_is_no_time_and_nothing_to_give_back(event, cause, words) -> None:
    ending = forced_ending(event, 5.0)

    assert (ending.cause, ending.drain_until, ending.deadline) == (cause, 5.0, 5.0)
    assert ending.identity_gone
    assert words in ending.words


@pytest.mark.parametrize(
    ("first", "second", "cause", "back"),
    [
        (PERSON, OUTSIDE, "person", False),
        (RESTART, OUTSIDE, "stop", False),
        (OUTSIDE, RESTART, "stop", False),
        (RESTART, RESTART, "person", True),
        (OUTSIDE, forced_ending(HardStop(None, "…"), 5.0), "stop", False),
    ],
)
def test_of_two_wishes_the_quicker_counts_and_both_must_want_it_back(
    first, second, cause, back
) -> None:
    both = first.and_also(second)

    assert (both.cause, both.comes_back) == (cause, back)
    assert both.drain_until == min(first.drain_until, second.drain_until)
    assert both.from_outside == (first.from_outside or second.from_outside)
    assert both.identity_gone == (first.identity_gone or second.identity_gone)


@pytest.mark.asyncio
async def test_who_waits_hears_of_the_first_wish_and_of_later_ones() -> None:
    wish = StopRequests()
    asked = asyncio.ensure_future(wish.asked())
    with pytest.raises(RuntimeError):
        wish.now()
    wish.add(PERSON)
    assert await asked == PERSON
    changed = wish.changed()
    assert not changed.done()
    wish.add(OUTSIDE)
    await changed
    assert wish.now().deadline == 60.0
