"""Asking for updates: what is acknowledged, when, and what errors mean."""

import asyncio
from collections.abc import Sequence
from typing import Self

import pytest

from hermes_desktop.gateway.platforms.telegram.poller import Failure, Kept, Poller
from hermes_desktop.gateway.platforms.telegram.records import (
    Incoming,
    NotSentError,
    RefusalError,
    UncertainError,
)
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio


class Server:
    """Keeps updates until they are acknowledged, as Telegram does."""

    def __init__(self) -> None:
        self.updates: list[Incoming] = []
        self.asked: list[tuple[int | None, int]] = []
        self.errors: list[Exception] = []
        self.news = asyncio.Event()

    async def poll(self, offset: int | None, wait_s: int, limit: int = 100) -> list[Incoming]:
        self.asked.append((offset, wait_s))
        if self.errors:
            raise self.errors.pop(0)
        if offset is not None:
            self.updates = [each for each in self.updates if each.update_id >= offset]
        if not self.updates and wait_s:
            self.news.clear()
            await self.news.wait()
        return self.updates[:limit]

    def bring(self, *numbers: int, album: str = "") -> None:
        for number in numbers:
            self.updates.append(Incoming(number, "message", chat_id="1", album_id=album))
        self.news.set()


class Desk:
    """Takes updates; keeps them when told to, or at once."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.at_once = at_once
        self.batches: list[list[int]] = []
        self.open: dict[int, Kept] = {}
        self.heard = 0

    def take(self, batch: Sequence[Incoming]) -> list[Kept]:
        self.batches.append([each.update_id for each in batch])
        futures = []
        for each in batch:
            kept: Kept = asyncio.get_running_loop().create_future()
            if self.at_once:
                kept.set_result(None)
            self.open[each.update_id] = kept
            futures.append(kept)
        return futures

    def hear(self) -> None:
        self.heard += 1


async def no_pause(_: float) -> None:
    await asyncio.sleep(0)


class Stage:
    def __init__(self, *, at_once: bool = True) -> None:
        self.server, self.desk = Server(), Desk(at_once=at_once)
        self.poller = Poller(self.server, 25, self.desk.take, self.desk.hear, pause=no_pause)

    async def __aenter__(self) -> Self:
        self.task = asyncio.create_task(self.poller.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})

    async def failure(self) -> Failure:
        async with asyncio.timeout(60):
            return await self.task


async def test_what_is_kept_is_acknowledged_by_the_next_question() -> None:
    async with Stage() as stage:
        stage.server.bring(10, 11)
        await until(lambda: stage.server.asked[-1:] == [(12, 25)])
        assert stage.desk.batches == [[10, 11]]
        assert stage.server.updates == []
        assert stage.desk.heard == 1


async def test_what_is_not_kept_is_not_acknowledged_and_holds_up_nothing() -> None:
    async with Stage(at_once=False) as stage:
        stage.server.bring(10, 11)
        await until(lambda: stage.desk.open)
        stage.desk.open[11].set_result(None)
        await until(lambda: stage.server.asked[-1] == (10, 0))
        stage.server.bring(12)
        await until(lambda: len(stage.desk.batches) == 2)
        assert stage.desk.batches == [[10, 11], [12]]  # nothing is handed over twice
        assert [each.update_id for each in stage.server.updates] == [10, 11, 12]
        stage.desk.open[10].set_result(None)
        stage.desk.open[12].set_result(None)
        await until(lambda: stage.server.asked[-1] == (13, 25))


async def test_what_was_refused_here_comes_again_elsewhere() -> None:
    async with Stage(at_once=False) as stage:
        stage.server.bring(10)
        await until(lambda: stage.desk.open)
        stage.desk.open[10].cancel()
        await until(lambda: len(stage.server.asked) > 1)
    await stage.poller.acknowledge_rest()
    assert [each.update_id for each in stage.server.updates] == [10]


async def test_the_last_word_acknowledges_what_was_kept_meanwhile() -> None:
    async with Stage(at_once=False) as stage:
        stage.server.bring(10)
        await until(lambda: stage.desk.open)
        stage.desk.open[10].set_result(None)
    stage.poller._next = 11  # kept, and nothing was asked since
    await stage.poller.acknowledge_rest()
    assert stage.server.updates == []


async def test_an_album_is_waited_for() -> None:
    async with Stage() as stage:
        plain = stage.server.poll

        async def poll(offset: int | None, wait_s: int, limit: int = 100) -> list[Incoming]:
            found = list(await plain(offset, wait_s, limit))
            if len(found) == 1:
                stage.server.bring(11, 12, album="g")
            return found

        stage.server.poll = poll  # type: ignore[method-assign]
        await until(lambda: stage.server.asked)
        stage.task.cancel()
        await asyncio.wait({stage.task})
        stage.server.bring(10, album="g")
        stage.task = asyncio.create_task(stage.poller.run())
        await until(lambda: stage.desk.batches)
        assert stage.desk.batches == [[10, 11, 12]]


@pytest.mark.parametrize(
    ("errors", "code", "retryable"),
    [
        ([RefusalError(401, "Unauthorized")], "bad_token", False),
        ([RefusalError(404, "Not Found")], "bad_token", False),
        ([RefusalError(409, "Conflict")] * 3, "conflict", True),
        ([NotSentError("refused")] * 3, "connection_lost", True),
        ([UncertainError("no answer")] * 3, "connection_lost", True),
        ([RefusalError(429, "slow", 1.0)] * 5 + [RefusalError(401, "no")], "bad_token", False),
    ],
)
async def test_what_errors_mean(errors: list[Exception], code: str, *, retryable: bool) -> None:
    stage = Stage()
    stage.server.errors = list(errors)
    async with stage:
        failure = await stage.failure()
    assert (failure.code, failure.retryable) == (code, retryable)


async def test_a_short_trouble_is_none_and_the_server_is_asked_from_the_beginning() -> None:
    async with Stage() as stage:
        stage.server.bring(10)
        await until(lambda: stage.server.asked[-1:] == [(11, 25)])
        stage.server.errors = [NotSentError("gone"), UncertainError("gone")]
        stage.server.bring(11)
        await until(lambda: not stage.server.errors)
        stage.server.updates = []
        stage.server.bring(1)  # another server counts from the beginning
        await until(lambda: stage.desk.batches[-1] == [1])
        assert not stage.task.done()


async def test_a_question_can_be_asked_anew() -> None:
    async with Stage() as stage:
        await until(lambda: stage.server.asked)
        await stage.poller.poll_again()
        assert stage.server.asked[1] == (None, 0)
