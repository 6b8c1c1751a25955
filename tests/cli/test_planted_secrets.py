"""Secrets planted where programs keep them reach nobody, whatever the assistant does.

They stand in the environment, in ``.env``, and in a real keyring; nobody is asked before anything
is done. Looked through afterwards: what the model was told, every frame a front end got, the logs,
the conversations, exports, the log of decisions – and what the tools' own programs could see.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.tools.registry import TOOLS
from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, error, text, tool_call
from tests.fakes.private_bus import NEEDS_KEYRING, private_bus
from tests.fakes.program import Program, files_of
from tests.fakes.rpc_client import RpcProcess

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, NEEDS_KEYRING]

IN_ENVIRON = {"WORK_API_KEY": "planted/environ+0001", "DB_PASSWORD": "pl4nted-environ-2"}
IN_FILE = {"EXTRA_TOKEN": "planted-file-00003", "SMTP_PASSWORD": "planted'file 4 with blanks"}
IN_KEYRING = {"TELEGRAM_BOT_TOKEN": "123456:planted-keyring-5", "OPENAI_API_KEY": "planted-key-6"}
MODEL_KEY = "planted-model-key-7"
PLANTED = (*IN_ENVIRON.values(), *IN_FILE.values(), *IN_KEYRING.values(), MODEL_KEY)


@pytest.fixture
def planted(program: Program, home: Path, server: ModelServer) -> Iterator[Program]:
    model = {"default": "a-model", "base_url": server.base_url, "api_key": MODEL_KEY}
    config = {
        "model": model,
        "agent": {"api_max_retries": 0},
        "memory": {"enabled": True},
        "approvals": {"sandboxed_commands": "off"},
    }
    (home / "config.yaml").write_text(json.dumps(config))
    lines = [f'{name}="{value}"' for name, value in IN_FILE.items()]
    (home / ".env").write_text("\n".join(lines) + "\n")
    with private_bus() as bus:
        bus.unlocked()
        program.environ.update({**bus.environ(), **IN_ENVIRON})
        for name, value in IN_KEYRING.items():
            done = program.run("secrets", "set", "--no-check", name, stdin=f"{value}\n".encode())
            assert "keyring" in done.out, done
        yield program


def shown(text_or_bytes: str | bytes) -> list[str]:
    """Which of them stand there, as they are or as JSON writes them."""
    content = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
    forms = {each: (each.encode(), json.dumps(each)[1:-1].encode()) for each in PLANTED}
    return [each for each, ways in forms.items() if any(way in content for way in ways)]


def calls(work: Path, home: Path) -> list[tuple[str, dict[str, Any]]]:
    """One of everything, with what would show most."""
    everything = "\n".join((*PLANTED, "harmless"))
    (work / "notes.txt").write_text(everything)
    here = "$(dirname $(dirname $(readlink -f notes.txt)))"
    return [
        ("terminal", {"command": "env"}),
        ("terminal", {"command": "cat /proc/self/environ | tr '\\0' '\\n'"}),
        ("terminal", {"command": "cat /proc/$PPID/environ | tr '\\0' '\\n'"}),
        ("terminal", {"command": f"cat notes.txt; echo {here}; cat {home}/.env"}),
        ("terminal", {"command": "cat notes.txt >&2; exit 3"}),
        ("terminal", {"command": "secret-tool search --all service x; printenv"}),
        ("terminal", {"command": "env > seen.txt"}),
        ("terminal", {"command": "env; cat notes.txt", "background": True}),
        ("process", {"action": "list"}),
        ("read_file", {"path": "notes.txt"}),
        ("read_file", {"path": str(home / ".env")}),
        ("read_file", {"path": f"{PLANTED[0]}/nowhere"}),
        ("read_file", {"path": "/proc/self/environ"}),
        ("search_files", {"pattern": "planted", "path": "."}),
        ("search_files", {"pattern": "planted", "path": str(home)}),
        ("write_file", {"path": "copy.txt", "content": "nothing"}),
        ("patch", {"path": "notes.txt", "old_string": "harmless", "new_string": "harmless!"}),
        ("session_search", {"query": "planted"}),
        ("web_fetch", {"url": f"http://127.0.0.1:9/{PLANTED[2]}"}),
        ("todo", {"todos": [{"content": f"look at {PLANTED[3]}"}]}),
        ("memory", {"action": "add", "target": "user", "content": "likes tea"}),
        ("ask_access", {"kind": "path", "what": f"/{PLANTED[4]}", "access": "read"}),
        ("no_such_tool", {"x": PLANTED[5]}),
    ]


def test_whatever_the_assistant_does(
    planted: Program, home: Path, server: ModelServer, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with RpcProcess(planted) as rpc:
        sid = rpc.call("session.create", cwd=str(work))["session_id"]
        rpc.call("config.set", key="yolo", session_id=sid, value="1")
        driven = {name for name, _ in calls(work, home)}
        assert {tool.name for tool in TOOLS} <= driven | {"clarify"}
        for name, arguments in calls(work, home):
            server.script(tool_call(name, **arguments), text("Well."))
            assert rpc.said(sid, f"Use {name}")["text"] == "Well.", name
        answer_a_question(rpc, sid, server)
        ask_for_a_word(rpc, sid, server)
        server.script(error(401, f"Incorrect API key provided: {MODEL_KEY}; also {PLANTED[0]}"))
        rpc.said(sid, "And now?")
        rpc.call("session.save", session_id=sid)
        rpc.call("config.get", key="full")
        rpc.call("config.show")
        rpc.call("session.history", session_id=sid)
        assert rpc.end() == 0
        frames = b"\n".join(json.dumps(each, ensure_ascii=False).encode() for each in rpc.frames)
        errors = rpc.said_beside.decode()
    assert_nowhere(home, work, server, frames, errors)
    assert_seen_by_no_program(work)
    exported = planted.run("sessions", "export", "-", "--redact")
    assert shown(exported.out) == []


def answer_a_question(rpc: RpcProcess, sid: str, server: ModelServer) -> None:
    server.script(tool_call("clarify", question=f"Is it {PLANTED[1]}?"), text("Well."))
    rpc.call("prompt.submit", session_id=sid, text="Ask me")
    asked = rpc.event("clarify.request", sid)
    assert asked["question"] == "Is it [secret]?"
    rpc.call("clarify.respond", request_id=asked["request_id"], answer="No")
    rpc.event("message.complete", sid)


def ask_for_a_word(rpc: RpcProcess, sid: str, server: ModelServer) -> None:
    rpc.call("config.set", key="yolo", session_id=sid, value="0")
    server.script(tool_call("terminal", command=f"rm -rf '{PLANTED[0]}'"), text("Well."))
    rpc.call("prompt.submit", session_id=sid, text="Remove it")
    asked = rpc.event("approval.request", sid)
    assert asked["command"] == "rm -rf '[secret]'"
    rpc.call("approval.respond", session_id=sid, choice="deny")
    rpc.event("message.complete", sid)


def assert_nowhere(home: Path, work: Path, server: ModelServer, frames: bytes, errors: str) -> None:
    results = [
        each["content"]
        for request in server.requests
        for each in request.messages
        if each["role"] == "tool"
    ]
    assert len(results) > 20
    assert shown("\n".join(results)) == []
    assert shown(errors) == []
    assert shown(frames) == []
    with contextlib.closing(SessionDB(home / "state.db", read_only=True)) as db:
        session = db.list_sessions_rich()[0]["id"]
        stored = [each for each in db.get_messages(session) if each["role"] == "tool"]
    assert len(stored) > 20
    assert shown("\n".join(each["content"] for each in stored)) == []
    for name, content in files_of(home).items():
        # What the model itself wrote is stored as it wrote it, and some of its calls name secrets;
        # the files that it wrote are copied as they are, so that a turn can be undone.
        copies = "desktop/undo/contents"
        if not name.startswith((".env", "config.yaml", "state.db", "sessions/saved", copies)):
            assert shown(content) == [], name


def assert_seen_by_no_program(work: Path) -> None:
    seen = (work / "seen.txt").read_text()
    assert "PATH=" in seen
    assert shown(seen) == []
    assert not any(f"{name}=" in seen for name in (*IN_ENVIRON, *IN_FILE, *IN_KEYRING))


def test_a_crash_is_reported_without_them(planted: Program, home: Path) -> None:
    """A bug of ours whose very words hold a secret."""
    broken = home.parent / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'hermes_desktop.cli.sessions.session_commands':\n"
        "            words = ' '.join(os.environ[n] for n in ('WORK_API_KEY', 'DB_PASSWORD'))\n"
        f"            raise ValueError(words + ' ' + {IN_FILE['EXTRA_TOKEN']!r})\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    path = planted.environment()["PYTHONPATH"]
    done = planted.run("sessions", "list", env={"PYTHONPATH": f"{broken}:{path}"})
    assert done.code == 1
    assert "this is a bug" in done.err
    log = (home / "logs" / "desktop.log").read_text()
    assert "ValueError: [secret] [secret] [secret]" in log
    assert shown(log + done.err + done.out) == []
