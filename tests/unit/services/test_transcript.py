"""Reading a conversation around one of its messages, on to both ends, across its parts."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.services.sessions.transcript import TranscriptPage, TranscriptReader
from hermes_desktop.state import SessionDB

pytestmark = pytest.mark.asyncio


class Home:
    """A chain of two parts with 200 messages each, and its reader."""

    def __init__(self, path: Path, worker: WorkerThreads) -> None:
        self.db = SessionDB(path)
        self.reader = TranscriptReader(self.db, worker)
        self.ids: list[int] = []
        self.db.create_session("a", "cli")
        self.ids += [self.db.append_message("a", "user", f"a{n}") for n in range(200)]
        self.db.end_session("a", "compression")
        self.db.create_session("b", "cli", parent_session_id="a")
        self.ids += [self.db.append_message("b", "user", f"b{n}") for n in range(200)]


@pytest_asyncio.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    worker = WorkerThreads("state-read")
    made = Home(tmp_path / "state.db", worker)
    yield made
    made.db.close()
    worker.close()


def ids(page: TranscriptPage) -> list[int]:
    return [message.id for message in page.messages]


@pytest.mark.parametrize("place", [0, 10, 100, 190, 199, 200, 205, 300, 399])
async def test_around_and_on_to_both_ends(home: Home, place: int) -> None:
    page = await home.reader.around("b", home.ids[place], each_side=20)
    assert ids(page) == home.ids[max(place - 20, 0) : place + 21]
    assert page.has_older == (place > 20)
    assert page.has_newer == (place + 20 < 399)
    assert page.session.id == "b"
    assert home.reader.opened_ids == {"b"}
    messages = list(page.messages)
    while page.has_newer:
        page = await home.reader.newer("b", messages[-1])
        messages += page.messages
    page = await home.reader.older("b", messages[0], limit=400)
    assert ids(page) + [message.id for message in messages] == home.ids


async def test_what_was_taken_back_leads_to_the_end(home: Home) -> None:
    home.db.rewind_to_message("b", home.ids[350])
    page = await home.reader.around("b", home.ids[370])
    assert ids(page)[-1] == home.ids[349]
    assert not page.has_newer
    assert (await home.reader.around("b", 99_999)).messages[-1].id == home.ids[349]


async def test_a_part_in_the_middle_is_read_again_without_what_comes_after(home: Home) -> None:
    page = await home.reader.around("b", home.ids[195], each_side=20)
    first, last = page.messages[0], page.messages[-1]
    assert (await home.reader.refresh("b", first, last)) == page
    home.db.append_message("b", "user", "new at the end")
    again = await home.reader.refresh("b", first, last)
    assert (again.messages, again.has_newer) == (page.messages, True)
    home.db.rewind_to_message("b", home.ids[210])
    again = await home.reader.refresh("b", first, last)
    assert ids(again) == home.ids[175:210]
    assert not again.has_newer
