"""Wiring of the settings of a running program to the gateway that follows them."""

import asyncio
import contextlib
import threading

from hermes_desktop.core.concurrency.background_tasks import TaskSet
from hermes_desktop.services.hosting.gateway_host import GatewayHost, HostSetup
from hermes_desktop.services.hosting.hosted_gateway import HostedParts
from hermes_desktop.services.login.login_system import login_entry
from hermes_desktop.services.settings.live_settings import SettingsWatch
from hermes_desktop.services.settings.platform_checks import PlatformChecker
from hermes_desktop.services.settings.settings_service import SettingsService, build_settings
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets

LOOK_S = 2.0


def watch_settings(setup: HostSetup) -> SettingsWatch:
    """Return a watcher of all sources of settings."""
    environ = setup.environ
    process = environ.process if isinstance(environ, EnvironmentWithSecrets) else environ
    return SettingsWatch(setup.paths, login_entry(setup.paths, process).files)


def build_settings_service(parts: HostedParts, gateway: GatewayHost) -> SettingsService:
    """Build a settings service that the gateway follows and that can check platforms.

    Args:
        parts: The dependencies of gateway runs.
        gateway: The gateway host that follows the settings.
    """
    checker = PlatformChecker(
        parts.paths,
        parts.environ,
        parts.registry,
        in_use=gateway.in_use,
        locks=parts.locks,
        worker=parts.worker,
        clock=parts.clock,
        redactor=parts.redactor,
    )
    return build_settings(
        parts.paths,
        parts.environ,
        parts.clock,
        gateway,
        parts.bus,
        checker,
        redactor=parts.redactor,
        remember=parts.builder.remember_config,
    )


class SettingsPoller:
    """Checks the settings files every two seconds, for programs without a window's state watcher.

    Args:
        setup: The home and the configuration of the host.
        settings: The service that is notified, on the loop, of a changed file.
        look_s: Seconds between two checks.
    """

    def __init__(
        self, setup: HostSetup, settings: SettingsService, *, look_s: float = LOOK_S
    ) -> None:
        self._watch = watch_settings(setup)
        self._settings = settings
        self._look_s = look_s
        self._ended = threading.Event()
        self._tasks = TaskSet()

    def start(self) -> None:
        """Record the current settings in the background, and start checking; on the event loop."""
        self._tasks.start(self._settings.start_following(), name="settings")
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._keep_looking, args=(loop,), name="settings-watch", daemon=True
        ).start()

    async def stop(self) -> None:
        """Stop checking, and stop following changes."""
        self._ended.set()
        await self._tasks.cancel_all()
        await self._settings.stop_following()
        self._settings.close()

    def _keep_looking(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone
            while not self._ended.wait(self._look_s):
                if self._watch.look():
                    loop.call_soon_threadsafe(self._settings.noticed)
