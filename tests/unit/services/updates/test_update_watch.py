"""The watch for other versions, with a real store and a real server on loopback."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.providers.json_document import (
    MOST_BYTES,
    DocumentError,
    fetch_document,
    is_acceptable,
)
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import SettingChanged, SettingsChanged, VersionsChanged
from hermes_desktop.services.updates.release_feed import FEED_VARIABLE
from hermes_desktop.services.updates.update_watch import (
    APART_S,
    SETTING,
    ThisProgram,
    UpdateWatch,
)
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from tests.fakes.clock import MovableClock
from tests.fakes.release_server import ReleaseServer
from tests.support.waiting import until

FEED = {"version": "1.1.0", "date": "2026-03-01", "notes": "Faster.", "page": "https://x.example/"}


@dataclass
class Stage:
    """A home's store, a server, and the user's consent."""

    folder: Path
    server: ReleaseServer
    clock: MovableClock = field(default_factory=MovableClock)
    allowed: bool = True
    version: str = "1.0.0"
    told: list[VersionsChanged] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def start(self, **environ: str) -> AsyncIterator[UpdateWatch]:
        """The watch of one start of the program."""
        self.bus = EventBus()
        self.bus.subscribe(VersionsChanged, self.told.append)
        watch = UpdateWatch(
            DesktopDatabase(self.folder / "desktop" / "desktop.db"),
            self.bus,
            self.clock,
            environ or {FEED_VARIABLE: self.server.url},
            allowed=lambda: self.allowed,
            program=ThisProgram(self.version, self.folder / "site-packages"),
        )
        try:
            yield watch
        finally:
            await watch.close()


@pytest.fixture
def stage(tmp_path: Path):
    with ReleaseServer(FEED) as server:
        yield Stage(tmp_path, server)


@pytest.mark.asyncio
async def test_a_newer_release_is_told_with_the_way_to_update(stage: Stage) -> None:
    async with stage.start() as watch:
        await watch.look()
        release = watch.news.release
    assert release is not None
    assert (release.version, release.notes, release.page) == ("1.1.0", "Faster.", FEED["page"])
    assert release.update
    assert stage.told == [watch.news]


@pytest.mark.asyncio
async def test_nothing_is_asked_before_the_user_allows_it(stage: Stage) -> None:
    stage.allowed = False
    async with stage.start() as watch:
        await watch.look()
        assert watch.news.release is None
        assert not stage.server.requests
        stage.allowed = True
        await watch.look()
        assert watch.news.release is not None
        stage.allowed = False
        await watch.look()
        assert watch.news.release is None


@pytest.mark.asyncio
async def test_it_asks_once_a_day_however_often_it_starts(stage: Stage) -> None:
    for _ in range(3):
        async with stage.start() as watch:
            await watch.look()
            await watch.look()
            assert watch.news.release is not None
    assert len(stage.server.requests) == 1
    stage.clock.advance(APART_S - 1)
    async with stage.start() as watch:
        await watch.look()
    assert len(stage.server.requests) == 1
    stage.clock.advance(1)
    async with stage.start() as watch:
        await watch.look()
    assert len(stage.server.requests) == 2
    stage.clock.jump(-30 * APART_S)  # it was wrong; the last request lies in the future now
    async with stage.start() as watch:
        await watch.look()
        await watch.look()
    assert len(stage.server.requests) == 3


@pytest.mark.asyncio
async def test_a_request_says_nothing_about_who_asks(stage: Stage) -> None:
    stage.server.headers = {"Set-Cookie": "who=you"}
    async with stage.start() as watch:
        await watch.look()
        stage.clock.advance(APART_S)
        await watch.look()
    assert len(stage.server.requests) == 2
    for request in stage.server.requests:
        assert set(request) <= {"host", "accept", "accept-encoding", "connection"}


@pytest.mark.asyncio
async def test_a_dismissed_release_stays_dismissed_and_the_next_one_is_told(stage: Stage) -> None:
    async with stage.start() as watch:
        await watch.look()
        await watch.dismiss("1.1.0")
        assert watch.news.release is None
        await watch.look()
        assert watch.news.release is None
    async with stage.start() as watch:
        await watch.look()
        assert watch.news.release is None
        stage.server.answer = {**FEED, "version": "1.2.0"}
        stage.clock.advance(APART_S)
        await watch.look()
        assert watch.news.release is not None
        assert watch.news.release.version == "1.2.0"


@pytest.mark.parametrize("version", ["1.0.0", "0.9", "1.0rc1"])
@pytest.mark.asyncio
async def test_a_release_that_is_not_newer_is_no_news(stage: Stage, version: str) -> None:
    stage.server.answer = {**FEED, "version": version}
    async with stage.start() as watch:
        await watch.look()
    assert stage.server.requests
    assert not stage.told


@pytest.mark.parametrize(
    "answer",
    [
        b"{", b"", b"\xff\xfe", b"[" * 60_000, b" " * (MOST_BYTES + 1), {"version": "new"},
        [], (500, FEED), (301, FEED), (204, b""),
    ],
)  # fmt: skip
@pytest.mark.asyncio
async def test_a_bad_answer_is_a_line_in_the_log_and_no_notice(
    stage: Stage, caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    stage.server.answer = answer
    stage.server.headers = {"Location": f"{stage.server.url}/elsewhere"}
    caplog.set_level(logging.INFO)
    async with stage.start() as watch:
        await watch.look()
        await watch.look()
    assert not stage.told
    assert len(stage.server.requests) == 1  # and the day counts from the failure
    (line,) = [each for each in caplog.records if "release feed" in each.message]
    assert line.levelno == logging.INFO


@pytest.mark.asyncio
async def test_a_bad_answer_does_not_forget_what_was_known(stage: Stage) -> None:
    async with stage.start() as watch:
        await watch.look()
        stage.server.answer = b"{"
        stage.clock.advance(APART_S)
        await watch.look()
        assert watch.news.release is not None


@pytest.mark.asyncio
async def test_a_server_that_is_gone_is_no_trouble(stage: Stage) -> None:
    stage.server.close()
    async with stage.start() as watch:
        await watch.look()
    assert not stage.told


@pytest.mark.asyncio
async def test_only_https_or_this_machine_is_asked(stage: Stage) -> None:
    async with stage.start(**{FEED_VARIABLE: "http://feed.example/f"}) as watch:
        await watch.look()
    assert not stage.told
    good = ("https://a.example/f", "http://127.0.0.1:1/f", "http://[::1]/f", "http://localhost/f")
    bad = (
        "http://a.example",
        "ftp://a.example",
        "https://",
        "https://u@a.example",
        "x",
        "http://[",
    )
    assert [each for each in (*good, *bad) if is_acceptable(each)] == list(good)


def test_a_server_that_never_ends_is_left(stage: Stage) -> None:
    stage.server.answer = "drip"
    with pytest.raises(DocumentError):
        fetch_document(stage.server.url, SharedTls(environ={}), patience_s=0.3)
    stage.server.answer = "hang"
    with pytest.raises(DocumentError):
        fetch_document(stage.server.url, SharedTls(environ={}), patience_s=0.3)


@pytest.mark.asyncio
async def test_an_upgrade_on_the_disk_and_the_version_before_are_told(stage: Stage) -> None:
    async with stage.start() as watch:
        await watch.note_start()
        await watch.look()
        metadata = stage.folder / "site-packages" / "hermes_desktop-1.1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").touch()
        await watch.look()
        assert watch.news.installed == "1.1.0"
        assert watch.news.previous == ""
    stage.version = "1.1.0"
    async with stage.start() as watch:
        await watch.note_start()
        assert watch.news.previous == "1.0.0"
        await watch.look()
        assert watch.news.installed == ""
        assert watch.news.release is None  # it is what runs now
    async with stage.start() as watch:
        await watch.note_start()
        assert watch.news.previous == ""


@pytest.mark.asyncio
async def test_the_setting_is_followed_at_once(stage: Stage) -> None:
    async with stage.start() as watch:
        running = asyncio.ensure_future(watch.run())
        await until(lambda: stage.bus._subscriptions.get(SettingsChanged))
        stage.bus.publish(SettingsChanged((SettingChanged(SETTING, "live"),)))
        await until(lambda: watch.news.release)
        running.cancel()
        await asyncio.wait({running})


@pytest.mark.asyncio
async def test_a_store_that_cannot_be_written_asks_nothing(stage: Stage) -> None:
    (stage.folder / "desktop").write_text("")
    async with stage.start() as watch:
        await watch.note_start()
        await watch.look()
    assert not stage.server.requests
    assert not stage.told
