"""The locks of bot tokens, as the loop sees them."""

import os
from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.identity.token_locks import TokenLocks, TokenOwner
from hermes_desktop.gateway.platforms.base import TokenIdentity
from hermes_desktop.gateway.platforms.token_gate import AsyncTokenLocks, in_use_text
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord

TOKEN = TokenIdentity("telegram-bot-token", "123:abc")


def test_a_token_is_not_shown() -> None:
    assert "123" not in repr(TOKEN)


@pytest.mark.asyncio
async def test_taken_and_given_back(tmp_path: Path) -> None:
    worker = WorkerThreads("hosting")
    us = GatewayRecord(os.getpid(), ("x",), process_facts.start_time(os.getpid()))
    gate = AsyncTokenLocks(TokenLocks(tmp_path), worker, lambda: us)
    assert await gate.acquire(TOKEN, "telegram") is None
    assert len(list(tmp_path.glob("*.lock"))) == 1
    assert await gate.acquire(TOKEN, "telegram") is None
    await gate.release(TOKEN)
    await gate.release(TOKEN)
    assert list(tmp_path.glob("*.lock")) == []
    worker.close()


@pytest.mark.asyncio
async def test_a_folder_that_does_not_let_us(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    worker = WorkerThreads("hosting")
    gate = AsyncTokenLocks(TokenLocks(tmp_path / "file" / "x"), worker, lambda: GatewayRecord(1))
    assert await gate.acquire(TOKEN, "telegram") is None
    worker.close()


def test_words() -> None:
    assert in_use_text(TokenOwner(GatewayRecord(0))) == "Another program uses its token."
    assert "process 7" in in_use_text(TokenOwner(GatewayRecord(7)))
    ours = GatewayRecord(7, (process_facts.TOKEN,))
    assert in_use_text(TokenOwner(ours)).startswith("Another Hermes Desktop")
