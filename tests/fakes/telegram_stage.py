"""A hosted gateway with the real Telegram adapter, for any server of the Bot API."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import Notice, PlatformHealth, TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.platforms.reconnect import LinkTiming
from hermes_desktop.gateway.platforms.shipped import shipped_platforms
from hermes_desktop.services.assembly.desktop_services import DesktopServices, join_parts
from hermes_desktop.services.hosting.gateway_host import HostSetup
from tests.fakes.bot_api_emulator import TOKEN
from tests.fakes.model_server import ModelServer
from tests.support.waiting import until

QUICK = LinkTiming(
    connect_s=5.0,
    disconnect_s=3.0,
    probe_s=3.0,
    first_pause_s=0.2,
    longest_pause_s=0.5,
    quick_again_s=0.0,
    outage_told_s=300.0,
)
"""Time-outs and back-off suitable for a test."""


@dataclass
class TelegramStage:
    """The parts of the gateway that tests access."""

    home: Path
    services: DesktopServices
    model: ModelServer
    finished: list[TurnFinished] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def health(self) -> PlatformHealth:
        """Return the current health of Telegram."""
        return next(p for p in self.services.gateway.look().platforms if p.name == "telegram")

    async def until(self, condition: Callable[[], object]) -> None:
        await until(condition)

    async def connected(self) -> None:
        await self.until(lambda: self.health().state == "connected")


def telegram_config(base_url: str, model_url: str, **more: Any) -> dict[str, Any]:
    """Return config.yaml of a home with a model and a bot.

    Args:
        base_url: The address of the Bot API.
        model_url: The address of the model.
        more: ``extra`` is merged into the platform's; the rest goes to the top level.
    """
    extra = {"base_url": base_url, "poll_timeout": 2, "allow_from": "42"}
    return {
        "model": {"default": "fake-model", "base_url": model_url},
        "platforms": {
            "telegram": {"enabled": True, "token": TOKEN, "extra": extra | more.pop("extra", {})}
        },
        **more,
    }


@contextlib.asynccontextmanager
async def telegram_stage(
    folder: Path, base_url: str, *, start: bool = True, **more: Any
) -> AsyncIterator[TelegramStage]:
    """Run services that host the gateway; they are closed afterwards even if the test fails."""
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    with ModelServer() as model:
        config = telegram_config(base_url, model.base_url, **more)
        home.joinpath("config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        services = join_parts(
            HostSetup(
                HermesPaths(home, home),
                {"HERMES_GATEWAY_LOCK_DIR": str(folder / "locks"), "PATH": ""},
                autostart=False,
                take_up_after_s=0.3,
                checks=HostingChecks(Path("/"), ()),
                end_program=lambda: None,
            ),
            redactor=SecretRedactor(),
            offline=False,
            clock=SystemClock(),
            registry=shipped_platforms(QUICK),
            hosts=True,
        )
        stage = TelegramStage(home, services, model)
        services.bus.subscribe(TurnFinished, stage.finished.append)
        services.bus.subscribe(Notice, stage.notices.append)
        try:
            await services.start(watch=True)
            if start:
                await services.gateway.start()
                await stage.connected()
            yield stage
        finally:
            await services.close(drain_s=0.0)
