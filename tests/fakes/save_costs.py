"""What one save of a setting costs, as counts: calls, modules, reads of files, YAML parses."""

import asyncio
import contextlib
import os
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import yaml

import hermes_desktop
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayState
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_changes import ConfigReplaced
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.services.settings.settings_service import SettingsService, build_settings
from hermes_desktop.settings.config_file import read_settings_bytes
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.secret_index import PlainTextSecretStore, SecretIndex
from hermes_desktop.settings.secrets import KeyringSecretStore
from tests.fakes.keyring import FakeKeyring

_OURS = str(Path(hermes_desktop.__file__).parent)
_READ = read_settings_bytes.__code__
_PARSERS: frozenset[CodeType] = frozenset(
    getattr(yaml, name).__init__.__code__
    for name in ("SafeLoader", "CSafeLoader")
    if hasattr(yaml, name)
)
CONFIG = """\
# my settings
model:
  default: qwen3:8b
  provider: custom
  base_url: http://127.0.0.1:11434/v1
agent:
  max_turns: 60
  gateway_timeout: 1800
display:
  show_reasoning: false
session_reset:
  mode: idle
  idle_minutes: 600
platforms:
  telegram:
    enabled: true
    allow_from: ["123456"]
terminal:
  timeout: 120
"""
VARIABLES = "OPENAI_API_KEY=sk-abcdefabcdefabcdef\nTELEGRAM_HOME_CHANNEL=123\n"
TOKEN = "123456789:" + "A" * 35


@dataclass
class Costs:
    """The counts of one piece of work, over all threads.

    Attributes:
        folder: The home; of files, only those below it count.
        calls: Calls of functions of this program.
        modules: The modules of this program that were passed.
        looks: How often a settings file was read, or found missing.
        reads: By file name, how often it was opened for reading.
        parses: How often a YAML parser was started.
    """

    folder: Path
    calls: int = 0
    modules: set[str] = field(default_factory=set)
    looks: int = 0
    reads: Counter[str] = field(default_factory=Counter)
    parses: int = 0

    def called(self, code: CodeType) -> None:
        """Count a call."""
        self.looks += code is _READ
        self.parses += code in _PARSERS
        if code.co_filename.startswith(_OURS):
            self.calls += 1
            self.modules.add(code.co_filename)

    def opened(self, path: object, flags: int) -> None:
        """Count the opening of a file."""
        if isinstance(path, str | os.PathLike) and not flags & (os.O_WRONLY | os.O_RDWR):
            file = Path(path)
            if file.is_relative_to(self.folder) and not file.is_dir():
                self.reads[file.name] += 1


_counting: list[Costs] = []
_hooked: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _counting:
        _counting[-1].opened(arguments[0], arguments[2])


def _profile(frame: FrameType, event: str, _argument: object) -> None:
    if event == "call" and _counting:
        _counting[-1].called(frame.f_code)


@contextlib.contextmanager
def countable() -> Iterator[None]:
    """Count on this thread, and on all that start while the block runs.

    An audit hook cannot be removed; it does nothing outside :func:`counted`.
    """
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(True)
    before = sys.getprofile()
    threading.setprofile(_profile)
    sys.setprofile(_profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]


@contextlib.contextmanager
def counted(folder: Path) -> Iterator[Costs]:
    """Count what happens on all countable threads while the block runs."""
    costs = Costs(folder)
    _counting.append(costs)
    try:
        yield costs
    finally:
        _counting.remove(costs)


class RunningGateway:
    """A gateway that takes every configuration."""

    state: GatewayState = "running"
    other_follows = False

    async def restart(self) -> None:
        """Do nothing."""

    async def replace_config(self, config: GatewayConfig) -> ConfigReplaced:
        """Take it."""
        assert config.platforms
        return ConfigReplaced()


@contextlib.asynccontextmanager
async def settings_of_used_home(home: Path) -> AsyncIterator[SettingsService]:
    """Settings of a home with files of every kind and a secret in the keyring, at rest."""
    home.mkdir()
    paths = HermesPaths(home, home)
    paths.config_yaml.write_text(CONFIG)
    paths.env_file.write_text(VARIABLES)
    index, clock = SecretIndex(paths.desktop_dir), SystemClock()
    keyring = FakeKeyring()
    store = KeyringSecretStore(index, "costs", clock, open_keyring=lambda: keyring)
    environ = EnvironmentWithSecrets({"HOME": str(home)}, store, PlainTextSecretStore(index))
    settings = build_settings(
        paths, environ, clock, RunningGateway(), EventBus(), redactor=SecretRedactor()
    )
    try:
        await settings.start_following()
        await settings.apply([], {"TELEGRAM_BOT_TOKEN": TOKEN})
        yield settings
    finally:
        await settings.stop_following()
        settings.close()
        store.close()


async def costs_of(home: Path, work: Callable[[], Awaitable[object]]) -> Costs:
    """Return the costs of a piece of work on files that were left alone for a moment."""
    await asyncio.sleep(0.3)
    with counted(home) as costs:
        await work()
    return costs
