"""Hosting where only Hermes' own gateway may write: never begun, and left when that becomes so."""

import contextlib
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hermes_desktop.core.errors import StateReadOnlyError
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.runtime_files.identity_files import LOCK_FILE, PID_FILE, STATE_FILE
from hermes_desktop.state import SessionDB
from tests.fakes.hosting import HostStage, host_stage
from tests.fakes.model_server import HANG, Reply, text
from tests.fakes.newest_home import (
    answering_socket,
    become_single_writer,
    bytes_of,
    make_newest_file,
)

pytestmark = [pytest.mark.asyncio, pytest.mark.slow, pytest.mark.two_processes]
NEW_GATEWAY = {"protocol": 1, "kind": "gateway", "runtime_protocol": 1, "state": "ready"}


def make(home: Path, *, single_writer: bool, journal: str = "wal") -> None:
    make_newest_file(home / "state.db", single_writer=single_writer, journal=journal)


def mark(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "state.db", isolation_level=None)) as conn:
        conn.execute("INSERT OR IGNORE INTO sessions (id, source, started_at) VALUES "
                     "('s_cli', 'cli', 1)")  # fmt: skip
        become_single_writer(conn)


def holds_nothing(stage: HostStage) -> bool:
    return not any((stage.home / name).exists() for name in (LOCK_FILE, PID_FILE, STATE_FILE))


@pytest.mark.parametrize("journal", ["wal", "delete"])
async def test_such_a_home_is_never_claimed(tmp_path: Path, journal: str) -> None:
    prepare = partial(make, single_writer=True, journal=journal)
    async with host_stage(tmp_path, autostart=True, prepare=prepare) as stage:
        before = bytes_of(stage.home / "state.db")
        for insist in (False, True):
            await stage.host.start(insist=insist)
            refusal = stage.host.status.refusal
            assert refusal is not None
            assert not refusal.may_insist
            assert "belongs to Hermes' gateway" in refusal.detail
        await stage.host.take_over(insist=True)
        assert stage.host.state == "stopped"
        assert holds_nothing(stage)
        with pytest.raises(StateReadOnlyError):
            await stage.services.chat.send("hello")
        await stage.services.actions.tidy_later(after_s=0)
        await stage.services.watch.look()
    assert bytes_of(tmp_path / "home" / "state.db") == before
    assert stage.model.requests == []


async def test_without_the_marks_it_is_hosted_as_ever(tmp_path: Path) -> None:
    async with host_stage(tmp_path, prepare=partial(make, single_writer=False)) as stage:
        await stage.host.start()
        assert stage.host.state == "running"
        stage.chat.say("hello", chat="c1", user="u1")
        await stage.until(lambda: stage.chat.texts("c1"))


async def test_marks_that_appear_end_the_hosting(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        stage.chat.say("hello", chat="c1", user="u1")
        await stage.until(lambda: stage.chat.texts("c1"))
        await stage.reach("running")

        mark(stage.home)
        status = await stage.reach("stopped")

        assert status.refusal is not None
        assert "belongs to Hermes' gateway" in status.refusal.detail
        assert stage.host.ended_by == "not_ours"
        assert not (stage.home / PID_FILE).exists()
        before = bytes_of(stage.home / "state.db")
        await stage.host.start(insist=True)
        assert stage.host.state == "stopped"
        assert bytes_of(stage.home / "state.db") == before


async def test_a_running_turn_may_end_first(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        stage.model.script(Reply([HANG]))
        finished: list[TurnFinished] = []
        stage.services.bus.subscribe(TurnFinished, finished.append)
        stage.chat.say("think long", chat="c1", user="u1")
        await stage.until(lambda: stage.model.requests)

        mark(stage.home)
        await stage.reach("stopping")
        assert stage.host.status.running_turns == 1
        assert not finished
        stage.host.hurry()
        await stage.reach("stopped")
        assert finished


async def test_the_reply_of_a_running_turn_is_still_delivered(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        stage.model.script(replace(text("the answer"), before_head=[4.0]))
        stage.chat.say("think a while", chat="c1", user="u1")
        await stage.until(lambda: stage.model.requests)
        rows = message_count(stage.home)

        mark(stage.home)
        await stage.reach("stopping")
        await stage.reach("stopped")
        assert any("the answer" in each for each in stage.chat.texts("c1"))
        assert message_count(stage.home) == rows


def message_count(home: Path) -> int:
    with contextlib.closing(sqlite3.connect(home / "state.db")) as conn:
        return int(conn.execute("SELECT count(*) FROM messages").fetchone()[0])


async def test_a_gateway_of_the_new_kind_ends_the_hosting(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()
        with answering_socket(stage.home, NEW_GATEWAY):
            status = await stage.reach("stopped")
        assert status.refusal is not None


async def test_the_identity_itself_refuses(tmp_path: Path) -> None:
    SessionDB(tmp_path / "state.db").close()
    checks = HostingChecks(Path("/"), ())
    from hermes_desktop.core.paths import HermesPaths

    paths = HermesPaths(tmp_path, tmp_path)
    assert checks.refusal(paths, None) is None
    mark(tmp_path)
    answer = checks.refusal(paths, None)
    assert answer is not None
    assert answer.why == "not_ours"
