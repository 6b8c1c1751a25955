"""What the assistant does and asks in a conversation by rpc, as front ends see it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, text, tool_call
from tests.fakes.program import Program
from tests.fakes.rpc_client import RpcProcess, SocketClient

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


@pytest.fixture
def rpc(program: Program, configured: Path) -> Iterator[RpcProcess]:
    with RpcProcess(program) as running:
        yield running


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "build").mkdir(parents=True)
    return folder


def configure(home: Path, **more: Any) -> None:
    path = home / "config.yaml"
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))


def begun(rpc: Any, **params: object) -> str:
    sid: str = rpc.call("session.create", cols=80, **params)["session_id"]
    return sid


def wish(server: ModelServer, name: str = "terminal", **arguments: Any) -> None:
    given = {"command": "rm -rf build"} if name == "terminal" else arguments
    server.script(tool_call(name, **given))
    server.script(text("That is all."))


def told(server: ModelServer) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(server.requests[-1].messages[-1]["content"])
    return result


def test_tools_begin_in_the_folder_of_the_session_and_are_told(
    rpc: RpcProcess, server: ModelServer, work: Path
) -> None:
    server.script(tool_call("terminal", command="pwd; echo done"))
    server.script(text("That is all."))
    sid = begun(rpc, cwd=str(work))
    rpc.call("prompt.submit", session_id=sid, text="Where are you?")
    assert rpc.event("tool.generating", sid) == {"name": "terminal"}
    start = rpc.event("tool.start", sid)
    complete = rpc.event("tool.complete", sid)
    assert rpc.event("message.complete", sid)["text"] == "That is all."
    assert (start["name"], start["context"]) == ("terminal", "pwd; echo done")
    assert complete["tool_id"] == start["tool_id"]
    assert complete["ok"]
    assert complete["args"] == {"command": "pwd; echo done"}
    assert complete["result"]["output"] == f"{work}\ndone\n"
    assert complete["duration_s"] >= 0
    assert told(server)["output"] == f"{work}\ndone\n"
    names = {each["function"]["name"] for each in server.requests[0].json["tools"]}
    assert {"terminal", "write_file", "clarify", "memory"} <= names


def test_another_folder_counts_from_the_next_prompt_on(
    rpc: RpcProcess, server: ModelServer, work: Path
) -> None:
    sid = begun(rpc, cwd=str(work))
    rpc.said(sid, "Hello")
    rpc.call("session.cwd.set", session_id=sid, cwd=str(work / "build"))
    server.script(tool_call("terminal", command="pwd"))
    server.script(text("That is all."))
    rpc.said(sid, "Where are you?")
    assert told(server)["output"] == f"{work / 'build'}\n"


@pytest.mark.parametrize("choice", ["once", "deny"])
def test_a_word_is_asked_and_given(
    rpc: RpcProcess, server: ModelServer, work: Path, choice: str
) -> None:
    wish(server)
    sid = begun(rpc, cwd=str(work))
    assert rpc.call("approval.respond", session_id=sid, choice="once") == {"resolved": 0}
    rpc.call("prompt.submit", session_id=sid, text="Remove build")
    asked = rpc.event("approval.request", sid)
    assert asked["command"] == "rm -rf build"
    assert asked["cwd"] == str(work)
    assert "deletes folders" in asked["description"]
    assert asked["pattern_keys"] == [asked["pattern_key"]]
    assert asked["choices"] == ["once", "session", "always", "deny"]
    assert 0 < asked["timeout_s"] <= 60
    assert rpc.code("approval.respond", session_id=sid, choice="perhaps") == 4004
    assert rpc.code("approval.respond", session_id=sid) == 4004
    assert rpc.code("approval.respond", session_id=sid, choice="once", request_id="x") == 4009
    assert rpc.call("approval.respond", session_id=sid, choice=choice) == {"resolved": 1}
    over = rpc.event("approval.resolved", sid)
    assert (over["choice"], over["reason"], over["by"]) == (choice, "answered", "rpc")
    assert rpc.event("message.complete", sid)["text"] == "That is all."
    assert (work / "build").exists() == (choice == "deny")
    assert rpc.call("approval.respond", session_id=sid, choice="once") == {"resolved": 0}


def test_a_question_is_asked_and_answered(rpc: RpcProcess, server: ModelServer) -> None:
    wish(server, "clarify", question="Which port?", choices=["80", "443"])
    sid = begun(rpc)
    assert rpc.code("clarify.respond", request_id="x", answer="y") == 4009
    assert rpc.code("clarify.respond", answer="y") == 4006
    rpc.call("prompt.submit", session_id=sid, text="Open a port")
    asked = rpc.event("clarify.request", sid)
    assert (asked["question"], asked["choices"]) == ("Which port?", ["80", "443"])
    assert 0 < asked["timeout_s"] <= 600
    found = rpc.call("clarify.respond", request_id=asked["request_id"], answer="2")
    assert found == {"status": "ok"}
    over = rpc.event("clarify.resolved", sid)
    assert (over["answer"], over["by"]) == ("443", "rpc")
    rpc.event("message.complete", sid)
    assert told(server)["user_response"] == "443"
    assert rpc.code("clarify.respond", request_id=asked["request_id"], answer="1") == 4009


def test_silence_is_told(
    program: Program, configured: Path, server: ModelServer, work: Path
) -> None:
    approvals = {"timeout": 1, "sandboxed_commands": "off"}
    configure(configured, approvals=approvals, agent={"clarify_timeout": 1})
    with RpcProcess(program) as rpc:
        sid = begun(rpc, cwd=str(work))
        wish(server)
        rpc.call("prompt.submit", session_id=sid, text="Remove build")
        over = rpc.event("approval.resolved", sid)
        assert (over["choice"], over["reason"], over["by"]) == ("deny", "timeout", "")
        rpc.event("message.complete", sid)
        assert "in time" in told(server)["error"]
        wish(server, "clarify", question="Which port?")
        rpc.call("prompt.submit", session_id=sid, text="Open a port")
        assert rpc.event("clarify.resolved", sid)["reason"] == "timeout"
        rpc.event("message.complete", sid)
        assert "Nobody answered in time" in told(server)["note"]
    assert (work / "build").exists()


def test_interrupting_ends_what_waits(rpc: RpcProcess, server: ModelServer, work: Path) -> None:
    wish(server)
    sid = begun(rpc, cwd=str(work))
    rpc.call("prompt.submit", session_id=sid, text="Remove build")
    rpc.event("approval.request", sid)
    rpc.call("session.interrupt", session_id=sid)
    assert rpc.event("message.complete", sid)["status"] == "interrupted"
    assert rpc.call("approval.respond", session_id=sid, choice="once") == {"resolved": 0}
    assert (work / "build").exists()


def test_who_says_nothing_more_cannot_answer(
    program: Program, configured: Path, server: ModelServer, work: Path
) -> None:
    wish(server)
    with RpcProcess(program) as rpc:
        sid = begun(rpc, cwd=str(work))
        rpc.call("prompt.submit", session_id=sid, text="Remove build")
        rpc.event("approval.request", sid)
        assert rpc.end() == 0
        events = [each["params"] for each in rpc.frames if "method" in each]
    complete = [each["payload"] for each in events if each["type"] == "message.complete"]
    assert complete[0]["text"] == "That is all."
    assert "no longer be reached" in told(server)["error"]
    assert (work / "build").exists()


def test_yolo_for_one_session(rpc: RpcProcess, server: ModelServer, work: Path) -> None:
    sid, other = begun(rpc, cwd=str(work)), begun(rpc)
    assert rpc.call("config.get", key="yolo", session_id=sid)["value"] == "0"
    assert rpc.call("config.get", key="approval_mode", session_id=sid)["value"] == "smart"
    assert rpc.call("config.set", key="yolo", session_id=sid, value="1")["value"] == "1"
    assert rpc.call("config.get", key="approval_mode", session_id=sid)["value"] == "off"
    assert rpc.call("config.get", key="yolo", session_id=other)["value"] == "0"
    wish(server)
    rpc.said(sid, "Remove build")
    assert not (work / "build").exists()
    assert rpc.call("config.set", key="approval_mode", session_id=sid, value="manual")
    assert rpc.call("config.get", key="yolo", session_id=sid)["value"] == "0"
    assert rpc.call("config.set", key="yolo", session_id=sid)["value"] == "1"
    assert rpc.code("config.set", key="yolo", session_id=sid, value="maybe") == 4004
    assert rpc.code("config.set", key="approval_mode", session_id=sid, value="x") == 4004


def test_commands_answer_too(rpc: RpcProcess, server: ModelServer, work: Path) -> None:
    wish(server)
    sid = begun(rpc, cwd=str(work))
    rpc.call("prompt.submit", session_id=sid, text="Remove build")
    rpc.event("approval.request", sid)
    said = rpc.call("slash.exec", session_id=sid, command="/approve")
    assert "Allowed once" in json.dumps(said)
    rpc.event("message.complete", sid)
    assert not (work / "build").exists()


@pytest.fixture
def listening(program: Program, configured: Path, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "s" / "rpc.sock"
    path.parent.mkdir(mode=0o700)
    process = program.start("rpc", "--socket", str(path))
    assert process.stderr is not None
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
    yield path
    process.terminate()
    process.communicate(timeout=60)


def connected(path: Path) -> SocketClient:
    while True:
        try:
            client = SocketClient(path)
        except ConnectionRefusedError:
            continue
        client.event("gateway.ready")
        return client


def test_who_comes_later_sees_what_waits_and_the_first_answer_counts(
    listening: Path, server: ModelServer, work: Path
) -> None:
    wish(server)
    with connected(listening) as first, connected(listening) as second:
        sid = begun(first, cwd=str(work))
        first.call("prompt.submit", session_id=sid, text="Remove build")
        asked = first.event("approval.request", sid)
        found = second.call("session.activate", session_id=sid)
        assert [each["command"] for each in found["pending"]["approvals"]] == ["rm -rf build"]
        assert second.event("approval.request", sid)["request_id"] == asked["request_id"]
        assert second.call("approval.respond", session_id=sid, choice="deny") == {"resolved": 1}
        over = first.event("approval.resolved", sid)
        assert (over["request_id"], over["choice"]) == (asked["request_id"], "deny")
        late = {"choice": "once", "request_id": asked["request_id"]}
        assert first.code("approval.respond", session_id=sid, **late) == 4009
        first.event("message.complete", sid)
    assert (work / "build").exists()


def test_the_last_client_goes_and_nothing_waits(
    listening: Path, server: ModelServer, work: Path, db: SessionDB
) -> None:
    wish(server)
    with connected(listening) as first:
        sid = begun(first, cwd=str(work))
        first.call("prompt.submit", session_id=sid, text="Remove build")
        first.event("approval.request", sid)
    server.wait_for_requests(2)
    assert "no longer be reached" in told(server)["error"]
    with connected(listening) as again:
        found = again.call("session.resume", session_id=sid)
        assert found["pending"] == {"approvals": [], "questions": []}
    assert (work / "build").exists()


def test_one_of_two_clients_goes_and_the_other_answers(
    listening: Path, server: ModelServer, work: Path
) -> None:
    wish(server)
    with connected(listening) as second:
        with connected(listening) as first:
            sid = begun(first, cwd=str(work))
            second.call("session.activate", session_id=sid)
            first.call("prompt.submit", session_id=sid, text="Remove build")
            first.event("approval.request", sid)
        second.event("approval.request", sid)
        assert second.call("approval.respond", session_id=sid, choice="once") == {"resolved": 1}
        second.event("message.complete", sid)
    assert not (work / "build").exists()


@pytest.mark.needs("sandbox")
def test_access_is_asked_for_and_kept(
    rpc: RpcProcess, server: ModelServer, configured: Path, work: Path, tmp_path: Path
) -> None:
    configure(configured, approvals={})
    plan = tmp_path / "papers/plan.txt"
    plan.parent.mkdir()
    plan.write_text("the plan")
    server.script(tool_call("ask_access", kind="path", what=str(plan), access="write", why="So."))
    server.script(tool_call("terminal", command=f"echo x > {plan}; cat {plan}"))
    server.script(text("That is all."))
    sid = begun(rpc, cwd=str(work))
    rpc.call("prompt.submit", session_id=sid, text="Write the plan")
    asked = rpc.event("approval.request", sid)
    assert (asked["tool"], asked["subject"]) == ("ask_access", "path")
    assert asked["headline"] == "Let commands change this file?"
    assert asked["command"] == str(plan)
    assert asked["pattern_key"] == "path-write"
    assert asked["choices"] == ["once", "session", "always", "deny"]
    assert rpc.call("approval.respond", session_id=sid, choice="always") == {"resolved": 1}
    assert rpc.event("message.complete", sid)["text"] == "That is all."
    assert told(server)["output"] == "x\n"
    assert plan.read_text() == "x\n"
    kept = yaml.safe_load((configured / "config.yaml").read_text())
    assert kept["terminal"] == {"writable_paths": [str(plan)]}
    assert kept["model"]["default"] == "a-model"


@pytest.mark.needs("sandbox")
def test_a_command_is_run_outside_the_sandbox_once(
    rpc: RpcProcess, server: ModelServer, configured: Path, work: Path, tmp_path: Path
) -> None:
    configure(configured, approvals={})
    (tmp_path / "letter.txt").write_text("dear")
    command = "cat ../letter.txt || { echo 'cannot open display' >&2; exit 1; }"
    server.script(tool_call("terminal", command=command), text("That is all."))
    sid = begun(rpc, cwd=str(work))
    rpc.call("prompt.submit", session_id=sid, text="Show it")
    asked = rpc.event("approval.request", sid)
    assert asked["choices"] == ["outside", "deny"]
    assert "Outside the sandbox nothing holds this command" in asked["description"]
    assert not asked["allow_permanent"]
    assert rpc.call("approval.respond", session_id=sid, choice="outside") == {"resolved": 1}
    assert rpc.event("message.complete", sid)["text"] == "That is all."
    assert told(server)["output"] == "dear"
