"""Asking another gateway to go: by its own command, within bounds, and not for ever."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.gateway.identity.polite_stop import find_hermes
from hermes_desktop.gateway.identity.take_over import HomeTakeover
from hermes_desktop.gateway.runtime_files.identity_events import (
    Claimed,
    ForeignGateway,
    NotHere,
    StopRequested,
)
from hermes_desktop.gateway.runtime_files.identity_files import PID_FILE, GatewayRecord
from tests.fakes.clock import MovableClock
from tests.fakes.identity import IdentityStage, gateway_lookalike, identity_stage, write_record
from tests.support.waiting import wait_until


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[IdentityStage]:
    home = tmp_path / "home"
    home.mkdir()
    with identity_stage(home) as made:
        yield made


def command(folder: Path, script: str) -> dict[str, str]:
    """A ``hermes`` that does this; the environment in which it is found."""
    program = folder / "bin" / "hermes"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.defpath}", "_HERMES_GATEWAY": "1"}


def attach(stage: IdentityStage, record: GatewayRecord) -> None:
    write_record(stage.home / PID_FILE, record)
    wait_until(lambda: stage.identity.state == "attached")


def test_its_own_command_is_asked_for_this_home(stage: IdentityStage, tmp_path: Path) -> None:
    with gateway_lookalike() as record:
        attach(stage, record)
        said = tmp_path / "said"
        environ = command(
            tmp_path,
            f'echo "$HERMES_HOME|$_HERMES_GATEWAY|$*" > {said}; kill -9 {record.pid}',
        )

        answer = HomeTakeover(stage.paths, stage.identity, environ=environ).run()

        assert isinstance(answer, Claimed)
        assert said.read_text() == f"{stage.home}||-p default gateway stop\n"


def test_a_refusal_is_told_as_often_as_it_is_asked(stage: IdentityStage, tmp_path: Path) -> None:
    with gateway_lookalike() as record:
        attach(stage, record)
        environ = command(tmp_path, "echo it does not work >&2; exit 3")
        take_over = HomeTakeover(stage.paths, stage.identity, environ=environ)

        answers = [take_over.run() for _ in range(3)]

    for answer in answers:
        assert isinstance(answer, NotHere)
        assert answer.why == "not_stopped"
        assert "it does not work" in answer.detail


def test_what_comes_back_twice_is_not_stopped_a_third_time(
    stage: IdentityStage, tmp_path: Path
) -> None:
    clock = MovableClock()
    kill = f"kill -9 $(cat {tmp_path / 'pid'})"
    environ = command(tmp_path, kill)
    take_over = HomeTakeover(stage.paths, stage.identity, environ=environ, clock=clock)
    answers = []
    for _ in range(3):
        with gateway_lookalike() as record:
            tmp_path.joinpath("pid").write_text(str(record.pid))
            attach(stage, record)
            answers.append(take_over.run())
        stage.identity.release()
    clock.advance(601)
    again = take_over.run()

    assert [type(each) for each in answers] == [Claimed, Claimed, NotHere]
    assert isinstance(answers[2], NotHere)
    assert answers[2].why == "contested"
    assert isinstance(again, Claimed)


def test_waiting_can_be_ended(stage: IdentityStage, tmp_path: Path) -> None:
    with gateway_lookalike() as record:
        attach(stage, record)
        cancel = threading.Event()
        cancel.set()

        answer = HomeTakeover(stage.paths, stage.identity, environ=command(tmp_path, "")).run(
            cancel
        )

        assert isinstance(answer, NotHere)
        assert answer.why == "not_stopped"
        assert json.loads(stage.home.joinpath(PID_FILE).read_text())["pid"] == record.pid


def test_our_command_is_not_waited_for_when_nobody_wants_it_any_more(
    stage: IdentityStage, tmp_path: Path
) -> None:
    with gateway_lookalike() as record:
        attach(stage, record)
        cancel, said = threading.Event(), []

        def tell(words: str) -> None:
            said.append(words)
            cancel.set()

        taking = HomeTakeover(
            stage.paths, stage.identity, environ=command(tmp_path, "exec sleep 50")
        )
        answer = taking.run(cancel, progress=tell)

        assert isinstance(answer, NotHere)
        assert answer.detail == "You stopped waiting for it."
        assert said == [f"Asking the other gateway (process {record.pid}) to stop."]


def test_another_hermes_desktop_goes_without_the_command(stage: IdentityStage) -> None:
    with identity_stage(stage.home) as other:
        # Two of the same program do not see each other as foreign, two programs do.
        record = other.hold()
        gateway = ForeignGateway(record)
        taking = HomeTakeover(stage.paths, stage.identity, environ={"PATH": ""})
        assert find_hermes(gateway, {"PATH": ""}) is None

        assert taking._ask(gateway) == ""

        assert other.expect(StopRequested).kind == "stop"


def test_a_foreign_gateway_without_the_command_cannot_be_asked(stage: IdentityStage) -> None:
    with gateway_lookalike() as record:
        attach(stage, record)

        answer = HomeTakeover(stage.paths, stage.identity, environ={"PATH": ""}).run()

    assert isinstance(answer, NotHere)
    assert "not installed" in answer.detail


def test_the_command_is_also_found_beside_the_gateway(tmp_path: Path) -> None:
    command(tmp_path, "")
    beside = str(tmp_path / "bin" / "hermes")

    found = find_hermes(ForeignGateway(GatewayRecord(1, (beside, "gateway", "run"))), {"PATH": ""})

    assert found == beside


def test_without_another_gateway_it_is_a_claim(stage: IdentityStage) -> None:
    assert isinstance(HomeTakeover(stage.paths, stage.identity, environ={}).run(), Claimed)
