"""Whose conversation it is, what is ended and what is left alone: the desktop chat's identity."""

import asyncio
from pathlib import Path

import pytest

from hermes_desktop.core.errors import NotFoundError, UsageError
from hermes_desktop.core.events import TurnStarted
from hermes_desktop.gateway.platforms.desktop import IDLE_CLOSE_S
from hermes_desktop.state import SessionDB
from tests.fakes.clock import MovableClock
from tests.fakes.gateway import running_gateway
from tests.support.waiting import until


def seed(db_path: Path, session_id: str, source: str, *, end: str | None = None) -> None:
    """A session with two messages, written by somebody else."""
    db = SessionDB(db_path)
    key = f"agent:main:{source}:dm:9" if source == "telegram" else None
    db.create_session(session_id, source=source, session_key=key, user_id="9")
    db.append_message(session_id, role="user", content="before")
    db.append_message(session_id, role="assistant", content="reply before")
    if end:
        db.end_session(session_id, end)
    db.close()


def row(db_path: Path, session_id: str) -> dict[str, object]:
    db = SessionDB(db_path, read_only=True)
    found = db.get_session(session_id)
    db.close()
    assert found is not None
    return found


@pytest.mark.asyncio
async def test_a_new_conversation_is_ours_and_ended_when_we_leave(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    async with running_gateway(db_path) as gateway:
        finished = await gateway.say("hello")
        new = row(db_path, finished.session_id)
        assert finished.session_key == f"agent:main:desktop:dm:{finished.session_id}"
        assert (new["source"], new["session_key"]) == ("desktop", finished.session_key)
        assert (new["chat_id"], new["chat_type"]) == (finished.session_id, "dm")
        assert len(finished.session_id.rsplit("_", 1)[1]) == 6
        assert new["ended_at"] is None
    assert row(db_path, finished.session_id)["end_reason"] == "tui_close"


@pytest.mark.asyncio
async def test_the_command_line_begins_rows_of_its_own_kind(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    async with running_gateway(db_path) as gateway:
        finished = await gateway.say("hello", source_tag="cli")
        new = row(db_path, finished.session_id)
        assert (new["source"], new["session_key"], new["chat_id"]) == ("cli", None, None)
    assert row(db_path, finished.session_id)["end_reason"] == "cli_close"


@pytest.mark.asyncio
async def test_a_closed_conversation_is_reopened_by_a_message_not_by_a_look(
    tmp_path: Path,
) -> None:
    db_path = tmp_path / "state.db"
    seed(db_path, "old", "cli", end="cli_close")
    before = row(db_path, "old")
    async with running_gateway(db_path) as gateway:
        assert not gateway.desktop.running("old")
        assert not await gateway.desktop.stop_turn("old")
        assert row(db_path, "old") == before
        finished = await gateway.say("more", "old")
        assert finished.session_id == "old"
        assert row(db_path, "old")["ended_at"] is None
        assert gateway.model.texts() == ["user: before", "assistant: reply before", "user: more"]
    assert row(db_path, "old")["end_reason"] == "tui_close"
    assert row(db_path, "old")["session_key"] is None


@pytest.mark.asyncio
async def test_a_row_that_somebody_else_has_open_stays_open(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    seed(db_path, "theirs", "cli")
    async with running_gateway(db_path) as gateway:
        await gateway.say("more", "theirs")
    assert row(db_path, "theirs")["ended_at"] is None


@pytest.mark.asyncio
@pytest.mark.parametrize("end", [None, "session_reset"])
async def test_a_row_of_a_messaging_platform_is_neither_opened_nor_ended(
    tmp_path: Path, end: str | None
) -> None:
    db_path = tmp_path / "state.db"
    seed(db_path, "chat", "telegram", end=end)
    before = row(db_path, "chat")
    async with running_gateway(db_path) as gateway:
        assert (await gateway.say("more", "chat")).outcome == "done"
        assert gateway.telegram.sent == []
    after = row(db_path, "chat")
    assert after["message_count"] == 4
    for column in ("source", "ended_at", "end_reason", "session_key", "user_id", "chat_id"):
        assert after[column] == before[column]


@pytest.mark.asyncio
async def test_a_branched_parent_keeps_its_end(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    seed(db_path, "parent", "cli", end="branched")
    async with running_gateway(db_path) as gateway:
        assert (await gateway.say("more", "parent")).outcome == "done"
    assert row(db_path, "parent")["end_reason"] == "branched"


@pytest.mark.asyncio
async def test_a_compression_chain_is_one_chat_and_goes_on_at_its_tip(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    seed(db_path, "root", "cli", end="compression")
    db = SessionDB(db_path)
    db.create_session("tip", source="cli", parent_session_id="root")
    db.append_message("tip", role="user", content="summary")
    db.close()
    async with running_gateway(db_path) as gateway:
        by_root = await gateway.say("one", "root")
        by_tip = await gateway.say("two", "tip")
        assert by_root.session_key == by_tip.session_key == "agent:main:desktop:dm:root"
        assert by_root.session_id == by_tip.session_id == "tip"
        assert len(gateway.factory.made) == 1
    assert row(db_path, "root")["end_reason"] == "compression"


@pytest.mark.asyncio
async def test_a_chain_that_others_made_longer_is_followed(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    async with running_gateway(db_path) as gateway:
        first = (await gateway.say("one")).session_id
        foreign = SessionDB(db_path)
        foreign.end_session(first, "compression")
        foreign.create_session("longer", source="desktop", parent_session_id=first)
        foreign.append_message("longer", role="user", content="summary")
        foreign.close()
        finished = await gateway.say("two", first)
        assert finished.session_id == "longer"
        assert len(gateway.factory.made) == 1
        assert gateway.runner._agent_cache[finished.session_key][3] == "longer"


@pytest.mark.asyncio
async def test_branches_of_one_conversation_are_chats_of_their_own(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    seed(db_path, "parent", "cli")
    db = SessionDB(db_path)
    db.create_session(
        "branch",
        source="cli",
        parent_session_id="parent",
        model_config={"_branched_from": "parent"},
    )
    db.append_message("branch", role="user", content="other way")
    db.close()
    async with running_gateway(db_path) as gateway:
        keys = {(await gateway.say("go on", name)).session_key for name in ("parent", "branch")}
        assert len(keys) == 2


@pytest.mark.asyncio
async def test_a_second_message_may_follow_before_the_first_is_stored(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.model.hold.clear()
        sent = await gateway.desktop.submit(text="one", session_id=None, turn_id="a")
        again = await gateway.desktop.submit(text="two", session_id=sent.session_id, turn_id="b")
        assert (again.session_id, again.session_key) == (sent.session_id, sent.session_key)
        gateway.model.hold.set()
        await asyncio.gather(gateway.desktop.wait("a"), gateway.desktop.wait("b"))
        assert [text for _, text in gateway.rows(sent.session_id)][::2] == ["one", "two"]


@pytest.mark.asyncio
async def test_what_was_not_used_for_hours_is_ended_and_reopened(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    clock = MovableClock()
    async with running_gateway(db_path, clock=clock) as gateway:
        old = (await gateway.say("old")).session_id
        clock.advance(IDLE_CLOSE_S - 10)
        young = (await gateway.say("young")).session_id
        gateway.model.hold.clear()
        busy = await gateway.submit("busy")
        await until(lambda: len(gateway.of(TurnStarted)) == 3)
        clock.advance(20)
        await gateway.desktop.end_idle_rows()
        assert row(db_path, old)["end_reason"] == "tui_close"
        assert row(db_path, young)["ended_at"] is None
        gateway.model.hold.set()
        await gateway.desktop.wait(busy)
        await gateway.say("back again", old)
        assert row(db_path, old)["ended_at"] is None


@pytest.mark.asyncio
async def test_what_cannot_be_sent_is_said_at_once(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        with pytest.raises(UsageError):
            await gateway.submit("  \n ")
        with pytest.raises(NotFoundError, match="nowhere"):
            await gateway.submit("hello", "nowhere")
        with pytest.raises(NotFoundError):
            await gateway.desktop.wait("no such turn")
        assert gateway.events == []
        assert gateway.reports[-1].phase == "running"
        assert gateway.store._entries == {}


@pytest.mark.asyncio
async def test_a_lone_surrogate_is_stored_as_a_replacement(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        finished = await gateway.say("half \ud83d of a pair")
        assert finished.outcome == "done"
        assert gateway.rows(finished.session_id)[0] == ("user", "half \ufffd of a pair")
