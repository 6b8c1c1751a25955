"""One at a time per name, in order, and nothing is left behind."""

import asyncio

import pytest

from hermes_desktop.gateway.keyed_locks import KeyedLocks


@pytest.mark.asyncio
async def test_locks_let_one_through_at_a_time_in_order() -> None:
    locks = KeyedLocks()
    order: list[int] = []

    async def work(number: int) -> None:
        async with locks.hold("k"):
            order.append(number)
            await asyncio.sleep(0)

    async with locks.hold("k"), locks.hold("other"):
        assert locks.is_held("k")
        assert not locks.has_waiters("k")
        tasks = [asyncio.create_task(work(number)) for number in range(3)]
        await asyncio.sleep(0)
        assert locks.has_waiters("k")
        assert order == []
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2]
    assert not locks.is_held("k")
    assert not locks._locks
