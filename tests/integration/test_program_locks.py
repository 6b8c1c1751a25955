"""The runner's chats while another program of ours answers in their conversations."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.keyed_locks import WaitAbandonedError
from hermes_desktop.core.errors import BusyError
from hermes_desktop.core.events import Notice, TurnQueued, TurnStarted
from hermes_desktop.gateway.turns.program_locks import ProgramLocks
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from tests.fakes.gateway import RunningGateway, running_gateway
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio


class Other:
    """Another program of ours, by its locks; its files are as real as those of the runner."""

    def __init__(self, gateway: RunningGateway, home: Path) -> None:
        self._locks = ConversationLocks(gateway.db, home / "desktop", "another program of ours")

    @contextlib.contextmanager
    def answering_in(self, session_id: str) -> Iterator[None]:
        lock = self._locks.attempt(session_id)
        assert lock.try_now()
        try:
            yield
        finally:
            lock.give_back()


@contextlib.asynccontextmanager
async def gateway_beside(home: Path) -> AsyncIterator[tuple[RunningGateway, Other]]:
    worker = WorkerThreads("conversation-lock")
    async with running_gateway(home / "state.db") as gateway:
        locks = ConversationLocks(gateway.db, home / "desktop", "the runner")
        gateway.runner.state.program_locks = ProgramLocks(locks, worker, gateway.runner.state.bus)
        yield gateway, Other(gateway, home)
    worker.close()


async def sessions(gateway: RunningGateway, count: int) -> list[str]:
    return [(await gateway.say(f"begin {n}")).session_id for n in range(count)]


async def test_a_turn_waits_and_reads_what_the_other_program_stored(tmp_path: Path) -> None:
    async with gateway_beside(tmp_path) as (gateway, other):
        (session_id,) = await sessions(gateway, 1)
        with other.answering_in(session_id):
            turn_id = await gateway.submit("ours", session_id)
            await until(lambda: bool(gateway.of(TurnQueued)))
            gateway.db.append_message(session_id, "user", "theirs")
            gateway.db.append_message(session_id, "assistant", "their reply")
            assert gateway.of(TurnQueued)[-1].reason.startswith("Waiting for another reply")
            assert len(gateway.of(TurnStarted)) == 1
        assert (await gateway.desktop.wait(turn_id)).outcome == "done"
        assert [text for _, text in gateway.rows(session_id)][2:] == [
            "theirs", "their reply", "ours", "reply 2",
        ]  # fmt: skip
        assert "assistant: their reply" in gateway.model.texts()
        assert not list((tmp_path / "desktop" / "turns").iterdir())


async def test_as_many_waiting_turns_as_there_are_places_hold_nobody_up(tmp_path: Path) -> None:
    async with gateway_beside(tmp_path) as (gateway, other):
        waiting = await sessions(gateway, 12)
        with contextlib.ExitStack() as held:
            for session_id in waiting:
                held.enter_context(other.answering_in(session_id))
            turns = [await gateway.submit("later", session_id) for session_id in waiting]
            await until(lambda: len({each.turn_id for each in gateway.of(TurnQueued)}) == 12)
            assert (await gateway.say("another chat")).outcome == "done"
        for turn_id in turns:
            assert (await gateway.desktop.wait(turn_id)).outcome == "done"
        assert gateway.model.most_at_once <= 10
        assert gateway.runner.state.turn_slots._value == 10


async def test_a_waiting_turn_is_stopped_and_stores_nothing(tmp_path: Path) -> None:
    async with gateway_beside(tmp_path) as (gateway, other):
        (session_id,) = await sessions(gateway, 1)
        with other.answering_in(session_id):
            turn_id = await gateway.submit("ours", session_id)
            await until(lambda: bool(gateway.of(TurnQueued)))
            assert await gateway.desktop.stop_turn(session_id)
            finished = await gateway.desktop.wait(turn_id)
        assert (finished.outcome, finished.stored) == ("stopped", False)
        assert len(gateway.rows(session_id)) == 2
        assert (await gateway.say("and now", session_id)).outcome == "done"
        assert gateway.runner.state.turn_slots._value == 10


async def test_the_end_of_the_program_waits_for_no_other(tmp_path: Path) -> None:
    async with gateway_beside(tmp_path) as (gateway, other):
        (session_id,) = await sessions(gateway, 1)
        with other.answering_in(session_id):
            turn_id = await gateway.submit("ours", session_id)
            await until(lambda: bool(gateway.of(TurnQueued)))
            await asyncio.wait_for(gateway.runner.stop(drain_s=0.1), 20)
            assert (await gateway.desktop.wait(turn_id)).outcome in {"stopped", "failed"}
        assert len(gateway.rows(session_id)) == 2


async def test_a_turn_that_failed_at_the_gate_gives_everything_back(tmp_path: Path) -> None:
    async with gateway_beside(tmp_path) as (gateway, other):
        (session_id,) = await sessions(gateway, 1)

        async def refuse(_: str, ending: asyncio.Event) -> None:
            raise WaitAbandonedError

        gateway.runner.state.turn_gate = refuse
        assert (await gateway.say("ours", session_id)).outcome == "stopped"
        gateway.runner.state.turn_gate = None
        with other.answering_in(session_id):
            pass
        assert (await gateway.say("again", session_id)).outcome == "done"


async def test_what_another_program_answers_is_not_changed_by_a_command(tmp_path: Path) -> None:
    async with gateway_beside(tmp_path) as (gateway, other):
        (session_id,) = await sessions(gateway, 1)
        locks = gateway.runner.state.program_locks
        assert locks is not None
        with (
            other.answering_in(session_id),
            pytest.raises(BusyError, match="A reply is being written in this session"),
        ):
            async with locks.hold_now(session_id):
                raise AssertionError
        async with locks.hold_now(session_id):
            pass


async def test_a_folder_that_cannot_be_locked_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "desktop").write_text("in the way")
    async with gateway_beside(tmp_path) as (gateway, _):
        notices: list[Notice] = []
        gateway.runner.state.bus.subscribe(Notice, notices.append)
        for n in range(3):
            assert (await gateway.say(f"chat {n}")).outcome == "done"
        assert [each.title for each in notices] == ["Sessions cannot be locked in this home."]
