"""What piled up in other gateways until they were too big or too slow, and must not here."""

import asyncio
import gc
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.config.gateway_config import SessionResetPolicy
from hermes_desktop.gateway.delivery.inbound_dedup import Inbox
from hermes_desktop.gateway.identity.token_locks import TokenLocks
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.gateway.turns.agent_cache import MAX_AGENTS
from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Obligation, Owner
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from hermes_desktop.state.shared_tables.inbox_table import KEPT_S
from tests.fakes.clock import MovableClock
from tests.fakes.gateway import ALLOWED, running_gateway
from tests.fakes.identity import gateway_lookalike
from tests.fakes.socket_gateway import socket_gateway
from tests.fakes.socket_platform import chat_server
from tests.support.waiting import until

CHATS = 150
BY_CHAT = {"_records", "_entries", "_table", "_mirror", "_members"}
"""A word, a number or the stored text per chat: these may last as long as the chats."""


def open_files() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def piled_up(thing: Any, least: int, path: str = "", depth: int = 3) -> set[str]:
    """Containers with so many members, below our own objects."""
    found: set[str] = set()
    for name, value in vars(thing).items() if hasattr(thing, "__dict__") else ():
        if isinstance(value, Mapping | set | list) and len(value) >= least:
            found.add(f"{path}{name}")
        elif depth and type(value).__module__.startswith("hermes_desktop.gateway"):
            found |= piled_up(value, least, f"{path}{name}.", depth - 1)
    return found


@pytest.mark.slow
@pytest.mark.asyncio
async def test_chats_leave_nothing_behind_but_words(tmp_path: Path) -> None:
    """#25315, #29298, #18438: agents, clients and lists of messages grew with the chats."""
    async with running_gateway(tmp_path / "state.db", hosted=True) as gateway:
        for start in range(0, CHATS, 30):
            turns = [
                gateway.telegram.receive("hello", chat_id=f"c{number}")
                for number in range(start, start + 30)
            ]
            await asyncio.gather(*turns)
        await until(lambda: not gateway.runner.chats.turns)
        assert len(gateway.factory.made) == CHATS
        assert len(gateway.runner._agent_cache) <= MAX_AGENTS
        await until(lambda: gateway.model.closed >= CHATS - MAX_AGENTS)
        grown = piled_up(gateway.runner, CHATS)
        assert {name.rpartition(".")[2] for name in grown} <= BY_CHAT, grown


@pytest.mark.asyncio
async def test_refused_logins_leave_no_connection_open(tmp_path: Path) -> None:
    """#37011: each attempt to connect left sockets open until the process had no more."""
    async with chat_server() as chat, socket_gateway(tmp_path, chat.port) as gateway:
        chat.say("first")
        await until(lambda: chat.texts() == ["reply 1"] and gateway.is_idle)
        before = open_files()
        chat.set(refuse_login="busy")
        for _ in range(30):
            chat.drop()
            await asyncio.sleep(0.01)
        chat.set(refuse_login="")
        for number in range(2, 12):
            logins = chat.logins
            chat.drop()
            await until(lambda logins=logins: chat.logins > logins)
            chat.say(f"message {number}")
            text = f"reply {number}"
            await until(lambda text=text: text in chat.texts() and gateway.is_idle)
        await until(lambda: open_files() <= before)


@pytest.mark.asyncio
async def test_mail_is_forgotten_while_the_gateway_runs(tmp_path: Path) -> None:
    """A gateway that is not started anew for months kept each reply and the id of each message."""
    clock, owner = MovableClock(), Owner(os.getpid(), process_facts.start_time(os.getpid()))
    db, own = (
        SessionDB(tmp_path / "state.db", clock=clock),
        DesktopDatabase(tmp_path / "desktop.db"),
    )
    workers = WorkerThreads("inbox")
    store = DeliveryStore(db, own, lambda: owner, clock=clock)
    inbox = Inbox(store, workers, clock=clock)
    source = SessionSource.from_dict({"platform": "telegram", "chat_id": "c1"})
    for message_id in ("settled", "open"):
        ticket = await inbox.admit(MessageEvent("x", source=source, message_id=message_id), "key")
        assert ticket is not None
        if message_id == "settled":
            await inbox.finished(ticket)
    store.owe(Obligation("o1", "key", "telegram", "c1", None, "a reply"))
    store.set_state("o1", "delivered")
    clock.advance(KEPT_S + 60)
    await inbox.prune()
    left = own.read(lambda c: c.execute("SELECT message_id FROM inbox").fetchall(), default=[])
    assert [row[0] for row in left] == ["open"]
    kept = db.read(lambda c: c.execute("SELECT count(*) FROM delivery_obligations").fetchone())
    assert kept[0] == 0
    workers.close()
    own.close()
    db.close()


@pytest.mark.asyncio
async def test_a_running_gateway_keeps_its_mail_tidy(tmp_path: Path) -> None:
    """As above: somebody does it, and nobody does it any more once the gateway has left."""
    async with chat_server() as chat, socket_gateway(tmp_path, chat.port):
        assert "settled mail" in {task.get_name() for task in asyncio.all_tasks()}
    assert "settled mail" not in {task.get_name() for task in asyncio.all_tasks()}


@pytest.mark.asyncio
async def test_an_unused_agent_goes_though_its_person_stays_connected(tmp_path: Path) -> None:
    """#46082, #63551: nothing was let go as long as somebody was connected."""
    clock = MovableClock()
    never = replace(ALLOWED, default_reset_policy=SessionResetPolicy(mode="none"))
    async with running_gateway(
        tmp_path / "state.db", hosted=True, config=never, clock=clock
    ) as gateway:
        await gateway.telegram.receive("one")
        said = await gateway.say("one")
        assert len(gateway.runner._agent_cache) == 2
        clock.advance(3700)
        gateway.runner._sweep_idle_cached_agents()
        assert gateway.telegram.connected
        assert gateway.runner._agent_cache == {}
        await gateway.telegram.receive("two")
        await gateway.say("two", said.session_id)
        assert gateway.model.texts() == ["user: one", "assistant: reply 2", "user: two"]


def test_our_own_lock_is_no_squatter(tmp_path: Path) -> None:
    """#71645: a gateway took the lock that it held itself for somebody else's."""
    with gateway_lookalike("hermes-gateway", "ours") as record:
        ours, again = TokenLocks(tmp_path), TokenLocks(tmp_path)
        assert ours.acquire("telegram-bot-token", "token", "telegram", record) is None
        assert again.acquire("telegram-bot-token", "token", "telegram", record) is None
        assert ours.acquire("telegram-bot-token", "token", "telegram", record) is None
