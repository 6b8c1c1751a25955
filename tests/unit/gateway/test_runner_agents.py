"""Kept agents: a new baseline on request, and how they are let go."""

from pathlib import Path

import pytest

from hermes_desktop.gateway.turns.agent_cache import IDLE_S, PENDING, close_agents, release_agent
from tests.fakes.clock import MovableClock
from tests.fakes.gateway import running_gateway


class BrokenAgent:
    """An agent whose clients cannot be closed."""

    def release_clients(self) -> None:
        raise OSError("stuck")

    def close(self) -> None:
        raise OSError("stuck")


@pytest.mark.asyncio
async def test_rows_written_on_the_agents_behalf_can_be_taken_as_seen(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        runner = gateway.runner
        finished = await gateway.say("hello")
        key, session_id = finished.session_key, finished.session_id
        gateway.db.append_message(session_id, role="session_meta", content=None)
        await runner._refresh_agent_cache_message_count(key, "another")
        assert runner._agent_cache[key][2] == 2
        await runner._refresh_agent_cache_message_count(key, session_id)
        assert runner._agent_cache[key][2:] == (3, session_id, gateway.db.session_mark(session_id))
        for nothing in ("", "no such row"):
            await runner._refresh_agent_cache_message_count(key, nothing)
        gateway.db.close()
        await runner._refresh_agent_cache_message_count(key, session_id)
        assert runner._agent_cache[key][2] == 3


@pytest.mark.asyncio
async def test_an_agent_that_was_not_used_for_long_lets_go_of_its_clients(tmp_path: Path) -> None:
    clock = MovableClock()
    async with running_gateway(tmp_path / "state.db", clock=clock) as gateway:
        old = await gateway.say("old")
        clock.advance(IDLE_S + 1)
        fresh = await gateway.say("fresh")
        assert list(gateway.runner._agent_cache) == [fresh.session_key]
        again = await gateway.say("back", old.session_id)
        assert gateway.model.closed == 1
        assert again.session_key == old.session_key
        assert gateway.model.texts() == ["user: old", "assistant: reply 1", "user: back"]


def test_an_agent_that_cannot_be_closed_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    close_agents([(BrokenAgent(), "sig"), (PENDING, "sig")])
    release_agent(BrokenAgent())
    release_agent(PENDING)
    assert len(caplog.records) == 2
    assert repr(PENDING) == "<agent pending>"
