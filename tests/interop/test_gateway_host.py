"""Our services hosting a gateway beside the real ``hermes gateway …`` commands.

Each test runs in a process namespace of its own, because the commands look at the whole machine.
"""

import contextlib
import json
import re
import time
import urllib.request
from pathlib import Path

import pytest

from hermes_desktop.services.hosting.hosting_words import OTHER_STOPPED
from hermes_desktop.state import SessionDB
from tests.fakes.island import Hosted, Island
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]

_CHAT = {"platform": "matrix", "chat_id": "room", "user_id": "u9", "chat_type": "dm"}


def identity_files(island: Island) -> dict[str, bytes]:
    """What belongs to the gateway alone."""
    files = [*island.home.glob("gateway*"), island.home / "sessions" / "sessions.json"]
    return {file.name: file.read_bytes() for file in files if file.is_file()}


def routing(island: Island) -> dict[str, str]:
    db = SessionDB(island.home / "state.db", read_only=True)
    try:
        return db.load_gateway_routing_entries(scope=str((island.home / "sessions").resolve()))
    finally:
        db.close()


def their_chat(island: Island) -> str:
    """An entry that the real program made; its key."""
    calls = [["get_or_create_session", [_CHAT]]]
    words = (str(island.home / "sessions"), json.dumps(calls), "{}")
    (key,) = island.script("work_on_sessions.py", *words)["entries"]
    return str(key)


def no_trouble(ours: Hosted) -> bool:
    return not re.search(r"Traceback|Error", "".join(ours.noise))


def test_the_commands_name_ours_and_stop_it_and_the_program_lives(island: Island) -> None:
    ours = island.hosted("autostart")
    pid = int(ours.reach("running")["pid"])

    assert f"Gateway is running (PID: {pid})" in island.hermes("gateway", "status")[1]
    code, said = island.hermes("gateway", "run")
    assert (code, f"already running (PID {pid})" in said) == (1, True)
    ours.ask("say hello", "said")
    wait_until(lambda: ours.ask("texts", "texts")["texts"])

    code, said = island.hermes("gateway", "stop")

    assert (code, "Stopped gateway" in said) == (0, True)
    status = ours.reach("stopped")
    assert "command line" in status["detail"]
    assert status["bots"] == 0
    state = island.file("gateway_state.json")
    assert (state["gateway_state"], state["exit_reason"]) == ("stopped", None)
    assert state["platforms"] == {}
    assert not list(island.home.parent.glob("locks/*.lock"))
    assert ours.ask("start", "done")["refusal"]["may_insist"]
    # Only the identity process looks like a gateway, never the program.
    line = " ".join(ours.facts["cmdline"]).strip()
    judged = island.script("judge_processes.py", json.dumps({"lines": [line]}))
    assert judged["lines"] == {line: False}
    assert not [each for each in ours.facts["environ"] if "hermes-gateway" in each]
    # Quit: nothing of it is left.
    ours.tell("quit")
    assert ours.expect("left")["tasks"] == []
    assert ours.expect("closed") == {"name": "closed", "threads": [], "children": []}
    assert no_trouble(ours)


def test_replaced_it_follows_the_other_and_takes_over_when_told(island: Island) -> None:
    key = their_chat(island)
    ours = island.hosted("autostart")
    pid = int(ours.reach("running")["pid"])
    ours.ask("say hello", "said")
    wait_until(lambda: len(routing(island)) == 2)
    entry = routing(island)[key]

    with contextlib.ExitStack() as stack:
        with island.without_platforms():
            stack.enter_context(island.real_gateway("run", "--replace"))
            real = wait_until(lambda: island.real_pid(but=pid))
        status = ours.reach("attached")
        assert status["bots"] == 0
        assert status["other"]["pid"] == real
        assert status["other"]["started_at"] is not None
        assert island.file("gateway_state.json")["platforms"] == {}
        assert not list(island.home.parent.glob("locks/*.lock"))
        assert ours.ask("start", "done")["state"] == "attached"

        back = ours.ask("takeover", "done", seconds=90)

        assert back["state"] == "running"
        assert back["other"] is None
        assert island.file("gateway.pid")["pid"] == back["pid"] != real
        assert routing(island)[key] == entry
        assert len(routing(island)) == 2


def test_theirs_first_ours_writes_nothing_of_a_gateway(island: Island) -> None:
    their_chat(island)
    with island.real_gateway():
        real = wait_until(island.real_pid)
        ours = island.hosted("autostart")
        assert ours.reach("attached")["other"]["pid"] == real
        before, entries = identity_files(island), routing(island)

        typed = ours.ask("type good evening", "typed")

        assert ours.expect("turn") == {
            "name": "turn",
            "outcome": "done",
            "session_id": typed["session_id"],
        }
        assert identity_files(island) == before
        assert routing(island) == entries
        assert "stopped" in island.hermes("gateway", "stop")[1].lower()
        ours.reach("stopped")
        wait_until(lambda: ours.status()["offers_start"])
        assert ours.ask("start", "done")["state"] == "running"


