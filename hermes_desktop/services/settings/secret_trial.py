"""A secret, looked at by the platform it belongs to before the command line keeps it."""

import asyncio
from collections.abc import Mapping

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import platform_or_none
from hermes_desktop.gateway.identity.token_locks import TokenLocks, locks_folder
from hermes_desktop.gateway.platforms.checks import CheckAnswer
from hermes_desktop.gateway.platforms.shipped import shipped_platforms
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.services.secrets.secret_access import with_secrets
from hermes_desktop.services.settings.platform_checks import PlatformChecker, refused_by


def platform_that_knows(name: str) -> str:
    """The platform that can say whether it takes a secret; "" where nobody can be asked.

    One that could only be asked by connecting is left alone: another program may be connected.
    """
    platform = platform_or_none(SECRETS[name].platform) if name in SECRETS else None
    if platform is None or shipped_platforms().check_of(platform) is None:
        return ""
    return platform.value


def try_secret(
    paths: HermesPaths,
    environ: Mapping[str, str],
    clock: Clock,
    *,
    platform: str,
    name: str,
    value: str,
) -> CheckAnswer:
    """Ask the platform of a secret whether it takes this value; stores nothing.

    Blocks, for half a minute at most; must not be called on a loop.

    Args:
        paths: The home, whose other settings of that platform count.
        environ: The process environment.
        clock: For pauses.
        platform: The :func:`platform_that_knows`.
        name: The variable.
        value: What would be kept.

    Returns:
        What it said, or why it could not be asked.

    Raises:
        RefusedByPlatformError: It does not take it.
        ConfigError: config.yaml cannot be understood.
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
