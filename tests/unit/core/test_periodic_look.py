"""A thread that looks again and again."""

import asyncio
import threading

import pytest

from hermes_desktop.core.concurrency.periodic_look import PollingThread
from tests.support.waiting import until


@pytest.mark.asyncio
async def test_changes_are_told_on_the_loop_and_nothing_after_the_end() -> None:
    heard: list[int] = []
    looked: list[str] = []
    here = threading.current_thread()
    value = 0

    def look() -> int:
        looked.append(threading.current_thread().name)
        if value < 0:
            raise PermissionError("not now")
        return value

    def note(found: int) -> None:
        assert threading.current_thread() is here
        heard.append(found)

    watch = PollingThread("a-look", look, note, first=0, every_s=0.01)
    watch.start()
    await until(lambda: len(looked) > 3)
    assert heard == []
    value = 1
    await until(lambda: heard == [1])
    value = -1
    seen = len(looked)
    await until(lambda: len(looked) > seen + 3)
    value = 2
    await until(lambda: heard == [1, 2])
    watch.stop()
    value = 3
    await until(lambda: "a-look" not in {each.name for each in threading.enumerate()})
    await asyncio.sleep(0)
    assert heard == [1, 2]
    assert set(looked) == {"a-look"}
