"""What strangers hear."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PairingChanged
from hermes_desktop.gateway.access.authorization import TOO_MANY, Access
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.settings.config_file import Lookup
from hermes_desktop.settings.env_file import layered_lookup
from tests.fakes.clock import MovableClock


class Door:
    """An access with real files, and the news of it."""

    def __init__(self, home: Path) -> None:
        self.worker = WorkerThreads("pairing")
        self.news: list[PairingChanged] = []
        self.bus = EventBus()
        self.bus.subscribe(PairingChanged, self.news.append)
        self.store = PairingStore(home, MovableClock())
        self.variables: dict[str, str] = {}
        self.extra: dict[str, Any] = {}

    def access(self) -> Access:
        platforms = {Platform.TELEGRAM: PlatformConfig(enabled=True, extra=self.extra)}
        return Access(
            GatewayConfig(platforms=platforms),
            lambda: layered_lookup(self.variables),
            self.store,
            worker=self.worker,
            bus=self.bus,
        )


@pytest_asyncio.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    door = Door(tmp_path)
    yield door
    door.worker.close()


def stranger(user_id: str | None = "9", **fields: Any) -> SessionSource:
    return SessionSource(Platform.TELEGRAM, "c", user_id=user_id, user_name="Ann", **fields)


@pytest.mark.asyncio
async def test_a_stranger_gets_a_code_once_and_is_let_in_by_it(door: Door) -> None:
    access = door.access()
    assert not await access.admits(stranger())

    answer = await access.answer_to_stranger(stranger())

    code = answer.split("\n\n")[1]
    assert f"hermes-desktop gateway pairing approve telegram {code}" in answer
    assert len(door.news) == 1
    assert await access.answer_to_stranger(stranger()) == ""
    assert len(door.news) == 1
    door.store.approve_code("telegram", code)
    assert await access.admits(stranger())
    assert access.allows(stranger(chat_type="group"))


@pytest.mark.asyncio
async def test_too_many_is_said_once(door: Door) -> None:
    access = door.access()
    for user_id in "123":
        assert await access.answer_to_stranger(stranger(user_id))
    assert await access.answer_to_stranger(stranger("4")) == TOO_MANY
    assert await access.answer_to_stranger(stranger("4")) == ""


@pytest.mark.asyncio
async def test_a_crowd_is_not_answered_one_by_one(door: Door) -> None:
    access = door.access()
    answers = [await access.answer_to_stranger(stranger(str(n))) for n in range(100)]
    assert [bool(each) for each in answers] == [True] * 8 + [False] * 92
    assert set(answers[3:8]) == {TOO_MANY}


@pytest.mark.asyncio
async def test_groups_bots_and_those_without_a_name_hear_nothing(door: Door) -> None:
    access = door.access()
    for source in (stranger(chat_type="group"), stranger(None), stranger(is_bot=True)):
        assert await access.answer_to_stranger(source) == ""
    assert door.store.pending() == []


@pytest.mark.asyncio
async def test_nothing_where_a_list_says_who_may_write(door: Door) -> None:
    door.variables = {"TELEGRAM_ALLOWED_USERS": "1"}
    assert await door.access().answer_to_stranger(stranger()) == ""
    assert await door.access().admits(stranger("1"))


@pytest.mark.asyncio
async def test_silence_when_it_cannot_be_written_down(door: Door, tmp_path: Path) -> None:
    (tmp_path / "platforms").write_text("")
    assert await door.access().answer_to_stranger(stranger()) == ""


@pytest.mark.asyncio
async def test_who_is_taken_off_a_list_is_out_at_once(door: Door) -> None:
    door.variables = {"TELEGRAM_ALLOWED_USERS": "9"}
    access = door.access()
    assert await access.admits(stranger())
    door.variables["TELEGRAM_ALLOWED_USERS"] = "1"
    assert not await access.admits(stranger())


@pytest.mark.asyncio
async def test_the_person_at_this_machine_is_let_in_without_a_look(door: Door) -> None:
    door.worker.close()
    assert await door.access().admits(SessionSource(Platform.DESKTOP, "c"))


@pytest.mark.asyncio
async def test_nobody_comes_in_while_the_lists_cannot_be_read(door: Door) -> None:
    def unreadable() -> Lookup:
        raise ConfigError(".env cannot be read.")

    platforms = {Platform.TELEGRAM: PlatformConfig(enabled=True, extra={"allow_from": "*"})}
    access = Access(
        GatewayConfig(platforms=platforms),
        unreadable,
        door.store,
        worker=door.worker,
        bus=door.bus,
    )
    assert not await access.admits(stranger())
    assert await access.answer_to_stranger(stranger()) == ""
    assert access.allows(SessionSource(Platform.DESKTOP, "c"))
