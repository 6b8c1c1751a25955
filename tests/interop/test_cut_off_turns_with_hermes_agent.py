"""What our gateway leaves of a chat, read by the real one that takes the home over."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.gateway import running_gateway
from tests.interop.conftest import RealHermes

KEY = "agent:main:telegram:dm:c1"
ROOT = Path(__file__).parents[2]


def killed_in_a_turn(home: Path) -> None:
    """Our gateway is killed while it answers a message."""
    program = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "integration" / "busy_gateway.py"), home, "asked"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline().strip() == "asked"
    finally:
        program.kill()
        program.communicate()


def test_a_turn_that_was_cut_off_is_known_there(hermes: RealHermes) -> None:
    killed_in_a_turn(hermes.home)
    chat = hermes.script("show_chats.py")[KEY]
    assert (chat["resume_pending"], chat["resume_reason"]) == (True, "restart_interrupted")


@pytest.mark.asyncio
async def test_a_turn_that_ended_leaves_no_mark_there(hermes: RealHermes) -> None:
    async with running_gateway(hermes.state_db, hosted=True) as gateway:
        await gateway.telegram.receive("hello")
        session_id = gateway.store.peek_session_id(KEY)
    assert hermes.script("show_chats.py")[KEY] == {
        "session_id": session_id,
        "resume_pending": False,
        "resume_reason": None,
        "suspended": False,
        "expiry_finalized": False,
    }
    assert (hermes.home / ".clean_shutdown").exists()
