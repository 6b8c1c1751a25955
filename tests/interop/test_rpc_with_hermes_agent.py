"""The protocol's server of hermes-agent and ours, side by side on one session of one home."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer, text, tool_call
from tests.fakes.program import Program
from tests.fakes.rpc_client import PATIENCE_S, RpcClient, RpcProcess
from tests.interop.conftest import RealHermes, choose_model

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.timeout(300)]


class TheirProcess(RpcClient):
    """The front ends' server of hermes-agent."""

    def __init__(self, hermes: RealHermes) -> None:
        self.process = subprocess.Popen(
            [str(hermes.python), "-m", "tui_gateway.entry"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=hermes.environment(),
            cwd=hermes.home.parent,
        )
        assert self.process.stdout is not None
        super().__init__(self._to_stdin, self.process.stdout.readline)
        self.event("gateway.ready")

    def _to_stdin(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answered(self, sid: str, text: str) -> str:
        self.call("prompt.submit", session_id=sid, text=text)
        complete = self.event("message.complete", sid)
        self.event("session.info", sid)
        return str(complete["text"])

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait(PATIENCE_S)
            self._reader.join(PATIENCE_S)
            self.process.stdout.close()


@pytest.fixture
def configured(hermes: RealHermes, server: ModelServer) -> RealHermes:
    choose_model(hermes.home, server)
    return hermes


@pytest.fixture
def ours(configured: RealHermes) -> Iterator[RpcProcess]:
    with RpcProcess(Program(configured.home)) as running:
        yield running


@pytest.fixture
def theirs(configured: RealHermes) -> Iterator[TheirProcess]:
    running = TheirProcess(configured)
    yield running
    running.end()


def told(server: ModelServer) -> list[str]:
    """What the person said, as the model was told last."""
    chats = [each for each in server.requests if "messages" in each.json]
    said = [str(each["content"]) for each in chats[-1].messages if each["role"] == "user"]
    return [text.strip().split("\n")[-1] for text in said]


def test_turns_of_both_in_one_session(
    ours: RpcProcess, theirs: TheirProcess, server: ModelServer, configured: RealHermes
) -> None:
    created = ours.call("session.create", title="Shared trip")
    sid, key = created["session_id"], created["stored_session_id"]
    ours.said(sid, "one from us")

    found = theirs.call("session.resume", session_id="Shared trip", cols=80)
    assert found["resumed"] == key
    assert [each["text"] for each in found["messages"]][:1] == ["one from us"]
    theirs.answered(found["session_id"], "two from them")
    assert told(server)[-2:] == ["one from us", "two from them"]

    ours.said(sid, "three from us")
    assert told(server) == ["one from us", "two from them", "three from us"]
    history = ours.call("session.history", session_id=sid)["messages"]
    assert [each["text"] for each in history if each["role"] == "user"] == told(server)
    assert ours.call("session.undo", session_id=sid)["removed"] == 2

    assert key in configured.command("sessions", "list")


def test_what_they_undo_we_do_not_tell(
    ours: RpcProcess, theirs: TheirProcess, server: ModelServer
) -> None:
    created = ours.call("session.create")
    sid, key = created["session_id"], created["stored_session_id"]
    ours.said(sid, "keep this")
    ours.said(sid, "forget this")
    found = theirs.call("session.resume", session_id=key, cols=80)
    # Their session.undo takes back what they have in memory alone; the command writes.
    undone = theirs.call("command.dispatch", session_id=found["session_id"], name="undo")
    assert undone["message"] == "forget this"

    ours.said(sid, "and now")

    assert "forget this" not in told(server)


def test_the_same_requests_are_answered_alike(ours: RpcProcess, theirs: TheirProcess) -> None:
    """Codes of refusals, and the names in answers: ours may have more of those."""
    for method, params in [
        ("nope.nope", {}),
        ("session.title", {"session_id": "x"}),
        ("session.resume", {}),
        ("session.resume", {"session_id": "x"}),
        ("session.delete", {}),
        ("session.delete", {"session_id": "x"}),
        ("command.resolve", {"name": "zz"}),
        ("config.get", {"key": "zz"}),
        ("clarify.respond", {"request_id": "x", "answer": "y"}),
        ("slash.exec", {"session_id": "x", "command": "/title"}),
    ]:
        assert ours.code(method, **params) == theirs.code(method, **params), method
    mine, other = ours.call("session.create"), theirs.call("session.create", cols=80)
    assert set(other) <= set(mine)
    for method, params in [
        ("session.title", {"title": "A name"}),
        ("session.history", {}),
        ("session.active_list", {}),
        ("session.list", {}),
        ("session.most_recent", {}),
        ("config.get", {"key": "busy"}),
        ("config.get", {"key": "mtime"}),
        ("complete.slash", {"text": "/ti"}),
        ("setup.status", {}),
        ("session.undo", {}),
        ("session.interrupt", {}),
        ("session.close", {}),
    ]:
        answers = [
            one.call(method, **{"session_id": live["session_id"], **params})
            for one, live in ((ours, mine), (theirs, other))
        ]
        assert set(answers[1]) <= set(answers[0]), method


def heard(one: RpcClient, server: ModelServer, folder: str) -> dict[str, Any]:
    """What a front end hears while a tool waits for a word, and while a question is asked."""
    sid = one.call("session.create", cols=80, cwd=folder)["session_id"]
    found: dict[str, Any] = {
        "nothing waits": one.call("approval.respond", session_id=sid, choice="once")
    }
    server.script(tool_call("terminal", command="rm -rf build"), text("Well."))
    one.call("prompt.submit", session_id=sid, text="Remove build")
    for kind in ("tool.generating", "tool.start", "approval.request"):
        found[kind] = one.event(kind, sid)
    found["denied"] = one.call("approval.respond", session_id=sid, choice="deny")
    found["tool.complete"] = one.event("tool.complete", sid)
    one.event("message.complete", sid)
    while one.event("session.info", sid)["running"]:
        pass
    server.script(tool_call("clarify", question="Which?", choices=["a", "b"]), text("Well."))
    one.call("prompt.submit", session_id=sid, text="Ask me")
    asked = found["clarify.request"] = one.event("clarify.request", sid)
    answer = {"request_id": asked["request_id"], "answer": "b"}
    found["answered"] = one.call("clarify.respond", **answer)
    found["the model hears"] = one.event("tool.complete", sid)["result"]
    # Theirs takes a second answer until the tool has woken up.
    found["answered again"] = one.code("clarify.respond", **answer)
    one.event("message.complete", sid)
    return found


def test_what_waits_is_told_by_the_same_names(
    ours: RpcProcess, theirs: TheirProcess, server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "build").mkdir()
    other, mine = heard(theirs, server, str(tmp_path)), heard(ours, server, str(tmp_path))
    for name in ("nothing waits", "denied", "answered", "answered again", "the model hears"):
        assert mine[name] == other[name], name
    for kind in ("tool.generating", "tool.start", "tool.complete"):
        assert mine[kind]["name"] == other[kind]["name"] == "terminal"
    for kind, names in other.items():
        if isinstance(names, dict):
            assert set(names) <= set(mine[kind]), kind
    assert mine["approval.request"]["choices"] == other["approval.request"]["choices"]
    assert (tmp_path / "build").exists()
