"""The services host a gateway: identity, tokens, platforms and turns, from start to the end."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from hermes_desktop.gateway.identity_files import STATE_FILE
from tests.fakes.hosting import host_stage
from tests.fakes.identity import is_gone

pytestmark = pytest.mark.two_processes


@pytest.mark.asyncio
async def test_a_started_gateway_answers_and_a_stopped_one_leaves_nothing(tmp_path: Path) -> None:
    async with host_stage(tmp_path) as stage:
        await stage.host.start()

        assert stage.host.state == "running"
        assert stage.file("gateway.pid")["pid"] != os.getpid()
        stage.chat.say("hello", chat="c1", user="u1")
        await stage.until(lambda: stage.chat.texts("c1"))
        pid = stage.file("gateway.pid")["pid"]
        assert list(stage.locks.iterdir())

        await stage.host.stop()

        assert stage.host.status.state == "stopped"
        assert not list(stage.locks.iterdir())
        assert not stage.home.joinpath("gateway.pid").exists()
        assert stage.file(STATE_FILE)["gateway_state"] == "stopped"
        await stage.until(lambda: is_gone(pid))
    await asyncio.sleep(0)
    assert not [t.name for t in threading.enumerate() if t.name.startswith("gateway")]
