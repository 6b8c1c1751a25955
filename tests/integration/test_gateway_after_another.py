"""What the services do when the gateway of another program ends: a stop is a stop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE, STATE_FILE, GatewayRecord
from hermes_desktop.services.hosting.hosting_words import OTHER_CRASHED, OTHER_STOPPED
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.identity import gateway_lookalike, write_record
from tests.integration.test_gateway_host import mark_stop, pid_of

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]

LONG_ENOUGH_S = 1.0
"""More than three times the pause after a crash."""


def write_files(home: Path, record: GatewayRecord, state: str = "running") -> None:
    """What a gateway keeps in its home while it runs."""
    write_record(home / PID_FILE, record)
    write_record(home / STATE_FILE, record, gateway_state=state)


async def sees(stage: HostStage, record: GatewayRecord) -> None:
    await stage.until(lambda: (other := stage.host.status.other) and other.pid == record.pid)


@contextlib.asynccontextmanager
async def attached(folder: Path) -> AsyncIterator[HostStage]:
    """Services that would host the home, and found another gateway when they started."""
    with gateway_lookalike() as first:
        async with host_stage(
            folder, autostart=True, prepare=lambda home: write_files(home, first)
        ) as stage:
            await stage.reach("attached")
            yield stage


async def follow(stage: HostStage, state: str, *, last: GatewayRecord | None = None) -> Any:
    """Attach to a gateway that then ends, leaving this state.

    Args:
        stage: The services.
        state: The last thing in the state file.
        last: Whom the state file names in the end; None for that gateway itself.
    """
    with gateway_lookalike() as record:
        write_files(stage.home, record)
        await sees(stage, record)
        write_record(stage.home / STATE_FILE, last or record, gateway_state=state)
    return await stage.reach("stopped")


async def stays_off(stage: HostStage, detail: str) -> None:
    await stage.until(lambda: stage.host.status.offers_start)
    assert stage.host.status.detail == detail
    await asyncio.sleep(LONG_ENOUGH_S)
    assert stage.host.state == "stopped"
    assert not stage.home.joinpath("gateway.lock").exists()
    assert stage.host.status.offers_start


@pytest.mark.parametrize("state", ["stopped", "startup_failed"])
async def test_after_a_stop_the_home_is_left_alone_until_a_person_starts(
    tmp_path: Path, state: str
) -> None:
    async with attached(tmp_path) as stage:
        await follow(stage, state)
        await stays_off(stage, OTHER_STOPPED)

        await stage.host.start()

        assert stage.host.state == "running"
        assert not stage.host.status.offers_start


@pytest.mark.parametrize("state", ["starting", "running", "degraded", "draining"])
async def test_only_a_crash_is_followed(tmp_path: Path, state: str) -> None:
    async with attached(tmp_path) as stage:
        await follow(stage, state)

        await stage.reach("running")

        assert not stage.host.status.offers_start
        assert any("crashed" in each.detail for each in stage.statuses)


async def test_a_stop_counts_for_the_gateways_that_come_after_it(tmp_path: Path) -> None:
    async with attached(tmp_path) as stage:
        await follow(stage, "stopped")
        await stays_off(stage, OTHER_STOPPED)

        await follow(stage, "running")

        await stays_off(stage, OTHER_CRASHED)


async def test_a_state_that_names_nobody_we_watched_is_no_crash(tmp_path: Path) -> None:
    stranger = GatewayRecord(4_000_000, ("hermes", "gateway", "run"), 1)
    async with attached(tmp_path) as stage:
        await follow(stage, "running", last=stranger)

        await stays_off(stage, OTHER_STOPPED)


async def test_a_stop_while_the_home_is_about_to_be_taken_up_counts(tmp_path: Path) -> None:
    async with attached(tmp_path) as stage:
        with gateway_lookalike() as record:
            write_files(stage.home, record)
            await sees(stage, record)
        await stage.until(lambda: "starts in" in stage.host.status.detail)
        write_record(stage.home / STATE_FILE, record, gateway_state="stopped")

        await stays_off(stage, OTHER_STOPPED)


async def test_who_does_not_start_by_itself_offers_it_after_a_crash(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await follow(stage, "running")

        await stays_off(stage, OTHER_CRASHED)


async def test_ours_stopped_from_outside_offers_to_start_again(tmp_path: Path) -> None:
    async with host_stage(tmp_path, autostart=True) as stage:
        await stage.reach("running")
        pid = pid_of(stage)
        mark_stop(stage)
        status = await stage.reach("stopped")

        assert status.offers_start
        assert "command line" in status.detail
        await follow(stage, "stopped")
        await stage.until(lambda: stage.host.status.detail == OTHER_STOPPED)
        assert pid != stage.file(STATE_FILE)["pid"]


async def test_a_person_who_stops_it_is_offered_nothing(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()

        await stage.host.stop()

        assert not stage.host.status.offers_start
