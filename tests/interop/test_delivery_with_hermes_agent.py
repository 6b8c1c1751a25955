"""Replies owed by one program are brought by the other: the outbox and the dead chats."""

import contextlib
from pathlib import Path

import pytest

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.delivery.delivery import MAYBE_TWICE, Deliverer
from hermes_desktop.gateway.delivery.delivery_ledger import DeadTargets, DeliveryLedger
from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Obligation, Owner
from hermes_desktop.state.shared_tables.delivery_table import TABLE, obligation_id
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase
from tests.fakes.platform import FakePlatform
from tests.interop.conftest import RealHermes

KEY = "agent:main:telegram:dm:c1"
GONE = Owner(2**22 + 5, 1)


def store_of(home: Path, db: SessionDB) -> DeliveryStore:
    return DeliveryStore(db, DesktopDatabase(home / "desktop.db"), lambda: GONE)


@pytest.mark.two_processes
def test_the_table_is_the_same(hermes: RealHermes, tmp_path: Path) -> None:
    hermes.script("delivery_ledger.py", "owe", KEY, "m1", "hi")
    theirs = hermes.script("delivery_ledger.py", "columns")
    with contextlib.closing(SessionDB(tmp_path / "state.db")) as db:
        store_of(tmp_path, db).owe(Obligation("x", KEY, "telegram", "c1", None, "hi"))
        ours = db.read(lambda conn: conn.execute(f"PRAGMA table_info({TABLE})").fetchall())
    assert [list(row) for row in ours] == theirs


@pytest.mark.two_processes
def test_the_other_gateway_brings_what_we_owe(hermes: RealHermes) -> None:
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        store = store_of(hermes.home, db)
        for text, state in (("a", "pending"), ("b", "attempting"), ("c", "delivered")):
            name = obligation_id(KEY, "m1", text)
            store.owe(Obligation(name, KEY, "telegram", "c1", "7", text))
            if state != "pending":
                store.set_state(name, state)  # type: ignore[arg-type]
        swept = hermes.script("delivery_ledger.py", "sweep")
        assert sorted(each["content"] for each in swept) == ["a", "b"]
        assert {each["thread_id"] for each in swept} == {"7"}
        assert [each.attempts for each in store.owed(["telegram"])] == [1, 1]


@pytest.mark.asyncio
@pytest.mark.two_processes
async def test_we_bring_what_the_other_gateway_owes(hermes: RealHermes) -> None:
    name = hermes.script("delivery_ledger.py", "owe", KEY, "m1", "hi")
    assert name == obligation_id(KEY, "m1", "hi")
    hermes.script("delivery_ledger.py", "owe", KEY, "m2", "perhaps", "attempting")
    workers, platform = WorkerThreads("mail"), FakePlatform()
    with contextlib.closing(SessionDB(hermes.state_db)) as db:
        ledger = DeliveryLedger(store_of(hermes.home, db), workers)
        deliverer = Deliverer(lambda _: platform, workers, ledger=ledger)
        assert await deliverer.redeliver(Platform.TELEGRAM) == 2
    workers.close()
    assert [text for _, text in platform.sent] == ["hi", MAYBE_TWICE + "perhaps"]
    assert hermes.script("delivery_ledger.py", "sweep") == []


@pytest.mark.two_processes
def test_dead_chats_are_known_to_both(hermes: RealHermes) -> None:
    dead = DeadTargets(hermes.home)
    dead.mark("telegram", "-100A", "forbidden")
    assert hermes.script("delivery_ledger.py", "dead", "telegram", "-100A") is True
    hermes.script("delivery_ledger.py", "mark", "discord", "5")
    assert dead.is_dead("discord", "5")
    assert dead.is_dead("telegram", "-100A")
