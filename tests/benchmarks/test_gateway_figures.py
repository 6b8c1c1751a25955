"""What the gateway adds to a turn. Run with ``pytest tests/benchmarks --benchmark-only``.

Budget of the architecture: the reuse check of a kept agent takes at most 200 µs.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hermes_desktop.agent.types import AgentRequest
from hermes_desktop.gateway.turns.agent_cache import CachedAgent, Reuse, prepare_agent, signature_of
from hermes_desktop.state import SessionDB
from tests.fakes.agents import CountingFactory, ScriptedModel
from tests.fakes.gateway import running_gateway

REUSE_BUDGET_S = 200e-6
MESSAGES = 2000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB(tmp_path / "state.db")
    store.create_session("s", source="desktop")
    rows = [
        {"role": role, "content": f"{role} {number} " * 20}
        for number in range(MESSAGES // 2)
        for role in ("user", "assistant")
    ]
    store.replace_messages("s", rows)
    yield store
    store.close()


def report(benchmark: BenchmarkFixture, budget_s: float) -> None:
    """Put the share of the budget beside the figure; nothing fails on a slow machine."""
    median = benchmark.stats.stats.median
    benchmark.extra_info["budget_us"] = budget_s * 1e6
    benchmark.extra_info["share_of_budget"] = round(median / budget_s, 3)
    print(f"\n{benchmark.name}: {median * 1e6:.0f} µs, {median / budget_s:.0%} of the budget")


def test_the_reuse_check(benchmark: BenchmarkFixture, db: SessionDB) -> None:
    request = AgentRequest("s", "desktop", "agent:main:desktop:dm:s")
    factory = CountingFactory(db, ScriptedModel())
    built = prepare_agent(None, request, db, factory)
    assert built.mark is not None
    entry = CachedAgent(
        built.agent, signature_of(request), built.mark.message_count, "s", built.mark
    )
    prepared = benchmark(prepare_agent, entry, request, db, factory)
    assert prepared.reuse is Reuse.KEEP
    assert len(factory.made) == 1
    report(benchmark, REUSE_BUDGET_S)


def test_a_whole_turn_with_a_model_that_answers_at_once(
    benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    async def turns(count: int) -> float:
        async with running_gateway(tmp_path / "state.db") as gateway:
            session_id = (await gateway.say("first")).session_id
            loop = asyncio.get_running_loop()
            began = loop.time()
            for number in range(count):
                await gateway.say(f"message {number}", session_id)
            return (loop.time() - began) / count

    seconds = benchmark.pedantic(lambda: asyncio.run(turns(50)), rounds=1)
    benchmark.extra_info["turn_ms"] = round(seconds * 1000, 2)
    print(f"\none turn, two durable rows: {seconds * 1000:.2f} ms")
