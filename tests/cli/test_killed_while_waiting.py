"""Programs that are killed while something waits for a person: the conversation stays whole."""

import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, Recorded, text, tool_call
from tests.fakes.program import PROGRAM, Program, rows
from tests.fakes.rpc_client import RpcProcess

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


def killed_at_terminal(program: Program, until: str) -> None:
    """Ask at a terminal, and kill the program once this stands on the screen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "chat", "-q", "Do it"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**program.environment(), "TERM": "xterm", "NO_COLOR": "1"},
        cwd=program.home.parent,
    )
    os.close(theirs)
    screen = b""
    while until.encode() not in screen:
        screen += os.read(ours, 65536)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    os.close(ours)


def whole(request: Recorded) -> list[dict[str, Any]]:
    """The messages of a request, in which every call has its result right behind it."""
    messages = request.messages
    for at, message in enumerate(messages):
        calls = [each["id"] for each in message.get("tool_calls") or ()]
        behind = messages[at + 1 : at + 1 + len(calls)]
        assert [each.get("tool_call_id") for each in behind] == calls, messages
    return messages


@pytest.mark.parametrize(
    ("call", "until"),
    [
        (("terminal", {"command": "rm -rf build"}), "D = deny"),
        (("clarify", {"question": "Which port?"}), "Enter to skip"),
    ],
)
def test_at_a_terminal(
    program: Program,
    configured: Path,
    server: ModelServer,
    db: SessionDB,
    call: tuple[str, dict[str, Any]],
    until: str,
) -> None:
    (program.home.parent / "build").mkdir()
    server.script(tool_call(call[0], **call[1]))
    killed_at_terminal(program, until)
    session_id = rows(configured)[0]["id"]
    server.script(text("I go on."))
    done = program.run("chat", "--resume", session_id, "-q", "Go on")
    assert (done.code, done.out) == (0, "I go on.\n")
    messages = whole(server.requests[-1])
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "user"]
    assert f"[Called {call[0]}(" in messages[2]["content"]
    assert "no result is recorded" in messages[2]["content"]
    assert (program.home.parent / "build").exists()
    stored = db.get_messages(session_id)
    assert stored[-1]["content"] == "I go on."


def test_by_rpc(program: Program, configured: Path, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    server.script(tool_call("terminal", command="rm -rf build"))
    with RpcProcess(program) as rpc:
        created = rpc.call("session.create", cwd=str(tmp_path))
        rpc.call("prompt.submit", session_id=created["session_id"], text="Do it")
        rpc.event("approval.request")
        rpc.process.kill()
    server.script(text("I go on."))
    with RpcProcess(program) as rpc:
        found = rpc.call("session.resume", session_id=created["stored_session_id"])
        assert found["pending"] == {"approvals": [], "questions": []}
        assert rpc.said(found["session_id"], "Go on")["text"] == "I go on."
    whole(server.requests[-1])
    assert (tmp_path / "build").exists()
