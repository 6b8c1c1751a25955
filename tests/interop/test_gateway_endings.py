"""Ways in which the real gateway ends while our services, which would host the home, watch it."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from hermes_desktop.services.hosting.hosting_return import TAKE_UP_AFTER_S
from hermes_desktop.services.hosting.hosting_words import OTHER_CRASHED, OTHER_STOPPED
from tests.fakes.island import Hosted, Island
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


@pytest.fixture
def watching(island: Island) -> Iterator[Hosted]:
    """Ours, attached to the real gateway; without platforms in the settings of either."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(island.real_gateway())
        real = wait_until(island.real_pid)
        ours = island.hosted("autostart")
        stack.enter_context(island.without_platforms())
        assert ours.reach("attached")["other"]["pid"] == real
        yield ours


def stays_off(ours: Hosted, detail: str = OTHER_STOPPED) -> None:
    """It offers to start and does not start, for longer than it would wait after a crash."""
    status = wait_until(lambda: (found := ours.status())["offers_start"] and found)
    assert (status["state"], status["detail"]) == ("stopped", detail)
    until = time.monotonic() + TAKE_UP_AFTER_S + 2
    while time.monotonic() < until:
        status = ours.status()
        assert (status["state"], status["detail"]) == ("stopped", detail)
        time.sleep(0.1)


def send(island: Island, number: signal.Signals) -> None:
    for pid in island.pids_of("gateway"):
        os.kill(pid, number)


def test_a_stop_is_a_stop(island: Island, watching: Hosted) -> None:
    code, said = island.hermes("gateway", "stop")

    assert (code, "Stopped gateway" in said) == (0, True)
    assert island.file("gateway_state.json")["gateway_state"] == "stopped"
    stays_off(watching)
    assert watching.ask("start", "done")["state"] == "running"


def test_ctrl_c_is_a_stop(island: Island, watching: Hosted) -> None:
    send(island, signal.SIGINT)

    stays_off(watching)
    assert island.file("gateway_state.json")["gateway_state"] == "stopped"


def test_a_restart_is_followed_and_its_end_is_left_to_a_person(
    island: Island, watching: Hosted
) -> None:
    first = island.real_pid()
    with island.real_gateway("restart"):
        real = wait_until(lambda: island.real_pid(but=first or 0))
        wait_until(lambda: (watching.status()["other"] or {}).get("pid") == real)
        send(island, signal.SIGKILL)

        # The first one was stopped. Who stopped it has not started anything here since.
        stays_off(watching, OTHER_CRASHED)


def test_a_restart_whose_second_half_fails_is_a_stop(island: Island, watching: Hosted) -> None:
    with island.real_gateway("restart"):
        wait_until(lambda: island.file("gateway_state.json")["gateway_state"] == "stopped")
        send(island, signal.SIGKILL)  # what is left is the command that would start the next one

        stays_off(watching)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill -9", "unmarked"])
def test_an_end_without_a_word_is_followed(
    island: Island, watching: Hosted, number: signal.Signals
) -> None:
    send(island, number)

    assert watching.reach("running")["other"] is None
    assert not watching.status()["offers_start"]
