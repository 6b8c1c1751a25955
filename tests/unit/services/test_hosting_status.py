"""One status out of what two runners and the identity say, and when it is news."""

import asyncio

import pytest

from hermes_desktop.core.events import (
    GatewayStatusChanged,
    HostingRefusal,
    OtherGateway,
    PlatformHealth,
)
from hermes_desktop.gateway.runner.state import RunnerReport
from hermes_desktop.services.hosting.hosting_status import StatusBoard, joined_state

OTHER = OtherGateway("hermes gateway", 7)


@pytest.mark.parametrize(
    ("stage", "turns", "health", "other", "state"),
    [
        ("idle", 0, (), None, "stopped"),
        ("idle", 1, (), None, "stopped"),
        ("idle", 0, (), OTHER, "attached"),
        ("starting", 1, (), OTHER, "starting"),
        ("hosting", 0, (), None, "running"),
        ("hosting", 2, ("connected",), None, "working"),
        ("hosting", 2, ("connected", "retrying"), None, "degraded"),
        ("hosting", 0, ("paused", "connecting", "disabled"), None, "running"),
        ("hosting", 0, ("connected", "unavailable"), None, "running"),
        ("hosting", 1, ("unavailable",), None, "working"),
        ("stopping", 2, ("fatal",), None, "stopping"),
    ],
)
def test_the_state_in_one_word(stage, turns, health, other, state) -> None:
    platforms = tuple(PlatformHealth(f"p{n}", each) for n, each in enumerate(health))

    assert joined_state(stage, turns, platforms, other) == state


@pytest.mark.asyncio
async def test_what_is_said_in_one_turn_of_the_loop_is_published_once() -> None:
    said: list[GatewayStatusChanged] = []
    board = StatusBoard(said.append)

    board.enter("starting", "Looking.")
    board.enter("hosting")
    board.note_private(RunnerReport("running", 1))
    board.note_hosted(RunnerReport("running", 2))
    assert said == []
    assert (await board.published()).running_turns == 3
    board.note_hosted(RunnerReport("running", 2))
    await board.published()
    await asyncio.sleep(0)

    assert said == [GatewayStatusChanged("working", running_turns=3)]


@pytest.mark.asyncio
async def test_since_when_is_the_start_whatever_happens_meanwhile() -> None:
    times = iter((100.0, 200.0))
    board = StatusBoard(lambda _: None, times.__next__)
    board.enter("starting")
    assert (await board.published()).since is None
    board.enter("hosting")
    assert (await board.published()).since == 100.0
    board.note_hosted(RunnerReport("running", 2))
    board.enter("hosting", "Still here.")
    assert (await board.published()).since == 100.0
    board.enter("stopping")
    assert (await board.published()).since is None
    board.enter("hosting")
    assert (await board.published()).since == 200.0


@pytest.mark.asyncio
async def test_refusals_and_words_last_as_long_as_they_are_true() -> None:
    board = StatusBoard(lambda _: None)
    refusal = HostingRefusal("No.", may_insist=True)

    board.refuse(refusal)
    assert (await board.published()).refusal == refusal
    assert board.status.detail == "No."
    board.note_other(OTHER)
    assert (await board.published()) == GatewayStatusChanged("attached", other=OTHER)
    board.refuse(refusal)  # a take-over that came to nothing
    board.note_other(OtherGateway("hermes gateway", 7, state="running"))
    assert (await board.published()).refusal == refusal
    board.explain("Asking it to stop.")
    assert (await board.published()).detail == "Asking it to stop."
    board.enter("starting")
    assert (await board.published()).refusal is None
    assert board.status.detail == ""


@pytest.mark.asyncio
async def test_an_idle_board_forgets_the_platforms() -> None:
    board = StatusBoard(lambda _: None)
    board.enter("hosting")
    board.note_hosted(RunnerReport("running", 1, (PlatformHealth("irc", "connected"),)))
    assert (await board.published()).platforms

    board.enter("idle", "Stopped.")

    assert (await board.published()) == GatewayStatusChanged("stopped", "Stopped.")


@pytest.mark.asyncio
async def test_an_offer_to_start_lasts_until_somebody_runs() -> None:
    board = StatusBoard(lambda _: None)
    board.offer_start("It was stopped.")
    assert (await board.published()) == GatewayStatusChanged(
        "stopped", "It was stopped.", offers_start=True
    )
    board.note_other(OTHER)
    assert not (await board.published()).offers_start
    board.offer_start("Too late: somebody runs.")
    board.note_other(None)
    assert (await board.published()) == GatewayStatusChanged("stopped")
    board.offer_start("It was stopped.")
    board.enter("starting")
    assert not (await board.published()).offers_start
