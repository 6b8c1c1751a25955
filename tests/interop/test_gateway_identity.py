"""Our identity process beside the real ``hermes gateway …`` commands.

They look for gateways on the whole machine and stop what they find, so that every command of these
tests runs in a process namespace of its own.
"""

import json
import re
import time
from typing import Any

import pytest

from hermes_desktop.gateway.identity.scheduled_work import ScheduledWork, scheduled_work
from tests.fakes.island import SCRIPTS, Island
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


def test_every_command_names_our_gateway_and_touches_nothing(island: Island) -> None:
    pid = island.holder().hold()
    before = island.inodes()

    for _ in range(5):
        code, said = island.hermes("gateway", "status")
        assert code == 0
        assert f"Gateway is running (PID: {pid})" in said
    assert re.search(rf"PID\(s\):\s+{pid}\b", island.hermes("status")[1])
    assert f"PID {pid}" in island.hermes("gateway", "list")[1]
    assert "cron jobs will fire automatically" in island.hermes("cron", "status")[1]
    assert island.inodes() == before


def test_claims_survive_those_who_ask_all_the_time(island: Island) -> None:
    holder = island.holder()
    python, script = str(island.python), str(SCRIPTS / "ask_for_gateway.py")
    asking = [island.start(python, script, "12") for _ in range(2)]
    for _ in range(4):
        pid = holder.hold()
        wait_until(
            lambda pid=pid: (
                (island.file("gateway.pid") or {}).get("pid") == pid
                and (island.file("gateway.lock") or {}).get("pid") == pid
            )
        )
        time.sleep(1.2)
        assert island.file("gateway.pid")["pid"] == island.file("gateway.lock")["pid"] == pid
        assert holder.ask("release", "released")["value"]
    for process in asking:
        assert int(process.communicate(timeout=60)[0].splitlines()[-1]) > 100


@pytest.mark.parametrize(("drain", "longest"), [("0.5", 6.0), ("never", 14.0)])
def test_stop_ends_our_gateway_and_not_our_program(
    island: Island, drain: str, longest: float
) -> None:
    holder = island.holder(drain)
    pid = holder.hold()
    began = time.monotonic()

    code, said = island.hermes("gateway", "stop")

    assert (code, "Stopped gateway for this profile" in said) == (0, True)
    assert holder.expect("StopRequested")["kind"] == "stop"
    holder.expect("released", "HardStop")
    assert time.monotonic() - began < longest
    state = island.file("gateway_state.json")
    assert (state["pid"], state["gateway_state"], state["platforms"]) == (pid, "stopped", {})
    assert (state["exit_reason"] is None) == (drain != "never")
    assert not island.home.joinpath("gateway.pid").exists()
    assert holder.state() == "free"
    assert holder.ask("claim", "NotHere")["why"] == "recent_stop"
    assert "not running" in island.hermes("gateway", "status")[1]


def test_run_refuses_while_ours_runs(island: Island) -> None:
    pid = island.holder().hold()
    before = island.inodes()

    code, said = island.hermes("gateway", "run")

    assert code == 1
    assert f"already running (PID {pid})" in said
    assert island.inodes() == before


@pytest.mark.parametrize("drain", ["0.5", "never"])
def test_replace_leads_to_attached_mode_and_take_over_back(island: Island, drain: str) -> None:
    holder = island.holder(drain)
    pid = holder.hold()

    with island.real_gateway("run", "--replace"):
        assert holder.expect("StopRequested")["kind"] == "takeover"
        holder.expect("released", "HardStop")
        real = wait_until(lambda: island.real_pid(but=pid))
        assert holder.expect("ForeignChanged")["gateway"]["record"][0] == real
        assert holder.state() == "attached"
        assert island.file("gateway_state.json")["platforms"] == {}
        assert not list(island.home.parent.glob("locks/*.lock"))
        assert holder.ask("claim", "HeldByOther")["gateway"]["record"][0] == real

        # The person wants it back.
        back = holder.ask("take over", "Claimed", "NotHere", "HeldByOther", seconds=90)

        assert back["name"] == "Claimed", back
        assert holder.state() == "hosting"
        assert island.file("gateway.pid")["pid"] == back["record"][0]


