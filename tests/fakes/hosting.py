"""A home whose gateway the real services host: identity process, sockets, model on loopback."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import GatewayStatusChanged, Notice, NoticeCleared
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.platforms.registry import AdapterRegistry
from hermes_desktop.gateway.runtime_files.identity_files import read_json
from hermes_desktop.services.assembly.desktop_services import DesktopServices, join_parts
from hermes_desktop.services.hosting.gateway_host import GatewayHost, HostSetup
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.secret_index import PlainTextSecretStore, SecretIndex
from hermes_desktop.settings.secrets import KeyringSecretStore
from tests.fakes.keyring import FakeKeyring
from tests.fakes.model_server import ModelServer
from tests.fakes.socket_platform import ChatServer, chat_server, socket_registry
from tests.support.waiting import until

NO_SERVICES = HostingChecks(Path("/"), ())
TOKEN = "123:socket-token"


@dataclass
class HostStage:
    """One home, its services, the chat service and the model.

    Attributes:
        statuses: Every status that was published.
        ended: Records requests to end the process.
    """

    paths: HermesPaths
    services: DesktopServices
    chat: ChatServer
    model: ModelServer
    environ: Mapping[str, str]
    statuses: list[GatewayStatusChanged] = field(default_factory=list)
    notices: list[Notice | NoticeCleared] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    @property
    def host(self) -> GatewayHost:
        return self.services.gateway

    @property
    def home(self) -> Path:
        return self.paths.home

    @property
    def locks(self) -> Path:
        return Path(self.environ["HERMES_GATEWAY_LOCK_DIR"])

    def file(self, name: str) -> Any:
        return read_json(self.home / name)

    async def until(self, condition: Callable[[], object]) -> None:
        await until(condition)

    async def reach(self, state: str) -> GatewayStatusChanged:
        await until(lambda: self.host.state == state)
        return self.host.status

    def words(self) -> list[str]:
        """Return the states that were published, without repetitions."""
        found: list[str] = []
        for status in self.statuses:
            if found[-1:] != [status.state]:
                found.append(status.state)
        return found


def write_config(home: Path, model: ModelServer, port: int, **more: Any) -> None:
    """Write the settings of a home with a model and one Telegram bot, which is the chat service."""
    config = {
        "model": {"default": "fake-model", "base_url": model.base_url},
        "platforms": {
            "telegram": {
                "enabled": True,
                "token": TOKEN,
                "extra": {"port": port, "allow_from": "u1", "expected_silence_s": 30},
            }
        },
        **more,
    }
    home.joinpath("config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def _with_keyring(
    paths: HermesPaths, process: Mapping[str, str], keyring: FakeKeyring
) -> EnvironmentWithSecrets:
    index = SecretIndex(paths.desktop_dir)
    store = KeyringSecretStore(index, "test", SystemClock(), open_keyring=lambda: keyring)
    return EnvironmentWithSecrets(process, store, PlainTextSecretStore(index))


@contextlib.asynccontextmanager
async def host_stage(
    folder: Path,
    *,
    autostart: bool = False,
    checks: HostingChecks = NO_SERVICES,
    config: Mapping[str, Any] | None = None,
    served: bool = True,
    prepare: Callable[[Path], None] = lambda _: None,
    path: str = "",
    locks: Path | None = None,
    platforms: Sequence[Platform] = (Platform.TELEGRAM,),
    keyring: FakeKeyring | None = None,
) -> AsyncIterator[HostStage]:
    """Run services on a fresh home; they are closed afterwards even if the test fails.

    Args:
        platforms: Those that can be served, by the socket platform.
        keyring: Stores secrets; None: there is no secret store.
    """
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    paths = HermesPaths(home, home)
    process = {"HERMES_GATEWAY_LOCK_DIR": str(locks or folder / "locks"), "PATH": path}
    environ = process if keyring is None else _with_keyring(paths, process, keyring)
    with ModelServer() as model:
        async with chat_server() as chat:
            write_config(home, model, chat.port, **(config or {}))
            prepare(home)
            ended: list[str] = []
            setup = HostSetup(
                paths,
                environ,
                autostart=autostart,
                take_up_after_s=0.3,
                work_look_s=0.05,
                checks=checks,
                end_program=lambda: ended.append("ended"),
            )
            services = join_parts(
                setup,
                redactor=SecretRedactor(),
                offline=False,
                clock=SystemClock(),
                registry=socket_registry(*platforms) if served else AdapterRegistry(),
                hosts=True,
            )
            stage = HostStage(paths, services, chat, model, environ, ended=ended)
            services.bus.subscribe(GatewayStatusChanged, stage.statuses.append)
            services.bus.subscribe(Notice, stage.notices.append)
            services.bus.subscribe(NoticeCleared, stage.notices.append)
            try:
                await services.start(watch=True)
                yield stage
            finally:
                await services.close(drain_s=0.0)
