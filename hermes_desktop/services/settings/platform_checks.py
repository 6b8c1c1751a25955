"""Checks of whether a platform accepts settings that are not stored yet."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import (
    GatewayConfig,
    Platform,
    PlatformConfig,
    platform_or_none,
)
from hermes_desktop.gateway.identity.token_locks import TokenLocks, locks_folder
from hermes_desktop.gateway.platforms.base import PlatformAdapter, TokenIdentity
from hermes_desktop.gateway.platforms.checks import CheckResult, answered, connect_once
from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
from hermes_desktop.gateway.platforms.shipped import shipped_platforms
from hermes_desktop.gateway.platforms.token_gate import in_use_text
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.services.secrets.secret_access import with_secrets
from hermes_desktop.services.settings.gateway_settings import SettingsFiles, read_gateway_config
from hermes_desktop.settings.config_patch import Edit, patch_config

CHECK_S = 20.0
_CONNECT_S = 12.0

InUse = Callable[[Platform, TokenIdentity | None], PlatformHealth | None]
"""Returns the health of a platform that our gateway serves with this token; None: it does not."""


class RefusedByPlatformError(RefusedError):
    """A platform does not accept a secret.

    Attributes:
        key: The variable.
    """

    def __init__(self, key: str, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(title, detail, hint)
        self.key = key


def refused_by(platform: str, variable: str, answer: CheckResult) -> RefusedByPlatformError:
    """Return the error for a platform that does not accept a secret."""
    return RefusedByPlatformError(
        variable,
        f"{platform} does not accept this {'token' if 'TOKEN' in variable else 'secret'}.",
        answer.words,
        f"{answer.hint or 'Copy it again.'} Nothing was changed; the previous one stays in use.",
    )


class PlatformChecker:
    """Checks settings with platforms; stores nothing.

    Args:
        paths: The home.
        environ: The environment, with the keyring behind it.
        registry: The registry of the platforms' checks.
        in_use: Returns whether our gateway uses a token.
        locks: The locks of tokens that other programs on this machine use, read on ``worker``.
        worker: The worker thread for blocking calls.
        clock: The clock for adapters.
        redactor: The redactor that tried secrets are registered with, as a check may log them.
    """

    def __init__(  # noqa: PLR0913 - what an answer takes
        self,
        paths: HermesPaths,
        environ: Mapping[str, str],
        registry: AdapterRegistry,
        *,
        in_use: InUse,
        locks: TokenLocks,
        worker: WorkerThreads,
        clock: Clock,
        redactor: SecretRedactor | None = None,
    ) -> None:
        self._paths = paths
        self._environ = environ
        self._registry = registry
        self._in_use = in_use
        self._locks = locks
        self._worker = worker
        self._clock = clock
        self._redactor = redactor

    def serves(self, platform: str) -> bool:
        """Return whether this version can serve a platform, so that a check makes sense."""
        found = platform_or_none(platform)
        return found is not None and found in self._registry

    def read(
        self, platform: str, secrets: Mapping[str, str], edits: Sequence[Edit] = ()
    ) -> PlatformConfig:
        """Return a platform's settings as they would be. Blocking: files and keyring.

        Args:
            platform: The platform.
            secrets: Values that override the stored ones.
            edits: Changes to config.yaml that are not written yet.

        Raises:
            ConfigError: config.yaml cannot be parsed.
        """
        environ = _WithGiven(self._environ, secrets) if secrets else self._environ
        files = SettingsFiles(self._paths)
        config = patch_config(files.config(), edits).config
        loaded = read_gateway_config(
            self._paths, environ, self._redactor, files=files, config=config
        )
        return loaded.config.platforms.get(Platform(platform), PlatformConfig())

    async def ask(self, platform: str, config: PlatformConfig) -> CheckResult:
        """Check settings with a platform; answers within 20 s, and may be cancelled.

        Args:
            platform: A platform that is served.
            config: Its settings.
        """
        wanted = {Platform(platform): replace(config, enabled=True)}
        if not GatewayConfig(platforms=wanted).get_connected_platforms():
            words = config.trouble or "Its credentials are missing."
            return CheckResult("misconfigured", words=words)
        context = AdapterContext(Platform(platform), self._paths.home, self._clock)
        check = self._registry.check_of(context.platform)

        async def bounded() -> CheckResult:
            async with asyncio.timeout(CHECK_S):
                if check is not None:
                    return await check(config, context)
                return await self._connect(self._registry.make(config, context))

        return await answered(bounded())

    async def _connect(self, adapter: PlatformAdapter) -> CheckResult:
        """Check by connecting, unless the new connection would disturb an existing one."""
        health = self._in_use(adapter.platform, adapter.token)
        if health is not None:
            good = health.state == "connected"
            return CheckResult("ok" if good else "unreachable", words="" if good else health.detail)
        if adapter.token is not None:
            token = adapter.token
            owner = await self._worker.run(self._locks.owner, token.scope, token.secret)
            if owner is not None:
                return CheckResult("unreachable", words=in_use_text(owner))
        return await connect_once(adapter, _CONNECT_S)


class _WithGiven(Mapping[str, str]):
    """An environment in which some names have other values."""

    def __init__(self, below: Mapping[str, str], given: Mapping[str, str]) -> None:
        self._below = below
        self._given = given

    @override
    def __getitem__(self, name: str) -> str:
        return self._given[name] if name in self._given else self._below[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self._below), **self._given})

    @override
    def __len__(self) -> int:
        return len({*self._below, *self._given})


# ------------------------------------------------------------------------------
# Check of a secret with its platform before the command line stores it.


def checking_platform(name: str) -> str:
    """Return the platform that can check a secret; "" where there is none.

    A platform that can only be checked by connecting is left out: another program may be connected.
    """
    platform = platform_or_none(SECRETS[name].platform) if name in SECRETS else None
    if platform is None or shipped_platforms().check_of(platform) is None:
        return ""
    return platform.value


def check_secret(
    paths: HermesPaths,
    environ: Mapping[str, str],
    clock: Clock,
    *,
    platform: str,
    name: str,
    value: str,
) -> CheckResult:
    """Check with its platform whether a secret is accepted; stores nothing.

    Blocks, for half a minute at most; must not be called on an event loop.

    Args:
        paths: The home, whose other settings of that platform apply.
        environ: The process environment.
        clock: The clock, for pauses.
        platform: The result of :func:`checking_platform`.
        name: The variable.
        value: The value to be stored.

    Returns:
        The platform's answer, or why it could not be checked.

    Raises:
        RefusedByPlatformError: The platform does not accept it.
        ConfigError: config.yaml cannot be parsed.
    """
    worker = WorkerThreads("secret-trial")
    redactor = SecretRedactor()
    redactor.learn(value)
    checker = PlatformChecker(
        paths,
        with_secrets(paths, environ, clock),
        shipped_platforms(),
        in_use=lambda *_: None,
        locks=TokenLocks(locks_folder(environ), clock),
        worker=worker,
        clock=clock,
        redactor=redactor,
    )
    try:
        answer = asyncio.run(checker.ask(platform, checker.read(platform, {name: value})))
    finally:
        worker.close()
    if answer.kind == "refused":
        raise refused_by(PLATFORMS[platform].title, name, answer)
    return answer
