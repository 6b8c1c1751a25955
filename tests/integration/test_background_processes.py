"""Commands that run beside conversations: who hears of their end, and what closing leaves."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.tools.processes.process_table import ProcessTable, Wanted
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice, TurnFinished, TurnStarted
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.agents.background_care import LOST_KEY, BackgroundNotifier
from hermes_desktop.services.assembly.assembly import build_services
from tests.fakes.command_gateway import KEY, command_gateway
from tests.fakes.model_server import ModelServer, text, tool_call
from tests.support.waiting import until


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ProcessTable]:
    made = ProcessTable(SystemClock(), tmp_path / "processes")
    yield made
    made.close()


def wanted(command: str, folder: Path, key: str = KEY, *, notify: bool = True) -> Wanted:
    environ = {"PATH": "/usr/bin:/bin"}
    return Wanted(key, "s", ("bash", "-c", command), command, environ, folder, notify)


@pytest.mark.asyncio
async def test_the_chat_that_asked_hears_of_an_end(tmp_path: Path, table: ProcessTable) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        runner = chat.gateway.runner
        care = BackgroundNotifier(table, EventBus())
        await care.open(runner.state.turn_workers)
        care.add(runner)
        await chat.tell("hello")
        table.start(wanted("echo built", tmp_path))
        await until(lambda: len(chat.gateway.of(TurnFinished)) == 2)
        told = chat.texts()[2]
        assert "not the user" in told
        assert "exit code 0" in told
        assert "built" in told
        await until(lambda: chat.gateway.telegram.sent[-1] == ("c1", "reply 2"))
        table.start(wanted("true", tmp_path, notify=False))
        table.start(wanted("true", tmp_path, "agent:main:telegram:dm:nobody"))
        killed = table.start(wanted("sleep 60", tmp_path))
        table.kill(killed.id)
        await until(lambda: not any(each.state == "running" for each in table.listed()))
        care.remove(runner)
        assert len(chat.gateway.of(TurnStarted)) == 2
        await care.close(runner.state.turn_workers)


@pytest.mark.asyncio
async def test_a_chat_for_which_something_runs_does_not_expire(
    tmp_path: Path, table: ProcessTable
) -> None:
    async with command_gateway(tmp_path, hosted=True) as chat:
        await chat.tell("hello")
        store = chat.gateway.store
        store._has_active_processes_fn = BackgroundNotifier(table, EventBus()).is_busy
        started = table.start(wanted("sleep 60", tmp_path))
        entry = store._entries[KEY]
        assert store._has_active_processes(KEY)
        assert not store._is_session_expired(entry)
        table.kill(started.id)
        assert not store._has_active_processes(KEY)


@pytest.mark.asyncio
async def test_a_conversation_in_the_program_starts_one_and_closing_ends_it(
    tmp_path: Path,
) -> None:
    paths = HermesPaths(tmp_path, tmp_path)
    with ModelServer() as server:
        (tmp_path / "config.yaml").write_text(
            json.dumps(
                {
                    "model": {"default": "m", "base_url": server.base_url},
                    "approvals": {"sandboxed_commands": "off"},
                }
            )
        )
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        services = build_services(paths, redactor=SecretRedactor(), environ=environ, hosts=False)
        server.script(tool_call("terminal", command="sleep 60", background=True), text("It runs."))
        await services.start(watch=False)
        ended: list[TurnFinished] = []
        services.bus.subscribe(TurnFinished, ended.append)
        await services.chat.send("Start it")
        await until(lambda: bool(ended))
        table = services.background.table
        assert table is not None
        [running] = table.listed()
        assert (running.state, running.command) == ("running", "sleep 60")
        assert running.session_key == ended[0].session_key
        await services.close()
        assert [each.id for each in services.ended_processes] == [running.id]
        [file] = (tmp_path / "desktop" / "processes").glob("*.json")
        document = json.loads(file.read_text())
        document["owner"]["began"] = 1  # as if this process had ended
        file.write_text(json.dumps(document))
        again = build_services(paths, redactor=SecretRedactor(), environ=environ, hosts=False)
        notices: list[Notice] = []
        again.bus.subscribe(Notice, notices.append)
        await again.start(watch=False)
        assert [each.detail for each in notices if each.key == LOST_KEY] == ["sleep 60"]
        assert again.background.table is not None
        assert [each.state for each in again.background.table.listed()] == ["lost"]
        await again.close()


@pytest.mark.asyncio
async def test_in_the_window_the_conversation_hears_of_an_end(tmp_path: Path) -> None:
    paths = HermesPaths(tmp_path, tmp_path)
    with ModelServer() as server:
        (tmp_path / "config.yaml").write_text(
            json.dumps(
                {
                    "model": {"default": "m", "base_url": server.base_url},
                    "approvals": {"sandboxed_commands": "off"},
                }
            )
        )
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        services = build_services(paths, redactor=SecretRedactor(), environ=environ, hosts=False)
        started = tool_call(
            "terminal", command="sleep 0.5; echo built", background=True, notify_on_complete=True
        )
        server.script(started, text("It runs."), text("It is built."))
        ended: list[TurnFinished] = []
        services.bus.subscribe(TurnFinished, ended.append)
        try:
            await services.start(watch=False)
            await services.chat.send("Build it")
            await until(lambda: len(ended) == 2)
            assert ended[1].reply == "It is built."
            assert ended[1].session_id == ended[0].session_id
            rows = services.db.get_messages(ended[0].session_id)
            assert "built" in str(rows[-2]["content"])
            assert not services.chat.is_running(ended[0].session_id)
        finally:
            await services.close()
