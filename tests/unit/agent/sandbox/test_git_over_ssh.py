"""git over ssh: through the proxy, with granted keys only."""

import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox import proxy_connect
from hermes_desktop.agent.sandbox.grants import Grant
from hermes_desktop.agent.sandbox.launching import ssh_command
from hermes_desktop.agent.sandbox.proxy import FilteringProxy
from tests.fakes.tool_stage import ToolStage, call

CONNECTOR = Path(proxy_connect.__file__)


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that sends everything back in capitals; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    inside, _ = listening.accept()
                except OSError:
                    return
                with inside:
                    while chunk := inside.recv(65536):
                        inside.sendall(chunk.upper())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def connect(hosts: tuple[str, ...], *words: str) -> "subprocess.CompletedProcess[bytes]":
    """Run the connector beside a proxy; it sends five bytes and waits for the end."""
    proxy = FilteringProxy(
        hosts, resolver=lambda _h, _p: ["127.0.0.1"], may_connect=lambda _a: True
    )
    with proxy.serving() as theirs, socket.create_server(("127.0.0.1", 0)) as listening:
        socket.send_fds(theirs, [b"l"], [listening.fileno()])
        port = str(listening.getsockname()[1])
        return subprocess.run(
            [sys.executable, "-I", "-S", str(CONNECTOR), port, *words],
            input=b"hello",
            capture_output=True,
            check=False,
            timeout=60,
        )


def test_bytes_go_both_ways(echo: int) -> None:
    ended = connect(("good.example",), "good.example", str(echo))

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"HELLO", b"")


def test_a_host_that_is_not_granted_is_named(echo: int) -> None:
    ended = connect(("good.example",), "bad.example", str(echo), "Use https.")

    assert ended.returncode == 1
    assert ended.stderr == b"Use https.\nbad.example is not granted to this command.\n"


def test_ssh_has_no_agent_and_only_granted_keys(tmp_path: Path) -> None:
    key, folder = tmp_path / "deploy key", tmp_path / "folder"
    key.touch()
    folder.mkdir()
    grant = Grant(tmp_path, read=frozenset({key, folder}))
    words = shlex.split(ssh_command(Path("/usr/bin/python3"), CONNECTOR, grant, tmp_path))

    assert words[:3] == ["ssh", "-F", "/dev/null"]
    assert {"IdentityAgent=none", "IdentitiesOnly=yes", "BatchMode=yes"} <= set(words)
    assert words[-2:] == ["-i", str(key)]
    assert "https" not in " ".join(words)
    assert "https" in ssh_command(Path("/usr/bin/python3"), CONNECTOR, Grant(tmp_path), tmp_path)


@pytest.mark.needs("sandbox")
def test_git_is_told_what_to_do_instead(closed: ToolStage) -> None:
    closed.config = {"terminal": {"allowed_hosts": ["github.invalid"]}}
    [answer] = closed.result(
        call("terminal", command="git ls-remote git@other.invalid:a/b.git; true")
    )

    assert "Use the https address" in answer["output"]
    assert "other.invalid is not granted to this command." in answer["output"]
