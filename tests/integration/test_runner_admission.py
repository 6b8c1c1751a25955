"""Who and what is let in before anything is a turn."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from hermes_desktop.core.errors import BusyError
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.session import SessionSource, SessionStore
from tests.fakes.gateway import running_gateway
from tests.support.waiting import until

if TYPE_CHECKING:
    from hermes_desktop.gateway.access.authorization import Access

KEY = "agent:main:telegram:dm:c1"


class Door:
    """Decides as a test says, and remembers who asked."""

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken
        self.asked: list[str | None] = []

    def allows(self, source: SessionSource | None) -> bool:
        return source is not None and source.user_id == "u1"

    async def admits(self, source: SessionSource | None) -> bool:
        self.asked.append(source and source.user_id)
        if self.broken:
            raise OSError("the list cannot be read")
        return self.allows(source)

    async def answer_to_stranger(self, source: SessionSource) -> str:
        return f"who are you, {source.user_id}?"


@pytest.mark.asyncio
async def test_strangers_hear_what_the_door_says_and_begin_nothing(tmp_path: Path) -> None:
    door = Door()
    async with running_gateway(
        tmp_path / "state.db", hosted=True, access=cast("Access", door)
    ) as gateway:
        assert await gateway.telegram.receive("hello", user_id="u2") == "who are you, u2?"
        assert gateway.store._entries == {}
        assert gateway.of(TurnFinished) == []
        assert await gateway.telegram.receive("hello") == "reply 1"
        assert door.asked == ["u2", "u1"]


@pytest.mark.asyncio
async def test_a_door_that_is_broken_lets_nobody_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    door = Door(broken=True)
    async with running_gateway(
        tmp_path / "state.db", hosted=True, access=cast("Access", door)
    ) as gateway:
        await gateway.telegram.receive("hello")
        assert gateway.model.requests == []
        assert "A sender could not be authorized" in caplog.text


@pytest.mark.asyncio
async def test_messages_of_a_platform_that_nobody_serves_are_dropped(tmp_path: Path) -> None:
    async with running_gateway(tmp_path / "state.db") as gateway:
        source = SessionSource(Platform.SLACK, "c1", user_id="u1")
        assert await gateway.runner.accept(MessageEvent("hello", source=source)) is None
        assert await gateway.runner.accept(MessageEvent("hello")) is None


class BusyStore(SessionStore):
    """Chats that cannot be read at first, because another program holds the file."""

    held = True

    def _ensure_loaded(self) -> None:
        if self.held:
            raise BusyError("state.db is locked.", "Another program writes.", "Try again.")
        super()._ensure_loaded()


@pytest.mark.asyncio
async def test_chats_that_cannot_be_read_at_the_start_keep_nobody_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(tmp_path / "state.db", hosted=True, store_kind=BusyStore) as gateway:
        assert "cannot be found" in caplog.text
        refused = await gateway.telegram.receive("hello")
        assert refused is not None
        assert refused.startswith("state.db is locked.")
        cast("BusyStore", gateway.store).held = False
        assert await gateway.telegram.receive("again") == "reply 1"
        await until(lambda: not gateway.store._entries[KEY].resume_pending)
