"""The guard: what others do to a conversation reaches the next turn, and nothing else rebuilds."""

import asyncio
from pathlib import Path

import pytest

from hermes_desktop.core.errors import CannotReachError
from hermes_desktop.gateway.turns.agent_cache import NEVER_SEEN
from hermes_desktop.state import SessionDB
from tests.fakes.gateway import RunningGateway, in_other_process, running_gateway
from tests.support.waiting import until

KEY = "agent:main:telegram:dm:c1"


def repeats(gateway: RunningGateway, earlier: int, later: int) -> bool:
    """Whether a request begins with exactly the messages of an earlier one."""
    first = gateway.model.requests[earlier].messages
    return gateway.model.requests[later].messages[: len(first)] == first


@pytest.mark.asyncio
async def test_own_turns_keep_the_agent_and_repeat_the_request(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        session_id = (await gateway.say("one")).session_id
        for text in ("two", "three", "four"):
            await gateway.say(text, session_id)
        assert len(gateway.factory.made) == 1
        assert all(repeats(gateway, n, n + 1) for n in range(3))
        assert gateway.model.texts()[-1] == "user: four"


@pytest.mark.asyncio
@pytest.mark.two_processes
async def test_a_turn_of_another_process_is_read_before_the_next(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    async with running_gateway(db_path) as gateway:
        session_id = (await gateway.say("ours")).session_id
        await asyncio.to_thread(
            in_other_process,
            db_path,
            f"db.append_message({session_id!r}, role='user', content='theirs')\n"
            f"db.append_message({session_id!r}, role='assistant', content='their reply')",
        )
        await gateway.say("again ours", session_id)
        assert gateway.model.texts() == [
            "user: ours",
            "assistant: reply 1",
            "user: theirs",
            "assistant: their reply",
            "user: again ours",
        ]
        await gateway.say("and on", session_id)
        assert repeats(gateway, 1, 2)
        assert len(gateway.factory.made) == 1


@pytest.mark.asyncio
async def test_a_foreign_turn_while_ours_runs_is_read_by_the_next(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    async with running_gateway(db_path) as gateway:
        session_id = (await gateway.say("first")).session_id
        gateway.model.hold.clear()
        gateway.model.asked.clear()
        turn_id = await gateway.submit("second", session_id)
        await until(gateway.model.asked.is_set)
        foreign = SessionDB(db_path)
        foreign.append_message(session_id, role="user", content="meanwhile")
        foreign.append_message(session_id, role="assistant", content="their reply")
        foreign.close()
        gateway.model.hold.set()
        await gateway.desktop.wait(turn_id)
        assert "meanwhile" not in "".join(gateway.model.texts())
        await gateway.say("third", session_id)
        told = "\n".join(gateway.model.texts())  # neighbours of one role are sent as one
        in_order = ["first", "reply 1", "second", "meanwhile", "their reply", "reply 2", "third"]
        assert sorted(in_order, key=told.index) == in_order
        await gateway.say("fourth", session_id)
        assert repeats(gateway, 2, 3)


@pytest.mark.asyncio
async def test_a_foreign_undo_is_seen_though_the_count_stays(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    async with running_gateway(db_path) as gateway:
        session_id = (await gateway.say("kept")).session_id
        await gateway.say("taken back", session_id)
        target = next(
            r for r in gateway.db.get_messages(session_id) if r["content"] == "taken back"
        )
        foreign = SessionDB(db_path)
        foreign.rewind_to_message(session_id, target["id"])
        foreign.close()
        await gateway.say("instead", session_id)
        assert gateway.model.texts() == ["user: kept", "assistant: reply 1", "user: instead"]


@pytest.mark.asyncio
async def test_a_foreign_rewrite_with_as_many_rows_is_seen(tmp_path: Path) -> None:
    db_path = tmp_path / "state.db"
    async with running_gateway(db_path) as gateway:
        session_id = (await gateway.say("original")).session_id
        foreign = SessionDB(db_path)
        foreign.replace_messages(
            session_id,
            [
                {"role": "user", "content": "rewritten"},
                {"role": "assistant", "content": "rewritten reply"},
            ],
        )
        assert foreign.get_session(session_id)["message_count"] == 2
        foreign.close()
        await gateway.say("next", session_id)
        assert gateway.model.texts() == [
            "user: rewritten",
            "assistant: rewritten reply",
            "user: next",
        ]


@pytest.mark.asyncio
async def test_a_deleted_row_drops_the_entry_and_keeps_the_text(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        session_id = (await gateway.say("hello")).session_id
        delete(gateway.db, session_id)
        finished = await gateway.say("are you there", session_id)
        assert (finished.outcome, finished.stored) == ("failed", False)
        assert session_id in finished.error_detail
        assert gateway.db.get_session(session_id) is None
        assert gateway.runner._agent_cache == {}
        assert gateway.store.peek_session_id(finished.session_key) is None
        assert len(gateway.model.requests) == 1


@pytest.mark.asyncio
async def test_a_row_deleted_while_the_turn_runs_is_not_made_again(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        session_id = (await gateway.say("hello")).session_id
        gateway.model.hold.clear()
        gateway.model.asked.clear()
        turn_id = await gateway.submit("more", session_id)
        await until(gateway.model.asked.is_set)
        delete(gateway.db, session_id)
        gateway.model.hold.set()
        finished = await gateway.desktop.wait(turn_id)
        assert finished.outcome == "failed"
        assert gateway.db.get_session(session_id) is None
        assert gateway.runner._agent_cache == {}


@pytest.mark.asyncio
async def test_one_key_two_sessions_neither_rebuilds_nor_mixes(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        await gateway.telegram.receive("in A")
        first = gateway.store.peek_session_id(KEY)
        assert first is not None
        gateway.db.create_session("B", source="telegram")
        gateway.db.append_message("B", role="user", content="old B")
        gateway.db.append_message("B", role="assistant", content="old B reply")

        gateway.store.bind(KEY, "B")
        await gateway.telegram.receive("in B")
        assert gateway.model.texts() == ["user: old B", "assistant: old B reply", "user: in B"]
        gateway.store.bind(KEY, first)
        await gateway.telegram.receive("again A")
        assert gateway.model.texts() == ["user: in A", "assistant: reply 1", "user: again A"]
        assert repeats(gateway, 0, 2)
        gateway.store.bind(KEY, "B")
        await gateway.telegram.receive("again B")
        assert repeats(gateway, 1, 3)

        assert len(gateway.factory.made) == 1
        assert gateway.runner._agent_cache[KEY][0] is gateway.factory.made[0]
        assert gateway.runner._agent_cache[KEY][3] == "B"
        assert [text for _, text in gateway.rows(first)] == [
            "in A",
            "reply 1",
            "again A",
            "reply 3",
        ]


@pytest.mark.asyncio
async def test_after_a_failed_turn_the_conversation_is_read_anew(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        gateway.model.failure = CannotReachError("Nobody answers.")
        finished = await gateway.say("one")
        assert gateway.runner._agent_cache[finished.session_key][2] == NEVER_SEEN
        gateway.model.failure = None
        await gateway.say("two", finished.session_id)
        assert gateway.model.texts() == ["user: one\n\ntwo"]  # neighbours are sent as one
        assert len(gateway.factory.made) == 1


def delete(db: SessionDB, session_id: str) -> None:
    def rows(conn: object) -> None:
        conn.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))
        conn.execute("DELETE FROM sessions WHERE id = ?", (session_id,))

    db._execute_write(rows)
