"""Commands of the person's own and of plugins in chats, and event hooks that see commands."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop import plugins
from hermes_desktop.commands import quick_commands
from hermes_desktop.commands.quick_commands import QuickRunner
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.runner.hooks import EventHookSet
from hermes_desktop.plugins.commands import PluginCommand
from tests.fakes.command_gateway import UNASKED, CommandGateway, command_gateway
from tests.support.waiting import until

SECRET = "s3cr3t-value"


def config(**commands: Any) -> GatewayConfig:
    return replace(UNASKED, quick_commands=commands)


def line(command: str, **more: str) -> dict[str, str]:
    return {"type": "exec", "command": command, **more}


@contextlib.asynccontextmanager
async def chat_with(home: Path, **commands: Any) -> AsyncIterator[CommandGateway]:
    environ = {**os.environ, "MY_TOKEN": SECRET, "SETTING": SECRET, "PLAIN": "yes"}
    quick = QuickRunner(environ, home, lambda text: text.replace(SECRET, "[secret]"))
    async with command_gateway(home, config=config(**commands), quick=quick) as chat:
        yield chat


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


@pytest.mark.asyncio
async def test_a_line_for_the_shell_is_run_without_secrets(tmp_path: Path) -> None:
    async with chat_with(
        tmp_path,
        env=line("echo [$MY_TOKEN$SETTING] $PLAIN; pwd; echo oops >&2"),
        leak=line(f"printf '\\033[31m{SECRET}\\033[0m \\007'"),
        quiet=line("true"),
        bad=line("echo no; exit 3"),
        lots=line("yes | head -c 100000"),
        missing={"type": "exec"},
        strange={"type": "python", "command": "1"},
        nul=line("echo \0"),
        **{"two words": line("true"), "": line("true"), "a/b": line("true")},
    ) as chat:
        assert await chat.tell("/nul") == "/nul cannot be started."
        listed = await chat.tell("/help")
        assert not any(words in listed for words in ("`/two", "`/`", "`/a/b"))
        assert await chat.tell("/env $(touch x); touch y") == f"[] yes\n{tmp_path}\noops"
        assert not list(tmp_path.glob("[xy]"))
        assert await chat.tell("/LEAK") == "[secret] \ufffd"
        assert await chat.tell("/quiet") == "/quiet is done; it printed nothing."
        assert await chat.tell("/bad") == "no\nIt ended with exit code 3."
        lots = await chat.tell("/lots")
        assert lots.endswith("The rest of the output is not shown.")
        assert len(lots) < 3600
        for name in ("missing", "strange"):
            assert f"There is no command /{name}." in await chat.tell(f"/{name}")
        assert chat.gateway.model.requests == []


@pytest.mark.asyncio
async def test_a_flood_and_a_program_in_the_background_are_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with chat_with(
        tmp_path,
        flood=line("yes"),
        leaves=line(f"sleep 300 & echo $! > {pids}; echo done"),
    ) as chat:
        assert "rest of the output" in await chat.tell("/flood")
        assert await chat.tell("/leaves") == "done"
        await until(lambda: gone(int(pids.read_text())))


@pytest.mark.asyncio
async def test_one_that_takes_too_long_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_commands, "QUICK_S", 0.3)
    pids = tmp_path / "pids"
    code = "import time; print('begun', flush=True); time.sleep(300)"
    stubborn = f"trap '' TERM; {sys.executable} -c \"{code}\" & echo $! > {pids}; wait"
    async with chat_with(tmp_path, slow=line(stubborn)) as chat:
        answer = await chat.tell("/slow")
        assert answer.splitlines()[-1] == "It took longer than 0.3 seconds and was stopped."
        await until(lambda: gone(int(pids.read_text())))


@pytest.mark.asyncio
async def test_leaving_ends_a_command_that_runs(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with chat_with(tmp_path, slow=line(f"echo $$ > {pids}; exec sleep 300")) as chat:
        task = chat.start("/slow")
        await until(lambda: pids.exists() and bool(pids.read_text().strip()))
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await until(lambda: gone(int(pids.read_text())))


@pytest.mark.asyncio
async def test_who_may_not_use_a_command_does_not_and_lists_show_what_one_may(
    tmp_path: Path,
) -> None:
    people = {"allow_from": "u1,u2", "allow_admin_from": "u1", "user_allowed_commands": "free"}
    limited = replace(
        config(
            free=line("echo free", description="Free for all"),
            mine=line("echo mine"),
            st={"type": "alias", "target": "/status"},
            new=line("echo not this"),
        ),
        platforms={Platform.TELEGRAM: PlatformConfig(extra=people)},
    )
    quick = QuickRunner(os.environ, tmp_path)
    async with command_gateway(tmp_path, config=limited, quick=quick) as chat:
        assert await chat.tell("/mine") == "mine"
        assert "You cannot use /mine here." in await chat.tell("/mine", user_id="u2")
        assert await chat.tell("/free", user_id="u2") == "free"
        assert "You cannot use /status here." in await chat.tell("/st", user_id="u2")
        listed = await chat.tell("/help")
        assert "**Added**\n- `/free` — Free for all\n- `/mine` — a custom command" in listed
        assert "- `/st` — the same as /status" in listed
        assert "not this" not in await chat.tell("/new")
        assert "/mine" not in await chat.tell("/help", user_id="u2")
        assert "/free" in await chat.tell("/whoami", user_id="u2")


@pytest.fixture
def greet() -> Iterator[list[str]]:
    """A plugin with some commands; what they were given."""
    given: list[str] = []

    def answer(args: str) -> str:
        given.append(args)
        return f"Hello {args}"

    async def later(args: str) -> str:
        await asyncio.sleep(0)
        return f"later {args}"

    def fail(_args: str) -> str:
        raise SystemExit(3)

    undo = [
        plugins.COMMANDS.add(PluginCommand(name, handler, f"do {name}", plugin="greeter"))
        for name, handler in (
            *(("greet", answer), ("later", later), ("fail", fail)),
            *(("nothing", lambda _args: None), ("status", fail)),
        )
    ]
    yield given
    for each in undo:
        each()


@pytest.mark.asyncio
async def test_commands_of_plugins(tmp_path: Path, greet: list[str]) -> None:
    async with command_gateway(tmp_path) as chat:
        assert await chat.tell("/greet  Ann — all") == "Hello Ann -- all"
        assert await chat.tell("/later on") == "later on"
        assert await chat.tell("/nothing") == ""
        assert "/fail of the plugin greeter failed." in await chat.tell("/fail")
        assert "There are no messages" in await chat.tell("/status")
        assert "- `/greet` — do greet" in await chat.tell("/help")
        assert greet == ["Ann -- all"]


@pytest.mark.asyncio
async def test_a_command_that_hangs_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    release = threading.Event()
    undo = plugins.COMMANDS.add(PluginCommand("hang", lambda _args: str(release.wait(60))))
    async with command_gateway(tmp_path) as chat:
        tasks = [chat.start("/hang", chat_id=f"c{number}") for number in range(5)]
        assert "Hermes Desktop 1.2.3" in await chat.tell("/version", chat_id="c9")
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert "Too many commands" in (done.pop().result() or "")
        release.set()
        await asyncio.wait(tasks)
    undo()


@pytest.mark.asyncio
async def test_event_hooks_hear_of_commands_and_may_answer_for_them(tmp_path: Path) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    verdicts: dict[str, Any] = {
        "command:status": {"decision": "deny", "message": "Not now."},
        "command:title": {"decision": "deny"},
        "command:usage": {"decision": "handled", "message": "Seen to."},
        "command:profile": {"decision": "rewrite", "command_name": "/version", "raw_args": "x"},
        "command:sessions": {"decision": "rewrite", "command_name": "nonsense"},
        "command:whoami": {"decision": "perhaps"},
    }

    async def handle(event_type: str, context: dict[str, Any]) -> Any:
        heard.append((event_type, context))
        return verdicts.get(event_type)

    def exact(event_type: str, context: dict[str, Any]) -> None:
        context["command"] = "meddled"
        heard.append((f"exact {event_type}", context))
        raise OSError("broken")

    hooks = EventHookSet()
    hooks.add("all", ("command:*", "gateway:startup"), handle)
    hooks.add("one", ("command:version",), exact)
    async with command_gateway(tmp_path, hooks=hooks) as chat:
        assert await chat.tell("/status") == "Not now."
        assert await chat.tell("/title") == "/title is not allowed here."
        assert await chat.tell("/usage") == "Seen to."
        assert "Hermes Desktop 1.2.3" in await chat.tell("/profile")
        assert "There is no command /nonsense." in await chat.tell("/sessions")
        assert "u1" in await chat.tell("/whoami")
        assert "Hermes Desktop 1.2.3" in await chat.tell("/v")
        assert await chat.tell("hello") == "reply 1"
    hooks.close()
    assert heard[0] == ("gateway:startup", {**heard[0][1], "platforms": ["desktop", "telegram"]})
    assert [name for name, _ in heard[-2:]] == ["exact command:version", "command:version"]
    assert heard[-1][1] == {
        "platform": "telegram",
        "user_id": "u1",
        "command": "version",
        "raw_command": "v",
        "args": "",
        "raw_args": "",
        "session_key": "agent:main:telegram:dm:c1",
    }
    assert [each["name"] for each in hooks.loaded_hooks] == ["all", "one"]
