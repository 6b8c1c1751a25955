"""A whole gateway that takes commands, with a fake Telegram and its senders."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.commands.context import ProgramFacts, TurnUndo
from hermes_desktop.commands.quick_commands import QuickRunner
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import NotConfiguredError, RefusedError
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway.commands.command_dispatch import CommandDispatch
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.state import SessionDB
from tests.fakes.agents import CHOICE
from tests.fakes.gateway import ALLOWED, RunningGateway, running_gateway

if TYPE_CHECKING:
    import asyncio

UNASKED = replace(ALLOWED, running=replace(ALLOWED.running, confirm_destructive_commands=False))
KEY = "agent:main:telegram:dm:c1"


def choose(override: Mapping[str, str]) -> ModelChoice:
    """Return the model of the settings, unless another one was chosen."""
    if override.get("provider") == "nobody":
        raise NotConfiguredError(
            "The provider “nobody” is unknown.", "It is not in /secret/config.yaml."
        )
    return replace(
        CHOICE,
        model=override.get("model", CHOICE.model),
        provider=override.get("provider", CHOICE.provider),
    )


@dataclass
class FakePlatforms:
    """Two platforms that can be paused and resumed."""

    paused: list[str] = field(default_factory=list)

    def platforms(self) -> tuple[PlatformHealth, ...]:
        return tuple(
            PlatformHealth(name, "paused" if name in self.paused else "connected")
            for name in ("discord", "telegram")
        )

    async def pause(self, platform: str) -> None:
        self._known(platform)
        self.paused.append(platform)

    async def resume(self, platform: str) -> None:
        self._known(platform)
        self.paused.remove(platform)

    def _known(self, platform: str) -> None:
        if platform not in {"discord", "telegram"}:
            raise RefusedError(f"{platform} is not served here.")


@dataclass
class CommandGateway:
    """A running gateway, and the environment that commands access."""

    gateway: RunningGateway
    home: Path
    platforms: FakePlatforms
    restarts: list[bool] = field(default_factory=list)

    async def tell(self, text: str, **source: object) -> str:
        """Write to the Telegram bot, by default as u1 in the chat c1; return the answer."""
        return await self.start(text, **source) or ""

    def start(self, text: str, **source: object) -> "asyncio.Task[str | None]":
        """Write to the bot without waiting for the answer."""
        fields = {"chat_id": "c1", "user_id": "u1", "user_name": "Ann", **source}
        telegram = self.gateway.telegram
        event = MessageEvent(text, source=SessionSource(telegram.platform, **fields))  # type: ignore[arg-type]
        return telegram.handle_message(event)

    def session_id(self, key: str = KEY) -> str:
        """Return the id of the session of a chat."""
        found = self.gateway.store.peek_session_id(key)
        assert found is not None
        return found

    def texts(self, key: str = KEY) -> list[str]:
        """Return the texts of the chat's session, as the model would receive them."""
        return [str(row["content"]) for row in self.gateway.db.get_messages(self.session_id(key))]


@contextlib.asynccontextmanager
async def command_gateway(
    home: Path,
    *,
    config: GatewayConfig = UNASKED,
    clock: Clock | None = None,
    quick: QuickRunner | None = None,
    undo: Callable[[SessionDB], TurnUndo] | None = None,
    **parts: object,
) -> AsyncIterator[CommandGateway]:
    """Start a gateway that takes commands, and stop it afterwards."""
    async with running_gateway(home / "state.db", config=config, clock=clock, **parts) as gateway:
        facts = ProgramFacts(
            "1.2.3",
            profile="work",
            home=home,
            choose_model=choose,
            undo=undo(gateway.db) if undo is not None else None,
        )
        platforms = FakePlatforms()
        whole = CommandGateway(gateway, home, platforms)
        runner = gateway.runner
        workers = WorkerThreads("gateway-commands")
        runner.state.command_dispatch = CommandDispatch(
            runner, facts, workers=workers, platforms=platforms, quick=quick
        )
        runner.state.restart_handler = lambda: whole.restarts.append(True)
        try:
            yield whole
        finally:
            workers.close()
