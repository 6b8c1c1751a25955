"""The whole hosting program, killed: at a turn, at a send, and what was written meanwhile."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_desktop.gateway.delivery.delivery import MAYBE_TWICE
from tests.fakes.hosting import write_config
from tests.fakes.model_server import HANG, ModelServer, Reply
from tests.fakes.socket_platform import ChatProcess, chat_process


@contextlib.contextmanager
def hosting(folder: Path, chat: ChatProcess) -> Iterator[None]:
    """A program that hosts the home; killed at the end."""
    with open(folder / "host.log", "a") as log:  # noqa: PTH123 - a stream for a process
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.integration.hosted_replier",
                str(folder / "home"),
                str(folder / "locks"),
            ],
            cwd=Path(__file__).parents[2],
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lambda: chat.call("look")["bots"] == 1, process, folder)
        yield
    finally:
        process.kill()
        process.wait()


def wait_for(
    condition: Callable[[], bool],
    process: "subprocess.Popen[bytes] | None" = None,
    folder: Path | None = None,
) -> None:
    until = time.monotonic() + 40
    while not condition():
        said = (folder / "host.log").read_text() if folder else ""
        assert process is None or process.poll() is None, said
        assert time.monotonic() < until, said
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.timeout(300)
def test_a_host_that_is_killed_again_and_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with ModelServer() as model, chat_process() as chat:
        write_config(home, model, chat.port)
        with hosting(tmp_path, chat):
            chat.call("say", "plain", chat="a")
            wait_for(lambda: len(chat.texts("a")) == 1)
            wait_for(lambda: not chat.call("look")["pending"])
            model.script(Reply(steps=(HANG,)))
            chat.call("say", "cut off at its turn", chat="b")
            wait_for(lambda: "cut off at its turn" in str(model.requests[-1].messages))
        chat.call("say", "written while nobody was there", chat="c")
        with hosting(tmp_path, chat):
            wait_for(lambda: len(chat.texts("b")) == 1)
            wait_for(lambda: len(chat.texts("c")) == 1)
            wait_for(lambda: not chat.call("look")["pending"])
            chat.call("set", send_delay_s=1.0)
            chat.call("say", "cut off at its send", chat="d")
            wait_for(lambda: "cut off at its send" in str(model.requests[-1].messages))
            wait_for(lambda: chat.call("look")["sending"] == 1)
        wait_for(lambda: len(chat.texts("d")) == 1)
        chat.call("set", send_delay_s=0.0)
        with hosting(tmp_path, chat):
            wait_for(lambda: len(chat.texts("d")) == 2)
            wait_for(lambda: not chat.call("look")["pending"])
        assert len(chat.texts("a")) == len(chat.texts("b")) == len(chat.texts("c")) == 1
        first, second = chat.texts("d")
        assert second == MAYBE_TWICE + first
        assert chat.call("look")["most_bots"] == 1
