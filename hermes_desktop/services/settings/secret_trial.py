"""Check of a secret with its platform before the command line stores it."""

import asyncio
from collections.abc import Mapping

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import platform_or_none
from hermes_desktop.gateway.identity.token_locks import TokenLocks, locks_folder
from hermes_desktop.gateway.platforms.checks import CheckResult
from hermes_desktop.gateway.platforms.shipped import shipped_platforms
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.services.secrets.secret_access import with_secrets
from hermes_desktop.services.settings.platform_checks import PlatformChecker, refused_by


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
