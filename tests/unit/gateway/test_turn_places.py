"""A turn that waits for a person lends its place, and gets it back."""

import asyncio

import pytest

from hermes_desktop.gateway.runner import claims
from hermes_desktop.gateway.runner.claims import SlotLender, TurnSlot

pytestmark = pytest.mark.asyncio


async def rounds() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_lent_and_taken_back() -> None:
    slots = asyncio.Semaphore(1)
    async with TurnSlot(slots) as place:
        assert slots.locked()
        place.wait(lend=True)
        assert place.lent
        assert not slots.locked()
        place.go_on()
        await rounds()
        assert slots.locked()
    assert not slots.locked()


async def test_who_goes_on_does_not_wait_for_its_place() -> None:
    slots = asyncio.Semaphore(1)
    async with TurnSlot(slots) as place:
        place.wait(lend=True)
        async with TurnSlot(slots):
            place.go_on()
            await rounds()
        await rounds()
        assert slots.locked()
    assert not slots.locked()


async def test_a_turn_that_ends_without_its_place_takes_none() -> None:
    slots = asyncio.Semaphore(1)
    other = TurnSlot(slots)
    async with TurnSlot(slots) as place:
        place.wait(lend=True)
        await other.__aenter__()
        place.go_on()
        await rounds()
    await other.__aexit__(None, None, None)
    assert not slots.locked()
    async with TurnSlot(slots) as place:
        place.wait(lend=True)
    assert not slots.locked()


async def test_two_waits_of_one_turn() -> None:
    slots = asyncio.Semaphore(1)
    async with TurnSlot(slots) as place:
        place.wait(lend=True)
        place.wait(lend=True)
        place.go_on()
        await rounds()
        assert not slots.locked()
        place.go_on()
        await rounds()
        assert slots.locked()


async def test_only_so_many_are_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MOST_LENT", 1)
    slots = asyncio.Semaphore(2)
    told: list[tuple[str, bool]] = []
    waiting = SlotLender(lambda key, waits: told.append((key, waits)))
    async with TurnSlot(slots) as first, TurnSlot(slots) as second:
        waiting.places = {"a": first, "b": second}
        for key in ("a", "b", "gone"):
            waiting._changed(key, waits=True)
        assert (first.lent, second.lent) == (True, False)
        for key in ("b", "a"):
            waiting._changed(key, waits=False)
        await rounds()
    assert told == [("a", True), ("b", True), ("b", False), ("a", False)]
    assert slots._value == 2
