"""``gateway status``: whoever has the home is named from its files, and nothing is touched."""

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE, STATE_FILE, GatewayRecord
from tests.cli.test_light_commands import HEAVY, loaded
from tests.fakes.identity import gateway_lookalike, identity_stage, write_record
from tests.fakes.program import Program, files_of
from tests.fakes.terminal import at_terminal
from tests.support.waiting import wait_until

pytestmark = pytest.mark.two_processes
TELEGRAM = {"state": "connected", "error_code": None, "error_message": None}


def iso(seconds_ago: float = 0.0) -> str:
    return datetime.fromtimestamp(time.time() - seconds_ago, UTC).isoformat()


def put_gateway(home: Path, record: GatewayRecord, **said: Any) -> None:
    write_record(home / PID_FILE, record)
    write_record(home / STATE_FILE, record, **{"updated_at": iso(), **said})


def asked(program: Program, code: int = 0) -> dict[str, Any]:
    done = program.run("gateway", "status", "--json")
    assert (done.code, done.err) == (code, "")
    (only,) = json.loads(done.out)
    return dict(only)


def test_without_a_gateway(program: Program, home: Path) -> None:
    done = program.run("gateway", "status")

    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines()[:2] == ["Gateway: not running", f"Home: {home}"]
    assert asked(program, 1)["running"] is False
    assert list(home.iterdir()) == []


def test_a_home_that_is_not_there_is_not_made(program: Program, home: Path) -> None:
    home.rmdir()

    assert program.run("gateway", "status").code == 1
    assert not home.exists()


def test_a_gateway_of_hermes(program: Program, home: Path) -> None:
    with gateway_lookalike() as record:
        trouble = {"state": "retrying", "error_message": "no\x1b route", "updated_at": iso(7200)}
        platforms = {"telegram": {**TELEGRAM, "updated_at": iso(180)}, "discord": trouble}
        put_gateway(home, record, gateway_state="running", active_agents=2, platforms=platforms)
        before = files_of(home)

        lines = program.run("gateway", "status").out.splitlines()
        found = asked(program)

    assert files_of(home) == before
    assert lines[0] == "Gateway: hermes gateway"
    assert f"Process: {record.pid}" in lines
    assert "Running turns: 2" in lines
    assert (
        "If you stop it: `hermes gateway stop` ends it; 2 running replies would be interrupted."
        in (lines)
    )
    assert lines[-2:] == ["discord\tretrying\t2 h\tno␛ route", "telegram\tconnected\t3 min\t"]
    assert (found["kind"], found["pid"], found["program_pid"]) == ("hermes", record.pid, record.pid)
    assert found["windowed"] is None
    assert found["running_turns"] == 2
    assert [each["name"] for each in found["platforms"]] == ["discord", "telegram"]
    assert abs(found["started_at"] - time.time()) < 60


def test_our_own_gateway(program: Program, home: Path) -> None:
    with identity_stage(home) as stage:
        record = stage.hold()
        stage.identity.update({"gateway_state": "running", "platforms": {"telegram": TELEGRAM}})
        wait_until(lambda: stage.file(STATE_FILE)["gateway_state"] == "running")
        before = stage.snapshot()

        lines = program.run("gateway", "status").out.splitlines()
        found = asked(program)
        after = stage.snapshot()

    assert after == before
    assert lines[0] == "Gateway: Hermes Desktop"
    assert f"Process: {record.pid} (program: {os.getpid()})" in lines
    assert (
        "If you stop it: it ends within 9 s; running replies are interrupted and resumed later."
        " The window stays open." in lines
    )
    assert lines[-1] == "telegram\tconnected\t?\t"
    assert (found["kind"], found["windowed"]) == ("hermes-desktop", True)
    assert found["silent"] is False


def test_work_that_ours_does_not_run_is_named(program: Program, home: Path) -> None:
    with gateway_lookalike() as record:  # `hermes gateway` does run it
        put_gateway(home, record, gateway_state="running")
        home.joinpath("cron").mkdir()
        home.joinpath("cron/jobs.json").write_text('{"jobs": [{"name": "ne\\u001bws"}]}')
        assert "Not run" not in program.run("gateway", "status").out
        assert asked(program)["not_run"] is None
    with gateway_lookalike("hermes-gateway", "--parent", "1") as record:
        put_gateway(home, record, gateway_state="running")
        out = program.run("gateway", "status").out
        found = asked(program)["not_run"]
    assert (
        "! Not run here: 1 scheduled job (“ne ws”). `hermes` expects a running gateway to do this,"
        " but Hermes Desktop cannot do it yet. To have it done, stop the gateway here and start"
        " `hermes gateway run`." in out.splitlines()
    )
    assert (found["jobs"], found["job_names"], found["cards"]) == (1, ["ne ws"], 0)


def test_on_a_terminal_platforms_are_a_table(program: Program, home: Path) -> None:
    with gateway_lookalike() as record:
        put_gateway(home, record, gateway_state="running", platforms={"telegram": TELEGRAM})

        screen = at_terminal(program, "gateway", "status").out

    assert "\ntelegram  connected        ?" in screen


def test_one_that_is_not_heard_of(program: Program, home: Path) -> None:
    with gateway_lookalike("hermes-gateway", "--parent", "1") as record:
        put_gateway(home, record, gateway_state="running", updated_at=iso(300))

        out = program.run("gateway", "status").out

    assert "! It has not updated its state for more than two minutes." in out


def test_a_service_and_a_drain_are_named(program: Program, home: Path) -> None:
    units = home.parent / ".config" / "systemd" / "user"
    units.mkdir(parents=True)
    unit = units / "hermes-gateway.service"
    unit.write_text(f'[Service]\nEnvironment="HERMES_HOME={home}"\n')
    home.joinpath(".drain_request.json").write_text("{}")
    with gateway_lookalike() as record:
        put_gateway(home, record, gateway_state="running")

        out = program.run("gateway", "status").out

    assert f"A service is installed for this home: {unit}" in out
    assert "The service hermes-gateway.service stops, too." in out
    assert "as .drain_request.json requests" in out


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"gateway_state": "running"}, "; then it was killed"),
        ({"gateway_state": "stopped"}, "Last: stopped, 20"),
        ({"gateway_state": "stopped", "exit_reason": "app ended"}, " (app ended)"),
    ],
)
def test_the_last_one(program: Program, home: Path, said: dict[str, Any], words: str) -> None:
    with gateway_lookalike() as record:
        pass
    put_gateway(home, record, **said)

    done = program.run("gateway", "status")

    assert done.code == 1
    assert words in done.out


@pytest.mark.parametrize("content", ["", "[]", "{", '{"pid": "x"}', '{"platforms": [1]}', "nul"])
def test_files_that_make_no_sense(program: Program, home: Path, content: str) -> None:
    for name in (PID_FILE, STATE_FILE):
        home.joinpath(name).write_text(content)

    assert asked(program, 1)["running"] is False


def test_it_loads_neither_a_window_nor_a_loop_nor_the_store(program: Program, home: Path) -> None:
    with gateway_lookalike() as record:
        put_gateway(home, record, gateway_state="running", platforms={"telegram": TELEGRAM})

        modules = loaded(program, "gateway", "status")

    assert not (HEAVY | {"sqlite3"}) & modules
    assert "hermes_desktop.state" not in modules
