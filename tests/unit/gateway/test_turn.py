"""Pieces of a reply on their way from the turn's thread to the loop."""

import asyncio
import threading

import pytest

from hermes_desktop.agent.types import ToolProgress
from hermes_desktop.core.events import ToolFinished, ToolStarted, TurnDelta
from hermes_desktop.gateway.turns.turn import DeltaRelay, TurnNews
from tests.support.waiting import until


@pytest.mark.asyncio
async def test_the_first_piece_comes_at_once_and_the_rest_in_rounds() -> None:
    got: list[TurnNews] = []
    relay = DeltaRelay("t", "s", got.append, interval_s=60.0)
    relay.feed_text("first")
    await until(lambda: len(got) == 1)
    relay.feed_text("second ")
    relay.feed_text("")
    relay.feed_text("third")
    await asyncio.sleep(0.01)
    assert len(got) == 1
    relay.close()
    assert got == [TurnDelta("t", "s", "first"), TurnDelta("t", "s", "second third")]


@pytest.mark.asyncio
async def test_thinking_and_reply_stay_apart_and_in_order() -> None:
    got: list[TurnNews] = []
    relay = DeltaRelay("t", "s", got.append)
    relay.feed_reasoning("hm ")
    relay.feed_reasoning("hm")
    relay.feed_text("well")
    relay.feed_reasoning("or")
    relay.close()
    assert got == [
        TurnDelta("t", "s", "hm hm", "reasoning"),
        TurnDelta("t", "s", "well"),
        TurnDelta("t", "s", "or", "reasoning"),
    ]


@pytest.mark.asyncio
async def test_tools_come_between_the_pieces_as_they_did() -> None:
    got: list[TurnNews] = []
    relay = DeltaRelay("t", "s", got.append, interval_s=60.0)
    relay.feed_text("I will ")
    relay.feed_text("look.")
    relay.feed_news(ToolProgress("c", "read_file", "a.txt"))
    relay.feed_news(ToolProgress("c", "read_file", "a.txt", ok=False, seconds=0.5))
    relay.feed_text("Nothing there.")
    relay.close()
    assert got == [
        TurnDelta("t", "s", "I will look."),
        ToolStarted("t", "s", "c", "read_file", "a.txt"),
        ToolFinished("t", "s", "c", "read_file", "a.txt", ok=False, seconds=0.5),
        TurnDelta("t", "s", "Nothing there."),
    ]


@pytest.mark.asyncio
async def test_nothing_comes_after_the_end() -> None:
    got: list[TurnNews] = []
    relay = DeltaRelay("t", "s", got.append)
    relay.close()
    relay.feed_text("late")
    await asyncio.sleep(0.01)
    assert got == []


@pytest.mark.asyncio
async def test_one_callback_at_a_time_however_fast_the_pieces_come() -> None:
    loop = asyncio.get_running_loop()
    rounds = 0

    def publish(_delta: TurnNews) -> None:
        nonlocal rounds
        rounds += 1

    relay = DeltaRelay("t", "s", publish, interval_s=0.0)
    feeder = threading.Thread(target=lambda: [relay.feed_text("x") for _ in range(10_000)])
    feeder.start()
    await loop.run_in_executor(None, feeder.join)
    relay.close()
    assert 1 <= rounds < 10_000


def test_a_loop_that_is_gone_is_no_error() -> None:
    async def make() -> DeltaRelay:
        return DeltaRelay("t", "s", lambda _delta: None)

    loop = asyncio.new_event_loop()
    relay = loop.run_until_complete(make())
    loop.close()
    relay.feed_text("nobody hears")
