"""Commands in the background from the command line: they end with the program, which says so."""

from pathlib import Path

import pytest

from hermes_desktop.gateway.runtime_files.process_facts import is_alive
from tests.fakes.model_server import ModelServer, hang, text, tool_call
from tests.fakes.program import Program
from tests.fakes.rpc_client import RpcProcess

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


def test_a_question_ends_what_its_answer_started(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(tool_call("terminal", command="sleep 300", background=True))
    server.script(text("It runs."))
    done = program.run("chat", "-q", "Start it")
    assert done.code == 0
    assert "It runs." in done.out
    assert "Ended background process: sleep 300" in done.err


def test_rpc_ends_what_its_sessions_started(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(tool_call("terminal", command="sleep 300", background=True))
    server.script(text("It runs."))
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.create", cols=80)["session_id"]
        assert rpc.said(sid, "Start it")["text"].endswith("It runs.")
        [running] = rpc.call("process.list", session_id=sid)["processes"]
        assert (running["command"], running["status"]) == ("sleep 300", "running")
        assert (
            running["session_id"]
            in rpc.call("slash.exec", session_id=sid, command="/agents")["output"]
        )
        pid = running["pid"]
        assert is_alive(pid)
        assert rpc.end() == 0
    assert not is_alive(pid)


def test_what_a_killed_program_left_is_ended_by_the_next(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(tool_call("terminal", command="sleep 300", background=True))
    server.script(text("It runs."))
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.create", cols=80)["session_id"]
        rpc.said(sid, "Start it")
        [running] = rpc.call("process.list")["processes"]
    assert is_alive(running["pid"])
    with RpcProcess(program) as rpc:
        listed = []
        while not listed:
            listed = rpc.call("process.list")["processes"]
        assert [(each["session_id"], each["status"]) for each in listed] == [
            (running["session_id"], "lost")
        ]
        assert not is_alive(running["pid"])
        assert rpc.end() == 0


def test_rpc_tells_of_a_task_that_its_end_cuts_off(
    program: Program, configured: Path, server: ModelServer
) -> None:
    server.script(hang("I look"))
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.create")["session_id"]
        task = rpc.call("prompt.background", session_id=sid, text="Look")["task_id"]
        while not server.requests:
            rpc.call("agents.list")
        assert rpc.end() == 0
        told = rpc.event("background.complete", sid)
    assert (told["task_id"], told["error"]) == (task, True)
    assert "cut off" in told["text"]
