"""The services host a gateway: identity, tokens, platforms and turns, from start to the end."""

import asyncio
import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.events import Notice, TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_files import (
    LOCK_FILE,
    PID_FILE,
    STATE_FILE,
    ask_to_stop,
    parse_record,
)
from hermes_desktop.services.hosting.hosted_gateway import HostedGateway
from tests.fakes.hosting import TOKEN, HostStage, host_stage, write_config
from tests.fakes.identity import gateway_lookalike, is_gone, write_record
from tests.fakes.model_server import HANG, Reply, text

pytestmark = [pytest.mark.two_processes, pytest.mark.asyncio]


def pid_of(stage: HostStage) -> int:
    """The identity process, as its file says."""
    return int(stage.file(PID_FILE)["pid"])


def mark_stop(stage: HostStage) -> None:
    """What ``hermes gateway stop`` leaves behind."""
    record = parse_record(stage.file(PID_FILE))
    assert record is not None
    ask_to_stop(stage.home, record, now=time.time())


def children() -> list[int]:
    """The processes that we have started."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def lock_owners(stage: HostStage) -> list[int]:
    return [json.loads(lock.read_text())["pid"] for lock in stage.locks.glob("*.lock")]


async def hang(stage: HostStage) -> None:
    """A turn that never ends by itself."""
    stage.model.script(Reply([HANG]))
    stage.chat.say("wait", chat="c1", user="u1")
    await stage.reach("working")


# ------------------------------------------------------------------------------------ start, stop


async def test_a_started_gateway_answers_and_a_stopped_one_leaves_nothing(tmp_path: Path) -> None:
    before = children()  # such as the process that other tests fork short commands from
    async with host_stage(tmp_path) as stage:
        await stage.host.start()

        assert stage.host.state == "running"
        pid = pid_of(stage)
        assert pid != os.getpid()
        assert lock_owners(stage) == [pid]
        assert set(children()) - set(before) == {pid}
        assert "Qt" not in Path(f"/proc/{pid}/maps").read_text()
        assert process_facts.looks_like_gateway(process_facts.command_line(pid) or "")
        assert not process_facts.looks_like_gateway(process_facts.command_line(os.getpid()) or "")
        stage.chat.say("hello", chat="c1", user="u1")
        await stage.until(lambda: stage.chat.texts("c1"))
        await stage.reach("running")
        await stage.until(lambda: stage.file(STATE_FILE)["gateway_state"] == "running")

        await stage.host.stop()

        assert stage.host.status.state == "stopped"
        assert lock_owners(stage) == []
        assert not stage.home.joinpath(PID_FILE).exists()
        state = stage.file(STATE_FILE)
        assert (state["gateway_state"], state["exit_reason"]) == ("stopped", None)
        assert state["platforms"] == {}
        await stage.until(lambda: is_gone(pid))
        assert stage.words() == ["starting", "running", "working", "running", "stopping", "stopped"]
    await asyncio.sleep(0)
    assert not [t.name for t in threading.enumerate() if t.name.startswith("gateway")]


async def test_it_starts_with_the_program_if_that_is_switched_on(tmp_path: Path) -> None:
    async with host_stage(tmp_path, autostart=True) as stage:
        await stage.reach("running")
        pid = pid_of(stage)
    assert is_gone(pid) or not process_facts.is_alive(pid)


async def test_a_restart_reads_the_settings_again_and_leaves_the_chat_of_the_desktop_alone(
    tmp_path: Path,
) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        first = pid_of(stage)
        stage.model.script(Reply([HANG]))
        finished: list[TurnFinished] = []
        stage.services.bus.subscribe(TurnFinished, finished.append)
        sent = await stage.services.chat.send("think long")
        await stage.until(lambda: stage.services.chat.is_running(sent.session_id))
        write_config(stage.home, stage.model, stage.chat.port, telegram={"allow_from": ["u2"]})

        await stage.host.restart()

        assert stage.host.state in {"running", "working"}
        assert pid_of(stage) != first
        assert lock_owners(stage) == [pid_of(stage)]
        assert stage.services.chat.is_running(sent.session_id)
        assert not finished
        assert "stopped" not in stage.words()
        await stage.services.chat.stop(sent.session_id)


async def test_both_runners_never_answer_in_one_conversation_at_once(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        events: list[object] = []
        for kind in (TurnQueued, TurnStarted, TurnFinished):
            stage.services.bus.subscribe(kind, events.append)
        await stage.host.start()
        stage.model.script(Reply([1.0, *text("slowly").steps]))
        stage.chat.say("wait", chat="c1", user="u1")
        await stage.until(lambda: any(isinstance(e, TurnStarted) for e in events))
        (started,) = [e for e in events if isinstance(e, TurnStarted)]
        await stage.until(lambda: stage.model.requests)

        await stage.services.chat.send("from here", session_id=started.session_id)
        await stage.until(lambda: any(isinstance(e, TurnQueued) for e in events))
        await stage.until(lambda: len([e for e in events if isinstance(e, TurnFinished)]) == 2)

        rows = stage.services.db.get_messages(started.session_id)
        assert [(row["role"], row["content"]) for row in rows][1:3] == [
            ("assistant", "slowly"),
            ("user", "from here"),
        ]
        assert stage.chat.texts("c1") == ["slowly"]


async def test_a_chat_may_ask_for_a_restart(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        first = pid_of(stage)

        stage.chat.say("/restart", chat="c1", user="u1")

        await stage.until(lambda: stage.words().count("starting") == 2)
        await stage.reach("running")
        assert pid_of(stage) != first


async def test_calls_that_come_together_join(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await asyncio.gather(*(stage.host.start() for _ in range(3)))
        assert stage.host.state == "running"
        await asyncio.gather(stage.host.stop(), stage.host.start())
        assert stage.host.state == "running"
        await asyncio.gather(stage.host.stop(), stage.host.stop())
        assert stage.host.state == "stopped"
        with pytest.raises(RefusedError):
            await stage.host.reconnect("telegram")


async def test_a_platform_can_be_left_and_served_again(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        state = lambda: stage.host.status.platforms[0].state  # noqa: E731

        await stage.host.pause("telegram")
        await stage.until(lambda: state() == "paused" and not stage.chat.look()["bots"])
        assert stage.host.state == "running"
        await stage.host.resume("telegram")
        await stage.until(lambda: state() == "connected")
        logins = stage.chat.look()["logins"]
        await stage.host.reconnect("telegram")
        await stage.until(lambda: stage.chat.look()["logins"] > logins)
        for unknown in ("discord", "nonsense"):
            with pytest.raises(RefusedError):
                await stage.host.pause(unknown)


@pytest.mark.parametrize(
    ("error", "title"),
    [(RefusedError("No.", "Why.", "Do."), "No."), (ValueError("odd"), "inside Hermes Desktop")],
)
async def test_what_fails_is_told_and_leaves_nothing_held(
    tmp_path: Path, error: Exception, title: str
) -> None:
    async with host_stage(tmp_path) as stage:

        def fail(*_: object) -> HostedGateway:
            raise error

        make, stage.host._make_hosted = stage.host._make_hosted, fail  # type: ignore[method-assign]
        await stage.host.start()
        refusal = stage.host.status.refusal
        assert stage.host.state == "stopped"
        assert refusal is not None
        assert title in refusal.title
        assert stage.file(STATE_FILE)["gateway_state"] == "stopped"
        stage.host._make_hosted = make  # type: ignore[method-assign]
        await stage.host.start()
        assert stage.host.state == "running"


async def test_stopping_tells_what_it_waits_for_and_can_be_hurried(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        await hang(stage)

        stopping = asyncio.create_task(stage.host.stop(drain_s=60))
        await stage.until(lambda: "Waiting for 1 reply" in stage.host.status.detail)
        assert stage.host.state == "stopping"
        stage.host.hurry()
        await asyncio.wait_for(stopping, 10)

        assert stage.host.state == "stopped"


async def test_quitting_tells_of_every_turn_and_interrupts_what_is_hurried(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        await hang(stage)
        stage.model.script(Reply([HANG]))
        await stage.services.chat.send("and I wait, too")
        await stage.until(lambda: stage.host.status.running_turns == 2)

        closing = asyncio.create_task(stage.host.close(drain_s=60))
        await stage.until(lambda: "Waiting for 2 replies" in stage.host.status.detail)
        stage.host.hurry()
        await asyncio.wait_for(closing, 15)

        assert (stage.host.state, stage.host.status.running_turns) == ("stopped", 0)
        assert stage.host.status.detail == ""


async def test_a_tool_that_asks_for_quiet_gets_it(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        stage.home.joinpath(".drain_request.json").write_text("{}")
        await stage.until(lambda: stage.file(STATE_FILE)["gateway_state"] == "draining")

        stage.chat.say("hello", chat="c1", user="u1")
        await stage.until(lambda: stage.chat.texts("c1"))

        assert "New messages are not accepted" in stage.chat.texts("c1")[0]
        assert "New messages are not accepted" in stage.host.status.detail
        assert stage.model.requests == []
        stage.home.joinpath(".drain_request.json").unlink()
        await stage.until(lambda: stage.file(STATE_FILE)["gateway_state"] == "running")
        stage.chat.say("again", chat="c1", user="u1")
        await stage.until(lambda: len(stage.chat.texts("c1")) == 2)
        assert stage.host.status.detail == ""


# -------------------------------------------------------------------------------- from the outside


async def test_a_stop_from_the_command_line_is_obeyed_and_remembered(tmp_path: Path) -> None:
    async with host_stage(tmp_path, autostart=True) as stage:
        await stage.reach("running")
        mark_stop(stage)

        status = await stage.reach("stopped")

        assert "command line" in status.detail
        assert stage.file(STATE_FILE)["exit_reason"] is None
        assert lock_owners(stage) == []
        await stage.host.start()
        refusal = stage.host.status.refusal
        assert refusal is not None
        assert refusal.may_insist
        assert stage.host.state == "stopped"
        await stage.host.start(insist=True)
        assert stage.host.state == "running"
        assert stage.host.status.refusal is None


async def test_a_signal_without_a_note_leaves_no_turn_and_no_platform_behind(
    tmp_path: Path,
) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        await hang(stage)
        os.kill(pid_of(stage), signal.SIGTERM)

        await stage.until(lambda: not stage.chat.look()["bots"])
        assert stage.host.state == "stopping"
        status = await stage.reach("stopped")

        assert "another program" in status.detail
        assert stage.file(STATE_FILE)["exit_reason"] is None
        assert status.running_turns == 0


async def test_a_stop_overtakes_a_start_that_waits_for_a_server(tmp_path: Path) -> None:
    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    async with silent, host_stage(tmp_path) as stage:
        port = silent.sockets[0].getsockname()[1]
        write_config(stage.home, stage.model, port)
        starting = asyncio.create_task(stage.host.start())
        await stage.until(lambda: stage.host.status.platforms)
        assert stage.host.state == "starting"
        os.kill(pid_of(stage), signal.SIGTERM)

        await asyncio.wait_for(starting, 5)

        assert stage.host.state == "stopped"
        assert stage.file(STATE_FILE)["exit_reason"] is None
        assert lock_owners(stage) == []


async def test_a_restart_signal_brings_a_new_one(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        first = pid_of(stage)
        os.kill(first, signal.SIGUSR1)

        await stage.until(lambda: stage.words().count("running") == 2)

        assert pid_of(stage) != first
        assert "stopped" not in stage.words()


async def test_killed_while_it_stops_the_platforms_are_left_at_once(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        await hang(stage)
        pid = pid_of(stage)
        mark_stop(stage)
        await stage.reach("stopping")
        os.kill(pid, signal.SIGKILL)

        await stage.until(lambda: not stage.chat.look()["bots"])
        status = await stage.reach("stopped")

        assert status.running_turns == 0
        assert lock_owners(stage) == []


async def test_a_killed_identity_process_is_followed_by_another(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        first = pid_of(stage)
        os.kill(first, signal.SIGKILL)

        await stage.until(lambda: lock_owners(stage) and lock_owners(stage) != [first])

        assert lock_owners(stage) == [pid_of(stage)]
        assert stage.host.state == "running"
        await stage.until(lambda: stage.file(STATE_FILE)["gateway_state"] == "running")


async def test_a_home_that_goes_away_is_left_and_not_made_again(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        shutil.move(stage.home, tmp_path / "moved")

        status = await stage.reach("stopped")

        assert status.detail == "The home no longer exists."
        await stage.host.start()
        assert stage.host.status.refusal is not None
        assert not stage.home.exists()
        shutil.move(tmp_path / "moved", stage.home)


@pytest.mark.slow
async def test_a_loop_that_hangs_cannot_keep_two_gateways_alive(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        pid = pid_of(stage)
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + 60
        with gateway_lookalike() as record:
            while not stage.ended and time.monotonic() < until:  # the loop does not turn
                time.sleep(0.05)  # noqa: ASYNC251
                if is_gone(pid):
                    write_record(stage.home / PID_FILE, record)
            assert stage.ended == ["ended"]
            await stage.reach("attached")


# ------------------------------------------------------------------------------ another gateway


async def test_another_gateway_is_followed_and_its_end_is_noticed(tmp_path: Path) -> None:
    async with host_stage(tmp_path, autostart=True, prepare=lambda _: None) as stage:
        await stage.reach("running")
        await stage.host.stop()
        with gateway_lookalike() as record:
            write_record(stage.home / PID_FILE, record)
            write_record(
                stage.home / STATE_FILE,
                record,
                gateway_state="running",
                platforms={"matrix": {"state": "connected"}, "irc": {"state": "odd"}},
            )
            other = (await stage.reach("attached")).other
            assert other is not None
            assert (other.name, other.pid) == ("hermes gateway", record.pid)
            assert other.started_at is not None
            assert [(each.name, each.state) for each in other.platforms] == [
                ("irc", "silent"),
                ("matrix", "connected"),
            ]
            before = {path.name: path.read_bytes() for path in stage.home.glob("gateway*")}
            await stage.host.start()
            assert stage.host.state == "attached"
            assert {p.name: p.read_bytes() for p in stage.home.glob("gateway*")} == before

        status = await stage.reach("running")  # the person wanted it a moment ago

        assert status.other is None


async def test_what_the_command_line_stopped_stays_off_when_the_other_goes(tmp_path: Path) -> None:
    async with host_stage(tmp_path, autostart=True) as stage:
        await stage.reach("running")
        mark_stop(stage)
        await stage.reach("stopped")
        with gateway_lookalike() as record:
            write_record(stage.home / PID_FILE, record)
            await stage.reach("attached")
        await stage.reach("stopped")
        await asyncio.sleep(1.0)
        assert stage.host.state == "stopped"


async def test_a_home_that_another_gateway_takes_is_left_to_it(tmp_path: Path) -> None:
    async with host_stage(tmp_path, autostart=True) as stage:
        await stage.reach("running")
        pid = pid_of(stage)
        os.kill(pid, signal.SIGSTOP)
        with gateway_lookalike() as record:
            for name in (PID_FILE, LOCK_FILE, STATE_FILE):
                stage.home.joinpath(name).unlink()
                write_record(stage.home / name, record, gateway_state="running")
            os.kill(pid, signal.SIGCONT)

            status = await stage.reach("attached")

            assert status.other is not None
            assert stage.file(PID_FILE)["pid"] == record.pid
            assert not stage.chat.look()["bots"]
            # Our process may have been stopped between its last look and its last write.
            write_record(stage.home / STATE_FILE, record, gateway_state="running")
        await stage.reach("running")  # nobody had stopped it


async def test_a_take_over_asks_first_and_says_how_far_it_is(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "hermes"
    program.parent.mkdir()
    async with host_stage(tmp_path, path=str(program.parent)) as stage:
        with gateway_lookalike() as record:
            write_record(stage.home / PID_FILE, record)
            await stage.reach("attached")
            program.write_text("#!/bin/sh\necho it cannot be stopped; exit 1\n")
            program.chmod(0o755)
            await stage.host.take_over()
            refusal = stage.host.status.refusal
            assert stage.host.state == "attached"
            assert refusal is not None
            assert "cannot be stopped" in refusal.detail

            program.write_text(f"#!/bin/sh\nkill -9 {record.pid}\n")
            await stage.host.take_over()

        assert stage.host.state == "running"
        assert stage.host.status.refusal is None
        assert any(f"process {record.pid}" in each.detail for each in stage.statuses)


async def test_a_restart_before_it_runs_is_a_start(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        for pause in (0.0, 0.02, 0.05, 0.1, 0.2):
            starting = asyncio.ensure_future(stage.host.start())
            await asyncio.sleep(pause)
            await stage.host.restart(drain_s=0.0)
            await starting
            assert stage.host.state == "running"
            await stage.host.stop(drain_s=0.0)
            assert stage.host.state == "stopped"


async def test_a_restart_at_the_moment_it_runs_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarts: list[asyncio.Future[None]] = []
    start = HostedGateway.start

    async def start_and_ask_for_a_restart(hosted: HostedGateway) -> None:
        await start(hosted)
        if not restarts:
            restarts.append(asyncio.ensure_future(stage.host.restart(drain_s=0.0)))

    monkeypatch.setattr(HostedGateway, "start", start_and_ask_for_a_restart)
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        assert stage.host.state == "running"
        await restarts[0]
        assert stage.host.state == "running"


async def test_other_programs_are_told_when_no_platform_works(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        stage.chat.set(refuse_login="rate_limited")
        await stage.host.start()
        await stage.until(lambda: stage.file(STATE_FILE)["gateway_state"] == "degraded")
        assert stage.file(STATE_FILE)["platforms"]["telegram"]["state"] in {
            "retrying",
            "connecting",
        }

        stage.chat.set(refuse_login="")
        await stage.until(lambda: stage.file(STATE_FILE)["gateway_state"] == "running")

        assert stage.host.state == "running"


# ------------------------------------------------------------------------------------- refusals


def schedule(home: Path) -> None:
    home.joinpath("cron").mkdir()
    home.joinpath("cron/jobs.json").write_text('{"jobs": [{"name": "news", "enabled": true}]}')


async def test_what_would_be_silenced_is_named_before_it_is(tmp_path: Path) -> None:
    async with host_stage(tmp_path, autostart=True, served=False, prepare=schedule) as stage:
        await stage.until(lambda: stage.host.status.refusal)
        refusal = stage.host.status.refusal

        assert stage.host.state == "stopped"
        assert refusal is not None
        assert refusal.would_not_run == ("Messages from Telegram", "Scheduled job “news”")
        assert refusal.may_insist
        assert not list(stage.home.glob("gateway*"))

        await stage.host.start(insist=True)

        assert stage.host.state == "running"  # known, insisted on, and nothing to be mended here
        assert [(p.name, p.state) for p in stage.host.status.platforms] == [
            ("telegram", "unavailable")
        ]


async def test_a_service_and_a_sandbox_stand_in_the_way(tmp_path: Path) -> None:
    services = tmp_path / "services"
    services.mkdir()
    services.joinpath("hermes-gateway.service").write_text("ExecStart=hermes gateway run\n")
    async with host_stage(tmp_path, checks=HostingChecks(Path("/"), (services,))) as stage:
        await stage.host.start()
        refusal = stage.host.status.refusal
        assert refusal is not None
        assert (refusal.may_insist, "service" in refusal.title) == (True, True)
        assert not list(stage.home.glob("gateway*"))
        await stage.host.start(insist=True)
        assert stage.host.state == "running"

    flatpak = tmp_path / "root"
    flatpak.joinpath("proc/self").mkdir(parents=True)
    flatpak.joinpath(".flatpak-info").touch()
    for root, words in ((flatpak, "Flatpak"), (tmp_path / "none", "Linux")):
        async with host_stage(tmp_path, checks=HostingChecks(root, ())) as stage:
            await stage.host.start(insist=True)
            refusal = stage.host.status.refusal
            assert refusal is not None
            assert words in refusal.detail
            assert not refusal.may_insist


async def test_settings_that_make_no_sense_are_told_and_the_rest_counts(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        stage.home.joinpath("config.yaml").write_text("platforms: [unclosed\n")
        await stage.host.start()
        assert stage.host.state == "running"
        notice = stage.notices[-1]
        assert isinstance(notice, Notice)
        assert "config.yaml" in notice.detail
        write_config(stage.home, stage.model, stage.chat.port)
        await stage.host.restart()
        assert not isinstance(stage.notices[-1], Notice)


async def test_a_token_that_another_gateway_uses_is_left_to_it(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as first:
        await first.host.start()
        (tmp_path / "b").mkdir()
        async with host_stage(tmp_path / "b", locks=first.locks) as second:
            await second.host.start()
            (health,) = second.host.status.platforms
            assert second.host.state == "degraded"
            assert str(pid_of(first)) in health.detail
            assert TOKEN not in health.detail
        assert lock_owners(first) == [pid_of(first)]
