"""The hosting program, killed while a turn was told something and a task ran beside its chat."""

from pathlib import Path

import pytest

from tests.fakes.hosting import write_config
from tests.fakes.model_server import HANG, ModelServer, Reply
from tests.fakes.socket_platform import chat_process
from tests.integration.test_killed_host import hosting, wait_for


@pytest.mark.slow
@pytest.mark.two_processes
@pytest.mark.timeout(300)
def test_nothing_is_lost_by_a_kill(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with ModelServer() as model, chat_process() as chat:
        write_config(home, model, chat.port)
        with hosting(tmp_path, chat):
            model.script(Reply(steps=(HANG,)))
            chat.call("say", "a long request", chat="a")
            wait_for(lambda: bool(model.requests))
            chat.call("say", "/steer rather tea", chat="a")
            wait_for(lambda: "I will take that into account" in "".join(chat.texts("a")))
            asked = len(model.requests)
            model.script(Reply(steps=(HANG,)))
            chat.call("say", "/background research coffee", chat="b")
            wait_for(lambda: len(model.requests) > asked)
            wait_for(lambda: "works in a separate session" in "".join(chat.texts("b")))
        before = len(model.requests)
        with hosting(tmp_path, chat):
            wait_for(lambda: "was interrupted because" in "".join(chat.texts("b")))
            wait_for(lambda: any("rather tea" in str(r.messages) for r in model.requests[before:]))
            wait_for(lambda: not chat.call("look")["pending"])
        told = "".join(chat.texts("b"))
        assert told.count("research coffee") == 1
        assert not (home / "desktop" / "background-tasks.json").exists()