def test_restart_starts_the_real_one_and_ours_waits_for_a_person(island: Island) -> None:
    holder = island.holder()
    pid = holder.hold()

    with island.real_gateway("restart"):
        assert holder.expect("StopRequested")["kind"] == "stop"
        wait_until(lambda: island.real_pid(but=pid))
        wait_until(lambda: holder.state() == "attached")
        assert island.hermes("gateway", "stop")[0] == 0
        wait_until(lambda: holder.state() == "free")
        time.sleep(2)
        assert holder.state() == "free"


def test_a_restart_signal_comes_back_with_a_new_process(island: Island) -> None:
    holder = island.holder()
    pid = holder.hold()

    island.start("kill", "-USR1", str(pid)).communicate(timeout=60)

    assert holder.expect("StopRequested")["kind"] == "restart"
    renewed = int(holder.expect("Claimed", seconds=60)["record"][0])
    assert renewed != pid
    assert f"PID: {renewed}" in island.hermes("gateway", "status")[1]


@pytest.mark.parametrize("head_start", [0.0, 0.5, 0.8])
def test_started_together_one_of_both_gets_the_home(island: Island, head_start: float) -> None:
    holder = island.holder()
    with island.real_gateway():
        time.sleep(head_start)
        ours = holder.ask("claim", "Claimed", "HeldByOther")["name"] == "Claimed"
        if ours:
            wait_until(lambda: not island.pids_of("gateway"))
        else:
            wait_until(island.real_pid)
        time.sleep(1.2)
        assert holder.state() == ("hosting" if ours else "attached")


def test_other_homes_do_not_see_it_but_stop_all_does(island: Island) -> None:
    other = island.home.parent / "other"
    other.mkdir()
    holder = island.holder()
    pid = holder.hold()

    assert "not running" in island.hermes("gateway", "status", home=other)[1]
    island.hermes("gateway", "stop", home=other)
    assert holder.state() == "hosting"
    assert island.file("gateway.pid")["pid"] == pid

    island.hermes("gateway", "stop", "--all")
    assert holder.expect("StopRequested")["kind"] == "kill"
    holder.expect("released")


def test_a_token_is_refused_while_ours_uses_it(island: Island) -> None:
    holder = island.holder()
    holder.hold()

    held = island.script("judge_processes.py", json.dumps({"token": "1:abc"}))
    island.hermes("gateway", "stop")
    holder.expect("released")
    free = island.script("judge_processes.py", json.dumps({"token": "1:abc"}))

    assert (held["taken"], free["taken"]) == (False, True)


def test_our_own_command_lines_are_no_gateway(island: Island) -> None:
    lines = [
        "/usr/bin/python3 /usr/bin/hermes-desktop",
        "/opt/venv/bin/python -m hermes_desktop sessions list",
        "/opt/venv/bin/python /opt/venv/bin/hermes-desktop-gui --page settings",
        "/opt/Hermes Desktop/hermes-desktop --profile work",
    ]

    judged = island.script("judge_processes.py", json.dumps({"lines": lines}))

    assert judged["lines"] == dict.fromkeys(lines, False)


def test_what_hermes_scheduled_is_found(hermes: Any) -> None:
    hermes.command("cron", "create", "every 2h", "say hello", "--name", "hello")
    hermes.command("kanban", "create", "a card")
    hermes.command("kanban", "boards", "create", "garden")
    hermes.command("kanban", "--board", "garden", "create", "dig")

    assert scheduled_work(hermes.home, {}) == ScheduledWork(("hello",), ("default", "garden"), 2)
