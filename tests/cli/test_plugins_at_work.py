"""Plugins in the programs themselves: a question on the command line, a front end by JSON-RPC."""

import json
import sys
from pathlib import Path

import pytest

from tests.fakes import model_server
from tests.fakes.model_server import ModelServer
from tests.fakes.plugin_folders import enable, plugin
from tests.fakes.program import Program
from tests.fakes.rpc_client import PATIENCE_S, RpcProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.two_processes

NOISY = """
print("I am noisy")
heard = []
def register(ctx):
    def note(name):
        def hear(**given):
            heard.append(name)
            with open({file!r}, "a") as file:
                file.write(f"{{name}} {{given['session_id']}} {{given['platform']}}\\n")
            print("noisy still")
        return hear
    for name in ("on_session_start", "on_session_end", "on_session_finalize"):
        ctx.register_hook(name, note(name))
    ctx.register_hook("pre_llm_call", lambda **_: {{"context": "It rains."}})
    ctx.register_command("hello", lambda args: "Hi " + args)
"""


@pytest.fixture
def heard(configured: Path) -> Path:
    """What the plugin of the home hears."""
    file = configured.parent / "heard"
    plugin(configured, "noisy", NOISY.format(file=str(file)))
    plugin(configured, "broken", "1 / 0\n")
    plugin(configured, "stranger", "open('/nonexistent/x', 'w')\n")
    enable(configured, "noisy", "broken")
    return file


def test_a_question_is_told_to_plugins_and_its_answer_stays_clean(
    program: Program, configured: Path, heard: Path, server: ModelServer
) -> None:
    server.script(model_server.text("Take an umbrella."))
    done = program.run("chat", "-q", "What now?")
    assert (done.code, done.out) == (0, "Take an umbrella.\n")
    assert server.requests[-1].messages[-1]["content"] == "What now?\n\nIt rains."
    names = [line.split()[0] for line in heard.read_text().splitlines()]
    assert names == ["on_session_start", "on_session_end", "on_session_finalize"]
    log = (configured / "logs" / "desktop.log").read_text()
    assert "noisy says: I am noisy" in log
    assert "The plugin broken cannot be used" in log
    assert "ZeroDivisionError" in log


def test_a_command_of_a_plugin_and_one_of_the_persons_own(
    program: Program, configured: Path, heard: Path, server: ModelServer
) -> None:
    settings = json.loads((configured / "config.yaml").read_text())
    settings["quick_commands"] = {
        "six": {"type": "exec", "command": f"{sys.executable} -c 'print(6 * 7)'"},
        "show": {"type": "exec", "command": "cat .env; pwd"},
    }
    (configured / "config.yaml").write_text(json.dumps(settings))
    (configured / ".env").write_text("NOTES_TOKEN=plain-words-here\nCOLOUR=green-ish\n")
    assert program.run("chat", "-q", "/hello there").out == "Hi there\n"
    assert program.run("chat", "-q", "/six").out == "42\n"
    shown = f"NOTES_TOKEN=[secret]\nCOLOUR=green-ish\n{configured}\n"
    assert program.run("chat", "-q", "/show").out == shown
    assert server.requests == []


def test_a_front_end_by_json_rpc(program: Program, heard: Path, server: ModelServer) -> None:
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.create", cols=80)["session_id"]
        rpc.said(sid, "Hi")
        assert rpc.end() == 0
    assert server.requests[-1].messages[-1]["content"] == "Hi\n\nIt rains."
    lines = [line.split() for line in heard.read_text().splitlines()]
    assert [each[0] for each in lines] == [
        "on_session_start",
        *["on_session_end"] * 2,  # of the turn, and of the front end's session
        "on_session_finalize",
    ]
    assert {each[2] for each in lines} == {"tui"}


def test_a_front_end_by_json_rpc_does_added_commands(
    program: Program, configured: Path, heard: Path
) -> None:
    settings = json.loads((configured / "config.yaml").read_text())
    settings["quick_commands"] = {
        "show": {"type": "exec", "command": "cat .env; echo [$NOTES_TOKEN]"},
        "hey": {"type": "alias", "target": "hello dear"},
    }
    (configured / "config.yaml").write_text(json.dumps(settings))
    (configured / ".env").write_text("NOTES_TOKEN=plain-words-here\n")
    with RpcProcess(program) as rpc:  # the first thing asked: plugins may not be loaded yet
        names = [name for name, _ in rpc.call("commands.catalog")["pairs"]]
        assert {"/hello", "/show", "/hey"} <= set(names)
        sid = rpc.call("session.create")["session_id"]

        def done(line: str) -> str:
            return str(rpc.call("slash.exec", session_id=sid, command=line)["output"])

        assert done("/hey you") == "Hi dear you"
        assert done("/show '; touch x; $(touch y)") == "NOTES_TOKEN=[secret]\n[]"
        assert rpc.end() == 0
    assert not list(configured.glob("[xy]"))


def test_no_added_command_outlives_the_front_ends_server(
    program: Program, configured: Path
) -> None:
    pids = configured / "pids"
    settings = json.loads((configured / "config.yaml").read_text())
    line = f"trap '' TERM; sleep 300 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait"
    settings["quick_commands"] = {"slow": {"type": "exec", "command": line}}
    (configured / "config.yaml").write_text(json.dumps(settings))
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.create")["session_id"]
        rpc.ask("slash.exec", session_id=sid, command="/slow")
        wait_until(pids.exists)
        rpc.process.terminate()
        assert rpc.process.wait(PATIENCE_S) == 0
    wait_until(lambda: all(gone(int(pid)) for pid in pids.read_text().split()))


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_a_plugin_that_sleeps_a_minute_wherever_it_can_is_named_and_not_waited_for(
    program: Program, configured: Path, server: ModelServer
) -> None:
    sleepy = "import time\ndef register(ctx):\n" + "".join(
        f"    ctx.register_hook({name!r}, lambda **_: time.sleep(60))\n"
        for name in ("pre_llm_call", "on_session_finalize")
    )
    plugin(configured, "sleepy", sleepy)
    plugin(configured, "dozy", "import time\ntime.sleep(60)\ndef register(ctx): ...\n")
    enable(configured)
    server.script(model_server.text("Good night."))
    done = program.run("chat", "-q", "Hi")
    assert (done.code, done.out, done.err) == (0, "Good night.\n", "")
    log = (configured / "logs" / "desktop.log").read_text()
    for words in (
        "The plugin dozy is left behind",
        "of sleepy is not awaited any longer in pre_llm_call",
        "of sleepy is not awaited any longer in on_session_finalize",
    ):
        assert words in log
