"""A tool asks the gateway for quiet by a file."""

import asyncio
import threading
from pathlib import Path

import pytest

from hermes_desktop.gateway.drain_watch import DrainWatch
from tests.fakes.gateway import until


@pytest.mark.asyncio
async def test_changes_are_told_on_the_loop_and_nothing_after_the_end(tmp_path: Path) -> None:
    heard: list[bool] = []
    here = threading.current_thread()

    def note(wanted: bool) -> None:
        assert threading.current_thread() is here
        heard.append(wanted)

    request = tmp_path / ".drain_request.json"
    request.write_text("{}")
    watch = DrainWatch(tmp_path, note, look_s=0.01)
    watch.start()
    await until(lambda: heard == [True])
    request.unlink()
    await until(lambda: heard == [True, False])
    watch.stop()
    request.write_text("{}")
    await until(lambda: "drain-watch" not in {each.name for each in threading.enumerate()})
    await asyncio.sleep(0)
    assert heard == [True, False]
