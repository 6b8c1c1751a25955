"""A message is dealt with once, also across restarts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery.delivery_ledger import MOST_AGE_S
from hermes_desktop.gateway.delivery.inbound_dedup import Inbox
from hermes_desktop.gateway.platforms.base import MessageEvent, MessageType
from hermes_desktop.gateway.sessions.session_records import SessionSource
from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Owner
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.shared_tables.inbox_table import KEPT_S
from tests.fakes.clock import MovableClock

KEY = "agent:main:telegram:dm:c1"
GONE = Owner(2**22 + 5, 1)


class Home:
    def __init__(self, folder: Path) -> None:
        self.clock = MovableClock()
        self.db = SessionDB(folder / "state.db", clock=self.clock)
        self.own = DesktopDatabase(folder / "desktop.db")
        self.workers = WorkerThreads("inbox")

    def store(self, owner: Owner) -> DeliveryStore:
        return DeliveryStore(self.db, self.own, lambda: owner, clock=self.clock)

    def inbox(self, owner: Owner = GONE) -> Inbox:
        return Inbox(self.store(owner), self.workers, clock=self.clock)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.workers.close()
    made.db.close()
    made.own.close()


def event(message_id: str | None = "m1", text: str = "hello", **more: object) -> MessageEvent:
    source = SessionSource(Platform.TELEGRAM, "c1", user_id="u1", thread_id="7")
    return MessageEvent(text, source=source, message_id=message_id, **more)  # type: ignore[arg-type]


async def begin_in(home: Home, message: MessageEvent) -> None:
    """A gateway takes a message into ``s1``, begins its turn, and is gone."""
    inbox = home.inbox()
    ticket = await inbox.admit(message, KEY)
    assert ticket is not None
    await inbox.begun(ticket, "s1")


@pytest.mark.asyncio
async def test_without_a_disk_the_memory_counts() -> None:
    inbox = Inbox()
    assert not inbox.is_kept
    ticket = await inbox.admit(event(), KEY)
    assert ticket is not None
    assert await inbox.admit(event(), KEY) is None
    assert await inbox.admit(event(None), KEY) is not None
    assert await inbox.admit(event(None), KEY) is not None
    assert await inbox.admit(event("m1", internal=True), KEY) is not None
    assert await inbox.admit(MessageEvent("x"), KEY) is not None
    await inbox.begun(ticket, "s1")
    await inbox.finished(ticket)
    assert (await inbox.left_over()).waiting == ()


@pytest.mark.asyncio
async def test_brought_again_after_a_restart(home: Home) -> None:
    first = home.inbox()
    ticket = await first.admit(event(), KEY)
    assert ticket is not None
    assert await first.admit(event(), KEY) is None
    await first.finished(ticket)
    assert await home.inbox(Owner(1, 1)).admit(event(), KEY) is None


@pytest.mark.asyncio
async def test_what_waited_is_answered_after_a_restart(home: Home) -> None:
    sent = event(
        reply_to_text="before",
        metadata={"a": 1, "odd": object()},
        message_type=MessageType.PHOTO,
        media_urls=("/x.png",),
        media_types=("image/png",),
        timestamp=5.0,
    )
    await home.inbox().admit(sent, KEY)
    second = home.inbox(Owner(1, 1))
    left = await second.left_over()
    [ticket] = left.waiting
    got = ticket.event
    assert (got.text, got.message_id, got.reply_to_text) == ("hello", "m1", "before")
    assert (got.media_urls, got.media_types) == (("/x.png",), ("image/png",))
    assert (got.metadata, got.timestamp, got.source) == ({"a": 1}, 5.0, sent.source)
    assert got.message_type is MessageType.PHOTO
    assert await second.admit(event(), KEY) is None
    assert (await second.left_over()).waiting == ()
    await second.finished(ticket)
    assert (await home.inbox(GONE).left_over()).waiting == ()


@pytest.mark.asyncio
async def test_what_another_gateway_took_meanwhile_is_not_answered_again(home: Home) -> None:
    await home.inbox().admit(event(), KEY)
    home.db.create_session("s1", "telegram", session_key=KEY)
    home.db.append_message("s1", role="user", content="hello", platform_message_id="m1")
    left = await home.inbox().left_over()
    assert (left.waiting, left.cut_off) == ((), ())
    assert home.store(GONE).unhandled_messages() == []


@pytest.mark.asyncio
async def test_a_message_whose_turn_began_but_never_spoke_is_answered(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    await begin_in(home, event())
    assert [each.event.text for each in (await home.inbox().left_over()).waiting] == ["hello"]


@pytest.mark.asyncio
async def test_a_worker_that_is_closed_does_no_harm(home: Home) -> None:
    inbox = home.inbox()
    home.workers.close()
    assert await inbox.admit(event(), KEY) is not None


@pytest.mark.asyncio
async def test_a_turn_that_was_cut_off(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    await begin_in(home, event())
    home.db.append_message("s1", role="user", content="hello", platform_message_id="m1")
    left = await home.inbox().left_over()
    assert [each.session_key for each in left.cut_off] == [KEY]
    assert left.replies == 0


@pytest.mark.asyncio
async def test_a_reply_that_nobody_had_noted_is_owed(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    await begin_in(home, event())
    home.db.append_message("s1", role="user", content="hello", platform_message_id="m1")
    home.db.append_message("s1", role="assistant", content="hi")
    assert (await home.inbox().left_over()).replies == 1
    [owed] = home.store(GONE).owed(["telegram"])
    assert (owed.content, owed.chat_id, owed.thread_id, owed.state) == ("hi", "c1", "7", "pending")
    assert (await home.inbox().left_over()).replies == 0
    assert len(home.store(GONE).owed(["telegram"])) == 1


@pytest.mark.asyncio
async def test_what_another_program_was_told_is_not_the_reply(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    await begin_in(home, event())
    home.db.append_message("s1", role="user", content="hello", platform_message_id="m1")
    home.db.append_message("s1", role="user", content="at the machine")
    home.db.append_message("s1", role="assistant", content="a private answer")
    left = await home.inbox().left_over()
    assert (left.replies, home.store(GONE).owed(["telegram"])) == (0, [])
    assert [each.event.text for each in left.overtaken] == ["hello"]
    assert left.cut_off == left.overtaken


@pytest.mark.asyncio
async def test_an_earlier_reply_is_none_to_a_message_without_an_id(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    home.db.append_message("s1", role="assistant", content="an earlier answer")
    await begin_in(home, event(None))
    left = await home.inbox().left_over()
    assert (left.replies, len(left.waiting)) == (0, 1)


@pytest.mark.asyncio
async def test_the_answer_to_what_was_open_before_is_not_the_reply(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    home.db.append_message("s1", role="user", content="at the machine")
    await begin_in(home, event())
    home.db.append_message("s1", role="user", content="hello", platform_message_id="m1")
    home.db.append_message("s1", role="assistant", content="a private answer")
    left = await home.inbox().left_over()
    assert (left.replies, home.store(GONE).owed(["telegram"])) == (0, [])
    assert [each.event.text for each in left.overtaken] == ["hello"]


@pytest.mark.asyncio
async def test_who_was_killed_before_the_message_was_stored_has_no_reply(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    await begin_in(home, event())
    home.db.append_message("s1", role="user", content="at the machine")
    home.db.append_message("s1", role="assistant", content="a private answer")
    left = await home.inbox().left_over()
    assert (left.replies, home.store(GONE).owed(["telegram"])) == (0, [])
    assert [each.event.text for each in left.waiting] == ["hello"]


@pytest.mark.asyncio
async def test_what_others_said_is_not_taken_for_the_message(home: Home) -> None:
    home.db.create_session("s1", "telegram", session_key=KEY)
    await begin_in(home, event())
    home.db.append_message("s1", role="user", content="at the machine")
    left = await home.inbox().left_over()
    assert [each.event.text for each in left.waiting] == ["hello"]
    assert left.cut_off == ()


@pytest.mark.asyncio
async def test_what_is_a_day_old_is_not_answered(home: Home) -> None:
    await home.inbox().admit(event(), KEY)
    home.clock.advance(MOST_AGE_S + 1)
    left = await home.inbox().left_over()
    assert [each.event.text for each in left.too_old] == ["hello"]
    assert left.waiting == ()
    assert (await home.inbox().left_over()).too_old == ()


@pytest.mark.asyncio
async def test_what_is_settled_and_old_is_forgotten_while_it_runs(home: Home) -> None:
    inbox = home.inbox()
    first = await inbox.admit(event("old"), KEY)
    assert first is not None
    await inbox.finished(first)
    home.clock.advance(KEPT_S + 1)
    await inbox.prune()
    assert await home.inbox().admit(event("old"), KEY) is not None


@pytest.mark.asyncio
async def test_rows_that_make_no_sense_go(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    store = home.store(GONE)
    for text in ({}, {"source": {"platform": "nowhere", "chat_id": "1"}}):
        store.receive(("telegram", "c1"), None, KEY, text)
    assert (await home.inbox().left_over()).waiting == ()
    assert "cannot be read" in caplog.text
    assert store.unhandled_messages() == []


@pytest.mark.asyncio
async def test_a_store_that_fails_lets_messages_through(home: Home, tmp_path: Path) -> None:
    home.own.close()
    (tmp_path / "desktop.db").unlink(missing_ok=True)
    (tmp_path / "desktop.db").mkdir()
    inbox = home.inbox()
    ticket = await inbox.admit(event(), KEY)
    assert ticket is not None
    assert ticket.row_id is None
    await inbox.begun(ticket, "s1")
    await inbox.finished(ticket)
    assert (await inbox.left_over()).waiting == ()
