"""Searching while somebody types: pages come on the loop, a new search ends the former."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.services.hosting.private_gateway import Workers
from hermes_desktop.services.sessions.session_search import SessionSearch
from hermes_desktop.state import SessionDB
from hermes_desktop.state.search.search_records import SearchHit, SearchQuery

pytestmark = pytest.mark.asyncio


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    made = SessionDB(tmp_path / "state.db")
    for number in range(120):
        made.create_session(f"s{number}", "cli")
        made.append_message(f"s{number}", "user", f"the walrus of {number}")
    yield made
    made.close()


@pytest_asyncio.fixture
async def search(db: SessionDB) -> AsyncIterator[SessionSearch]:
    worker = WorkerThreads("state-search")
    yield SessionSearch(db, worker)
    await worker.run(lambda: None)
    worker.close()


async def test_pages_come_in_order_on_the_loop(search: SessionSearch) -> None:
    pages: list[list[str]] = []
    threads: set[threading.Thread] = set()

    def take(hits) -> None:
        threads.add(threading.current_thread())
        pages.append([hit.session_id for hit in hits])

    outcome = await search.find(SearchQuery("walr", prefix=True, limit=100, page_size=40), take)
    assert threads == {threading.main_thread()}
    assert [name for page in pages for name in page] == [f"s{n}" for n in range(119, 19, -1)]
    assert len(pages) > 1
    assert (outcome.hits, outcome.more, outcome.cancelled) == (100, True, False)


async def test_a_new_search_ends_the_former(search: SessionSearch) -> None:
    former: list[SearchHit] = []
    latter: list[SearchHit] = []
    first = asyncio.ensure_future(search.find(SearchQuery("walrus", page_size=1), former.extend))
    await asyncio.sleep(0)
    second = await search.find(SearchQuery("of 7"), latter.extend)
    assert (await first).cancelled
    assert former == []
    assert second.hits == len(latter) == 1


async def test_nothing_comes_after_the_end(search: SessionSearch) -> None:
    found: list[SearchHit] = []

    def take(hits) -> None:
        found.extend(hits)
        search.cancel()

    outcome = await search.find(SearchQuery("walrus", page_size=1, limit=100), take)
    assert len(found) == 1
    assert outcome.cancelled or outcome.hits == 100


async def test_an_awaiting_task_that_is_cancelled_takes_the_search_along(
    search: SessionSearch, db: SessionDB
) -> None:
    found: list[SearchHit] = []
    task = asyncio.ensure_future(search.find(SearchQuery("walrus"), found.extend))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.05)
    assert found == []


async def test_a_search_that_does_not_end_at_once_holds_nobody_up(tmp_path: Path) -> None:
    inside, let_go = threading.Event(), threading.Event()

    class Slow(SessionDB):
        def search(self, query, **ears):
            if query.text == "stuck":
                inside.set()
                let_go.wait()
            return super().search(query, **ears)

    workers = Workers.named()
    found: list[SearchHit] = []
    with contextlib.closing(Slow(tmp_path / "state.db")) as slow:
        slow.create_session("s", "cli")
        slow.append_message("s", "user", "the walrus")
        search = SessionSearch(slow, workers.search)
        first = asyncio.ensure_future(search.find(SearchQuery("stuck"), found.extend))
        while not inside.is_set():
            await asyncio.sleep(0.01)
        try:
            assert (await search.find(SearchQuery("walrus"), found.extend)).hits == 1
        finally:
            let_go.set()
        assert (await first).cancelled
    workers.close()
    assert [hit.session_id for hit in found] == ["s"]
