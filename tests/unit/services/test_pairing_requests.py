"""The window's face of pairing."""

from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PairingChanged
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.services.hosting.pairing_requests import PairingRequests, PairingRequestView
from tests.fakes.clock import MovableClock


@pytest.mark.asyncio
async def test_requests_are_shown_with_their_age_and_every_answer_is_news(tmp_path: Path) -> None:
    clock, bus, worker = MovableClock(), EventBus(), WorkerThreads("pairing")
    store = PairingStore(tmp_path, clock)
    requests = PairingRequests(store, worker=worker, bus=bus, clock=clock)
    news: list[PairingChanged] = []
    bus.subscribe(PairingChanged, news.append)
    try:
        assert await requests.pending() == []
        store.request("telegram", "1", "Ann")
        store.request("telegram", "2", None)
        clock.advance(30)
        code = store.request("discord", "3", "Cy").code
        clock.advance(60)

        waiting = await requests.pending()
        assert [(each.label, each.age_s) for each in waiting] == [
            ("Ann", 90.0),
            ("2", 90.0),
            ("Cy", 60.0),
        ]
        assert news == []

        ann, two, _ = waiting
        assert (await requests.approve("telegram", ann.entry_id)).user_id == "1"
        assert await requests.deny("telegram", two.entry_id) == PairingRequestView(
            "telegram", two.entry_id, "2", "", 90.0
        )
        await requests.approve_code("discord", str(code))
        assert [user.user_name for user in await requests.approved()] == ["Cy", "Ann"]
        assert await requests.revoke("telegram", "1")
        assert len(news) == 4

        with pytest.raises(NotFoundError):
            await requests.approve("telegram", ann.entry_id)
        assert len(news) == 4
    finally:
        worker.close()
