"""What the window hears of writes by others, and that it hears nothing else."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import Notice, NoticeCleared, PairingChanged, SessionsChanged
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.assembly.desktop_services import DesktopServices
from hermes_desktop.state import SessionDB
from tests.support.waiting import until


@pytest_asyncio.fixture
async def services(tmp_path: Path) -> AsyncIterator[DesktopServices]:
    """Parts that watch a home as for a shown window."""
    SessionDB(tmp_path / "state.db").close()
    services = build_services(
        HermesPaths(tmp_path, tmp_path),
        redactor=SecretRedactor(),
        offline=True,
        environ={},
        hosts=False,
    )
    services.watch.set_visible(True)
    await services.start()
    await services.watch.look()  # the first look only learns what is there
    yield services
    await services.close()


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "state-watch"]


@pytest.mark.asyncio
async def test_a_foreign_session_is_news_once(services: DesktopServices) -> None:
    news: list[SessionsChanged] = []
    services.bus.subscribe(SessionsChanged, news.append)
    other = SessionDB(services.paths.state_db)
    other.create_session("s1", "cli")
    other.close()
    await until(lambda: news)
    await asyncio.sleep(0.6)
    assert [change.session_ids for change in news] == [frozenset({"s1"})]


@pytest.mark.asyncio
async def test_a_file_that_cannot_be_read_is_told_once_and_taken_back(
    services: DesktopServices,
) -> None:
    told: list[Notice] = []
    cleared: list[NoticeCleared] = []
    services.bus.subscribe(Notice, told.append)
    services.bus.subscribe(NoticeCleared, cleared.append)
    file = services.paths.state_db
    aside = file.with_name("aside.db")
    file.rename(aside)
    file.write_bytes(b"something else entirely\n" * 100)
    await until(lambda: told)
    await asyncio.sleep(0.6)
    assert len(told) == 1
    aside.replace(file)
    await until(lambda: cleared)


@pytest.mark.asyncio
async def test_nothing_watches_after_the_end(tmp_path: Path) -> None:
    services = build_services(
        HermesPaths(tmp_path, tmp_path),
        redactor=SecretRedactor(),
        offline=True,
        environ={},
        hosts=False,
    )
    await services.start()
    await until(lambda: len(watchers()) == 1)
    await services.close()
    await until(lambda: not watchers())


@pytest.mark.asyncio
async def test_who_is_let_in_by_another_program_is_news(services: DesktopServices) -> None:
    news: list[PairingChanged] = []
    services.bus.subscribe(PairingChanged, news.append)
    other = PairingStore(services.paths.home, SystemClock())
    code = other.request("telegram", "u9", "Eve").code
    await until(lambda: news)
    await asyncio.sleep(0.6)
    seen = len(news)
    assert code is not None

    other.approve_code("telegram", code)

    await until(lambda: len(news) > seen)
    assert await services.pairing.pending() == []
    await asyncio.sleep(0.6)
    seen = len(news)
    other.pending()
    await asyncio.sleep(0.6)
    assert len(news) == seen
