"""Both programs count the conversations that are being answered in one file."""

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from hermes_desktop.gateway.identity.active_sessions import ActiveSessions
from tests.interop.conftest import RealHermes

BOUND_S = 60.0


@pytest.fixture
def silent_model(hermes: RealHermes) -> Iterator[None]:
    """A home whose model never answers, and where one conversation is allowed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (hermes.home / "config.yaml").write_text(
            "max_concurrent_sessions: 1\n"
            f"model:\n  default: x\n  provider: custom\n  base_url: http://127.0.0.1:{port}/v1\n"
        )
        yield


@contextlib.contextmanager
def chatting(hermes: RealHermes) -> Iterator["subprocess.Popen[str]"]:
    """``hermes chat -q`` at work until the block ends."""
    program = subprocess.Popen(
        [str(hermes.python.parent / "hermes"), "chat", "-q", "hello"],
        env=hermes.environment(),
        cwd=hermes.home.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


@pytest.mark.usefixtures("silent_model")
def test_our_place_counts_there(hermes: RealHermes) -> None:
    lease = ActiveSessions(hermes.home).take("ours", 1)
    assert lease
    with chatting(hermes) as program:
        said, _ = program.communicate(timeout=BOUND_S)
    assert "active session limit (1/1)" in said
    entries = json.loads((hermes.home / "runtime" / "active_sessions.json").read_text())["entries"]
    assert [entry["lease_id"] for entry in entries] == [lease]


@pytest.mark.usefixtures("silent_model")
def test_its_place_counts_here_until_it_is_gone(hermes: RealHermes) -> None:
    places = ActiveSessions(hermes.home)
    path = hermes.home / "runtime" / "active_sessions.json"
    with chatting(hermes) as program:
        end = time.monotonic() + BOUND_S
        while not (path.exists() and "lease_id" in path.read_text()):
            assert program.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        assert places.take("ours", 1) is None
        assert places.take("ours", 2)
    assert places.take("another", 2)
