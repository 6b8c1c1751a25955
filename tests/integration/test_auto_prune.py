"""Three weeks of hosting: old sessions are deleted as long as the gateway runs, and only here."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_gateway
from hermes_desktop.services.assembly.desktop_services import DesktopServices, join_parts
from hermes_desktop.services.assembly.history_upkeep import LOOK_S
from hermes_desktop.services.assembly.hosting_services import GatewayServices
from hermes_desktop.services.hosting.gateway_host import HostSetup
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock
from tests.fakes.hosting import NO_SERVICES, write_config
from tests.fakes.model_server import ModelServer
from tests.fakes.socket_platform import chat_server, socket_registry
from tests.support.waiting import until

DAY = 86_400.0
Services = GatewayServices | DesktopServices


class Weeks:
    """Lets days pass for the upkeep of a program, a session beginning and ending on each of them.

    The upkeep waits until :meth:`pass_by` is called; its pauses move the clock.
    """

    def __init__(self, services: Services, clock: MovableClock) -> None:
        self._services = services
        self._clock = clock
        self._begin, self._over = asyncio.Event(), asyncio.Event()
        self._end = 0.0
        self._days = 0
        services.upkeep.pause = self._pause

    async def pass_by(self, days: float) -> None:
        self._end = self._clock.time() + days * DAY
        self._begin.set()
        await self._over.wait()

    async def _pause(self, seconds: float) -> None:
        await self._begin.wait()
        if self._clock.time() + seconds > self._end:
            self._over.set()
            await asyncio.get_running_loop().create_future()
        self._clock.advance(seconds)
        day = int((self._clock.time() - MovableClock().time()) / DAY)
        if day > self._days:
            self._days = day
            await self._services.workers.writers.run(add, self._services.db, f"day-{day}")


def add(db: SessionDB, name: str) -> None:
    db.create_session(name, "cli")
    db.append_message(name, "user", "hello")
    db.end_session(name, "cli_close")


def left(db: SessionDB) -> list[int]:
    rows = db.search_sessions(limit=999)
    return sorted(int(row["id"].removeprefix("day-")) for row in rows)


@contextlib.asynccontextmanager
async def running(kind: str, folder: Path, clock: MovableClock) -> AsyncIterator[Services]:
    """A program on the home in this folder, closed at the end."""
    paths = HermesPaths(folder / "home", folder / "home")
    environ = {"HERMES_GATEWAY_LOCK_DIR": str(folder / "locks"), "PATH": ""}
    services: Services
    if kind == "headless":
        services = build_gateway(
            paths,
            redactor=SecretRedactor(),
            clock=clock,
            environ=environ,
            registry=socket_registry(),
        )
    else:
        services = join_parts(
            HostSetup(paths, environ, autostart=False, checks=NO_SERVICES),
            redactor=SecretRedactor(),
            offline=False,
            clock=clock,
            registry=socket_registry(),
            hosts=True,
        )
    try:
        yield services
    finally:
        await services.close(drain_s=0.0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["headless", "window"])
async def test_three_weeks(tmp_path: Path, home: Path, kind: str) -> None:
    clock = MovableClock()
    upkeep = {"auto_prune": True, "retention_days": 5, "min_interval_hours": 24}
    with ModelServer() as model:
        async with chat_server() as chat:
            write_config(home, model, chat.port, sessions=upkeep)
            async with running(kind, tmp_path, clock) as services:
                weeks = Weeks(services, clock)
                await services.start()
                await services.gateway.start(insist=True)
                await until(lambda: services.gateway.state == "running")
                add(services.db, "day-0")
                add(services.db, "day-99")
                services.db.set_session_pinned("day-99", pinned=True)
                await weeks.pass_by(21)
                found = left(services.db)
                assert found[-1] == 99
                assert found[-2] == 20
                assert 5 <= len(found) - 1 <= 7
                last = services.db.last_auto_prune()
                assert clock.time() - last <= DAY + LOOK_S
                (line,) = services.db.own_fact("auto_prune_last").splitlines()  # type: ignore[union-attr]
                assert '"took": 1' in line


@pytest.mark.asyncio
async def test_a_window_that_is_attached_leaves_old_sessions_alone(
    tmp_path: Path, home: Path
) -> None:
    clock = MovableClock()
    with ModelServer() as model:
        async with chat_server() as chat:
            write_config(home, model, chat.port, sessions={"auto_prune": True, "retention_days": 5})
            async with running("headless", tmp_path, clock) as host:
                add(host.db, "day-0")
                clock.advance(10 * DAY)
                await host.start()
                await host.gateway.start(insist=True)
                await until(lambda: host.gateway.state == "running")
                async with running("window", tmp_path, clock) as window:
                    await window.start()
                    await window.gateway.start()
                    await until(lambda: window.gateway.state == "attached")
                    await window.upkeep.look()
                    assert left(host.db) == [0]
                    assert host.db.last_auto_prune() == 0
                    await host.upkeep.look()
                    assert left(host.db) == []
