"""The first rows of a large history come before its order is known as a whole."""

import asyncio

import pytest

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.services.sessions.live_catalog import FIRST_ROWS, ListQuery
from hermes_desktop.state import SessionDB
from hermes_desktop.ui.sessions.list_feed import ListFeed


@pytest.mark.asyncio
async def test_a_glance_comes_first_and_the_whole_page_after_it(qtbot, slots, tmp_path) -> None:
    db = SessionDB(tmp_path / "state.db")
    for number in range(80):
        db.create_session(f"s{number:02}", "cli")
        db.append_message(f"s{number:02}", "user", f"Hello {number}", timestamp=1e9 + number)
    db.close()
    services = build_services(
        HermesPaths(tmp_path, tmp_path), redactor=SecretRedactor(), environ={}, hosts=False
    )
    await services.start()
    pages = []
    feed = ListFeed(services.catalog, slots, SystemClock(), ListQuery())
    feed.page_ready.connect(pages.append)
    feed.ask(ListQuery())
    async with asyncio.timeout(60):
        while len(pages) < 2:
            await asyncio.sleep(0.01)
    glance, whole = pages[:2]
    assert [row.id for row in glance.rows] == [row.id for row in whole.rows[:FIRST_ROWS]]
    assert len(whole.rows) == 80
    assert all(one is two for one, two in zip(glance.rows, whole.rows, strict=False))
    assert await services.catalog.newest() is None
    feed.close()
    await services.close(drain_s=0.0)
