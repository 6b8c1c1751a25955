"""One at a time per name, in order, and nothing is left behind."""

import asyncio

import pytest

from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks, WaitAbandonedError


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
        assert locks._wanted.get("k", 0) <= 1
        tasks = [asyncio.create_task(work(number)) for number in range(3)]
        await asyncio.sleep(0)
        assert locks._wanted.get("k", 0) > 1
        assert order == []
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2]
    assert not locks.is_held("k")
    assert not locks._locks


@pytest.mark.asyncio
async def test_waiting_can_be_given_up() -> None:
    locks, enough = KeyedLocks(), asyncio.Event()
    order: list[str] = []

    async def work(name: str, unless: asyncio.Event | None = None) -> None:
        async with locks.hold("k", unless=unless):
            order.append(name)

    async with locks.hold("k"):
        leaves = asyncio.create_task(work("leaves", enough))
        stays = asyncio.create_task(work("stays", asyncio.Event()))
        await asyncio.sleep(0)
        enough.set()
        with pytest.raises(WaitAbandonedError):
            await leaves
        assert locks._wanted.get("k", 0) > 1
    await stays
    await work("free", enough)  # nothing had to be waited for
    assert order == ["stays", "free"]
    assert not locks._locks


@pytest.mark.asyncio
@pytest.mark.parametrize("at_once", [True, False])
async def test_whoever_gives_up_or_is_cancelled_leaves_the_key_free(*, at_once: bool) -> None:
    locks, enough = KeyedLocks(), asyncio.Event()

    async def work() -> None:
        async with locks.hold("k", unless=enough):
            raise AssertionError

    for way in ("given up", "cancelled"):
        enough.clear()
        async with locks.hold("k"):
            waits = asyncio.create_task(work())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if not at_once:
                waits.cancel() if way == "cancelled" else enough.set()
        if at_once:  # the key has just been passed on
            waits.cancel() if way == "cancelled" else enough.set()
        with pytest.raises((WaitAbandonedError, asyncio.CancelledError)):
            await waits
        await asyncio.sleep(0)
        async with asyncio.timeout(60), locks.hold("k"):
            pass
        assert not locks._locks