def test_a_restart_by_the_command_line_starts_theirs_and_ours_stays_off(island: Island) -> None:
    ours = island.hosted("autostart")
    pid = int(ours.reach("running")["pid"])

    with island.without_platforms(), island.real_gateway("restart"):
        wait_until(lambda: island.real_pid(but=pid))
        ours.reach("attached")
        assert island.hermes("gateway", "stop")[0] == 0
        wait_until(lambda: ours.status()["detail"] == OTHER_STOPPED)
        time.sleep(1.5)
        assert ours.status()["state"] == "stopped"


def test_an_update_restarts_ours_by_a_signal_and_starts_no_other(island: Island) -> None:
    ours = island.hosted()
    pid = ours.begin()

    found = island.script("ask_for_update.py")
    assert found == {
        "pids": [pid],
        "serving": {str(pid): "default"},
        "modes": {str(pid): "external-supervisor"},
    }
    island.start("kill", "-USR1", str(pid)).communicate(timeout=60)

    renewed = wait_until(lambda: _running_but(ours, pid))
    assert f"PID: {renewed}" in island.hermes("gateway", "status")[1]
    time.sleep(1.0)
    assert not island.pids_of("gateway")


def _running_but(ours: Hosted, pid: int) -> int | None:
    status = ours.status()
    return status["pid"] if status["state"] == "running" and status["pid"] != pid else None


@pytest.fixture
def service(island: Island) -> Path:
    """A unit for this home, and a ``systemctl`` that finds everything in order."""
    folder = island.home.parent / ".config" / "systemd" / "user"
    folder.mkdir(parents=True)
    folder.joinpath("hermes-gateway.service").write_text(
        "[Service]\nExecStart=hermes gateway run\n"
    )
    program = island.home.parent / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    return folder


def test_with_a_service_a_person_must_insist_and_the_note_alone_stops_it(
    island: Island, service: Path
) -> None:
    ours = island.hosted("autostart", "service", str(service))
    refusal = wait_until(lambda: ours.status()["refusal"])
    assert "service" in refusal["title"]
    assert not list(island.home.glob("gateway*"))
    status = ours.ask("insist", "done")
    assert status["state"] == "running"

    programs = f"{service.parents[2] / 'bin'}:{island.environment()['PATH']}"
    name = str(island.python.parent / "hermes")
    stop = island.start(name, "gateway", "stop", PATH=programs, XDG_RUNTIME_DIR="/tmp")
    stop.communicate(timeout=60)

    assert "command line" in ours.reach("stopped", seconds=10)["detail"]
    # A restart is left to the service.
    status = ours.ask("insist", "done")
    island.start("kill", "-USR1", str(status["pid"])).communicate(timeout=60)
    ours.reach("stopped", seconds=10)
    time.sleep(1.0)
    assert ours.status()["state"] == "stopped"


@pytest.mark.needs("strace")
def test_while_theirs_runs_nothing_of_ours_touches_its_files(
    island: Island, tmp_path: Path
) -> None:
    their_chat(island)
    calls = "openat,open,creat,truncate,rename,renameat,renameat2,unlink,unlinkat,link,linkat,flock"
    trace = tmp_path / "trace"
    with island.real_gateway():
        wait_until(island.real_pid)
        command = ("strace", "-f", "-y", "-qq", "-o", str(trace), "-e", f"trace={calls}")
        ours = island.hosted("autostart", under=command)
        ours.reach("attached")
        ours.ask("type good evening", "typed")
        ours.expect("turn")
        assert ours.ask("start", "done")["state"] == "attached"
        ours.tell("quit")
        ours.expect("closed")

    lines = trace.read_text(errors="replace").splitlines()
    names = re.compile(
        rf"{re.escape(str(island.home))}/[^\"<>]*(gateway|sessions/|\.clean|\.restart)[^\"<>]*"
    )
    # A call that another thread interrupts has its arguments in the first of its two lines.
    touching = [line for line in lines if names.search(line) and "resumed>" not in line]
    assert any("gateway.pid" in line for line in touching)  # it was looked at
    assert [line for line in touching if not _only_reads(line)] == []


def _only_reads(line: str) -> bool:
    """Whether a traced call can change nothing and locks nothing."""
    opens = re.search(r"\bopen(at)?\(", line) is not None
    return opens and not re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", line)


def test_the_web_server_of_hermes_shows_ours(island: Island) -> None:
    pid = island.hosted().begin()
    with island.served() as address, urllib.request.urlopen(f"{address}/api/status") as answer:
        status = json.load(answer)

    assert (status["gateway_running"], status["gateway_pid"]) == (True, pid)
    assert status["gateway_state"] == "running"
    assert island.file("gateway.pid")["pid"] == pid
