"""An editor writes config.yaml in its place while the program reads it for the gateway."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_desktop.core.events import SettingsChanged
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.services.settings.settings_repository import Change
from tests.fakes.clock import MovableClock
from tests.unit.services.test_settings_service import Stage

SETTINGS = "platforms:\n  discord:\n    enabled: true\n    token: '1'\n"
HALF = "platforms:\n"


class AgeOf(MovableClock):
    """A file is always ``age`` seconds old, however slow the machine is."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file, self.age = file, 60.0

    def time(self) -> float:
        return self.file.stat().st_mtime + self.age if self.file.exists() else super().time()


@pytest_asyncio.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path, AgeOf(tmp_path / "config.yaml"))
    stage.paths.config_yaml.write_text(SETTINGS)
    await stage.settings.start_following()
    yield stage
    await stage.settings.stop_following()
    stage.settings.close()
    stage.store.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("so_far", ["", HALF])
@pytest.mark.parametrize("who", ["here", "elsewhere"])
async def test_the_gateway_never_gets_a_file_that_is_only_half_written(
    stage: Stage, who: str, so_far: str
) -> None:
    file, written = stage.paths.config_yaml, asyncio.Event()

    def finish(text: str) -> None:
        file.write_text(text)
        written.set()

    def begin(_news: SettingsChanged) -> None:
        if written.is_set():
            return
        text = file.read_text()
        stage.clock.age = 0.01
        file.write_text(so_far)
        asyncio.get_running_loop().call_later(0.3, finish, text)

    stage.bus.subscribe(SettingsChanged, begin)
    if who == "here":
        await stage.settings.apply([Change("agent.max_turns", 40)])
    else:
        file.write_text(f"{SETTINGS}agent:\n  max_turns: 40\n")
        stage.settings.noticed()
    await written.wait()
    while not stage.gateway.configs:
        await asyncio.sleep(0.01)

    assert all(Platform.DISCORD in config.platforms for config in stage.gateway.configs)
