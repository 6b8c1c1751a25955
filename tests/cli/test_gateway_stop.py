"""``gateway stop``: names what it stops, asks, waits, kills nobody."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.gateway.runtime_files.identity_events import StopRequested
from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE, STOP_MARKER, GatewayRecord
from tests.fakes.identity import IdentityStage, gateway_lookalike, identity_stage, write_record
from tests.fakes.program import Program, files_of
from tests.fakes.terminal import at_terminal

pytestmark = pytest.mark.two_processes


@pytest.fixture
def hosting(home: Path) -> Iterator[IdentityStage]:
    """A Hermes Desktop that hosts the home and leaves when asked."""
    with identity_stage(home) as stage:
        stage.hold()
        yield stage


def leave_when_asked(stage: IdentityStage) -> "list[StopRequested]":
    asked: list[StopRequested] = []

    def leave() -> None:
        asked.append(stage.expect(StopRequested))
        stage.identity.release()

    threading.Thread(target=leave, daemon=True).start()
    return asked


def hermes_that(program: Program, folder: Path, script: str) -> None:
    """Put a ``hermes`` on the program's path that does this."""
    place = folder / "bin" / "hermes"
    place.parent.mkdir()
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    program.environ["PATH"] = f"{place.parent}:{os.environ['PATH']}"


def attach(home: Path, record: GatewayRecord) -> None:
    write_record(home / PID_FILE, record)


def test_without_a_gateway_it_is_no_error(program: Program, home: Path) -> None:
    done = program.run("gateway", "stop", "--yes")

    assert (done.code, done.out) == (0, "No gateway is running for this home.\n")
    assert program.run("gateway", "stop", "--json", "--yes").out == "[]\n"
    assert list(home.iterdir()) == []


def test_ours_is_asked_as_hermes_would(program: Program, hosting: IdentityStage) -> None:
    asked = leave_when_asked(hosting)

    done = program.run("gateway", "stop", "--yes")

    assert done.code == 0, done.err
    assert done.out == (
        "Hermes Desktop is no longer the gateway of this home; its window stays open.\n"
    )
    assert [each.kind for each in asked] == ["stop"]
    assert hosting.file("gateway_state.json")["exit_reason"] is None
    assert not hosting.home.joinpath(STOP_MARKER).exists()


def test_the_result_for_programs(program: Program, hosting: IdentityStage) -> None:
    record = hosting.identity.record
    assert record is not None
    leave_when_asked(hosting)

    done = program.run("gateway", "stop", "--yes", "--json")

    assert json.loads(done.out) == [
        {"pid": record.pid, "kind": "hermes-desktop", "stopped": True}
    ]  # fmt: skip


def test_it_is_named_and_asked_about(program: Program, hosting: IdentityStage) -> None:
    record = hosting.identity.record
    assert record is not None
    before = hosting.snapshot()

    refused = program.run("gateway", "stop")
    dry = program.run("gateway", "stop", "--dry-run")
    declined = at_terminal(program, "gateway", "stop", typed=b"n\n", columns=300)

    assert (refused.code, declined.code, dry.code) == (5, 5, 0)
    for said in (dry.out, declined.out):
        assert f"is Hermes Desktop, process {record.pid}, since " in said
        assert "it ends within 9 s" in said
    assert "Stop Hermes Desktop?" in declined.out
    assert hosting.identity.state == "hosting"
    assert hosting.snapshot() == before


def test_on_a_terminal_the_seconds_are_shown(program: Program, hosting: IdentityStage) -> None:
    leave_when_asked(hosting)

    done = at_terminal(program, "gateway", "stop", typed=b"y\n")

    assert done.code == 0
    assert "Waiting for Hermes Desktop to end … 0 s" in done.out


def test_the_other_kind_is_stopped_by_its_own_command(
    program: Program, home: Path, tmp_path: Path
) -> None:
    with gateway_lookalike() as record:
        attach(home, record)
        hermes_that(program, tmp_path, f'echo "$*" > {tmp_path}/said; kill {record.pid}')

        done = program.run("gateway", "stop", "--yes")

    assert (done.code, done.out) == (0, "hermes gateway has stopped.\n")
    assert tmp_path.joinpath("said").read_text() == "-p default gateway stop\n"


def test_one_that_cannot_be_asked_is_left_alone(
    program: Program, home: Path, tmp_path: Path
) -> None:
    with gateway_lookalike() as record:
        attach(home, record)
        hermes_that(program, tmp_path, "echo it has its reasons >&2; exit 3")
        before = files_of(home)

        done = program.run("gateway", "stop", "--yes")

        assert record.is_live()
    assert done.code == 1
    assert "hermes gateway was not stopped." in done.err
    assert "it has its reasons" in done.err
    assert f"It was not killed; its process ID is {record.pid}." in done.err
    assert files_of(home) == before


def test_waiting_can_be_ended(program: Program, home: Path, tmp_path: Path) -> None:
    with gateway_lookalike() as record:
        attach(home, record)
        hermes_that(program, tmp_path, "true")
        process = program.start("gateway", "stop", "--yes")
        assert process.stderr is not None
        assert b"Waiting for hermes gateway to end" in process.stderr.readline()

        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

        assert record.is_live()
    assert process.returncode == 5
    assert b"You stopped waiting." in err
