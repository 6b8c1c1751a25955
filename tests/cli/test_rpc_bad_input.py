"""``hermes-desktop rpc`` and what nobody would send on purpose: it answers and goes on."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer, hang, text
from tests.fakes.program import Converse, Program, said
from tests.fakes.rpc_client import PATIENCE_S, RpcProcess

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]

LINES = 1000


@pytest.fixture
def rpc(program: Program, configured: Path) -> Iterator[RpcProcess]:
    with RpcProcess(program) as running:
        yield running


def live(rpc: RpcProcess) -> str:
    return str(rpc.call("session.create")["session_id"])


def broken_lines(chance: random.Random) -> Iterator[bytes]:
    whole = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.list", "params": {}}).encode()
    methods = [
        "session.title",
        "prompt.submit",
        "config.get",
        "slash.exec",
        "complete.path",
        "x",
        "",
    ]
    values: list[Any] = [None, True, 0, -1, 1e308, "", "x", "\ud800", "\0", [], {}, [[1]], 2**70]
    while True:
        kind = chance.randrange(6)
        if kind == 0:
            yield chance.randbytes(chance.randrange(1, 300)).replace(b"\n", b" ")
        elif kind == 1:
            yield whole[: chance.randrange(1, len(whole))]
        elif kind == 2:
            yield json.dumps(chance.choice(values)).encode()
        elif kind == 3:
            yield b"[" * chance.randrange(1, 100_000)
        else:
            params = {
                name: chance.choice(values)
                for name in ("session_id", "title", "text", "key", "word", "command", "limit")
            }
            frame = {
                "id": chance.choice(values),
                "method": chance.choice([*methods, *values]),
                "params": chance.choice([params, params, *values]),
            }
            yield json.dumps(frame).encode()


def test_a_thousand_random_and_broken_lines_do_not_end_it(rpc: RpcProcess) -> None:
    lines = broken_lines(random.Random(4))
    for _ in range(LINES):
        rpc.send(next(lines) + b"\n")

    assert rpc.call("session.most_recent") == {"session_id": None}
    sid = live(rpc)
    assert rpc.said(sid, "Still there?")["status"] == "complete"
    codes = {each["error"]["code"] for each in rpc.frames if "error" in each}
    assert {-32700, -32600, -32601, -32602, 4001} <= codes
    assert -32000 not in codes


def test_every_line_is_answered_once(rpc: RpcProcess) -> None:
    numbers = [rpc.ask("config.get", key="mtime") for _ in range(LINES)]

    assert all("result" in rpc.answer(number) for number in numbers)


def test_a_line_of_ten_megabytes_is_a_message(
    rpc: RpcProcess, server: ModelServer, home: Path
) -> None:
    created = rpc.call("session.create")
    long = "word " * 2_000_000
    server.script(text("Read"))

    complete = rpc.said(created["session_id"], long)

    assert complete["status"] == "complete"
    assert said(home, created["stored_session_id"])[0] == ("user", long)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{broken", -32700),
        (b"\xff\xfe", -32700),
        (b'{"id": NaN, "method": "session.list"}', -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b'{"id": 1}', -32600),
        (b'{"id": 1, "method": 5}', -32600),
        (b'{"id": {}, "method": "session.list"}', -32600),
        (b'{"id": 1, "method": "nope.nope"}', -32601),
        (b'{"id": 1, "method": "session.list", "params": [1]}', -32602),
    ],
)
def test_what_is_no_request_is_answered_with_its_code(
    rpc: RpcProcess, line: bytes, code: int
) -> None:
    rpc.send(line + b"\n")

    assert rpc.wait(lambda frame: "error" in frame)["error"]["code"] == code


def test_half_a_line_at_the_end_is_answered(rpc: RpcProcess) -> None:
    rpc.send(b'{"id": "last", "method": "session.most_recent"}')  # its end never comes

    assert rpc.end() == 0
    assert rpc.frames[-1] == {"jsonrpc": "2.0", "id": "last", "result": {"session_id": None}}


def test_half_a_request_at_the_end_is_told_and_nothing_is_lost(rpc: RpcProcess, home: Path) -> None:
    created = rpc.call("session.create")
    rpc.ask("prompt.submit", session_id=created["session_id"], text="Keep this")
    rpc.send(b'{"id": 9, "method": "prompt.su')

    assert rpc.end() == 0

    assert rpc.wait(lambda frame: "error" in frame)["error"]["code"] == -32700
    assert rpc.event("message.complete")["status"] == "complete"
    assert said(home, created["stored_session_id"])[0] == ("user", "Keep this")


@pytest.mark.parametrize("ends", [b"\r\n", b"\n\n  \n"])
def test_lines_may_end_otherwise(rpc: RpcProcess, ends: bytes) -> None:
    rpc.send(b'{"id": "a", "method": "session.list"}' + ends)

    assert rpc.answer("a")["result"] == {"sessions": []}


def test_every_code_of_the_protocol_can_be_met(
    rpc: RpcProcess, server: ModelServer, converse: Converse, home: Path
) -> None:
    converse("s1", "Hello", "Yes?", title="Taken")
    sid = live(rpc)
    codes = {
        4001: rpc.code("session.title", session_id="nope"),
        4002: rpc.code("config.get", key="nope"),
        4004: rpc.code("prompt.submit", session_id=sid, text=5),
        4006: rpc.code("session.resume"),
        4007: rpc.code("session.resume", session_id="nope"),
        4008: rpc.code("session.branch", session_id=sid),
        4009: rpc.code("clarify.respond", request_id="x", answer="y"),
        4011: rpc.code("command.resolve", name="nope"),
        4016: rpc.code("session.cwd.set", session_id=sid),
        4017: rpc.code("session.cwd.set", session_id=sid, cwd="/nowhere"),
        4018: rpc.code("prompt.submit", session_id=sid, text="x", truncate_before_user_ordinal=3),
        4021: rpc.code("session.title", session_id=sid, title=" "),
        4022: rpc.code("session.title", session_id=sid, title="Taken"),
        5000: rpc.code("shell.exec", command="true"),
        5019: rpc.code("handoff.request", session_id=sid),
    }
    rpc.said(sid, "Hi")
    key = rpc.call("session.most_recent")["session_id"]
    codes[4023] = rpc.code("session.delete", session_id=key)
    server.script(hang("Once"))
    rpc.call("prompt.submit", session_id=sid, text="Tell")
    rpc.event("message.delta")
    assert rpc.code("session.undo", session_id=sid) == 4009
    assert rpc.code("session.branch", session_id=sid) == 4009
    assert rpc.code("slash.exec", session_id=sid, command="/retry") == 4009
    rpc.call("session.interrupt", session_id=sid)
    rpc.event("message.complete")
    (home / "sessions").rmdir() if (home / "sessions").is_dir() else None
    (home / "sessions").write_text("in the way")
    codes[5011] = rpc.code("session.save", session_id=sid)
    settings = json.loads((home / "config.yaml").read_text())
    (home / "config.yaml").write_text(json.dumps({**settings, "max_concurrent_sessions": 1}))
    assert rpc.said(sid, "I take the only place")["status"] == "complete"
    codes[4090] = rpc.code("prompt.submit", session_id=live(rpc), text="No room")
    (home / "config.yaml").write_text("model: {default: x, base_url: 5}")
    codes[5032] = rpc.code("prompt.submit", session_id=live(rpc), text="No model")

    codes[5005] = rpc.code("session.compress", session_id=sid)

    assert codes == {code: code for code in codes}


def test_a_store_that_cannot_be_read_is_told_with_the_codes_of_what_failed(
    program: Program, configured: Path, home: Path
) -> None:
    (home / "state.db").write_bytes(b"this is no database, and it is left as it is " * 100)
    with RpcProcess(program) as rpc:
        found = {
            method: rpc.code(method, session_id="x")
            for method in ("session.list", "session.resume", "session.delete", "session.create")
        }

        assert found["session.list"] == 5006
        assert found["session.delete"] == 5036
        assert found["session.resume"] in {4007, 5000}
        assert found["session.create"] == 5000


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_its_streams_it_says_so(program: Program, configured: Path, closed: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *program.start_arguments("rpc")],
        capture_output=True,
        env=program.environment(),
        cwd=program.home.parent,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 1
    assert b"Standard input or standard output is closed" in done.stderr


def test_serving_loads_neither_a_window_nor_a_client_for_models(
    program: Program, configured: Path
) -> None:
    code = (
        "import json, sys; from hermes_desktop.cli.main import main; code = main(['rpc']);"
        "json.dump(sorted({name.partition('.')[0] for name in sys.modules}), sys.stderr);"
        "sys.exit(code)"
    )
    asked = b'{"id": 1, "method": "session.list"}\n{"id": 2, "method": "commands.catalog"}\n'

    done = subprocess.run(
        [sys.executable, "-c", code],
        input=asked,
        capture_output=True,
        env=program.environment(),
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 3
    loaded = set(json.loads(done.stderr))
    assert not loaded & {"PySide6", "qasync", "httpx", "rich"}
