"""Settings and secrets for the window: asynchronous, with change events.

A change is validated as a whole, then secrets are stored in the keyring, then the files are
changed, then :class:`SettingsChanged` is published, and the result says what already applies and
what waits for what.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.stoppable import CancellableRunner
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import SettingChanged
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig
from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.checks import CheckResult
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.services.secrets.secret_access import SecretAccess, with_secrets
from hermes_desktop.services.secrets.secret_checks import checked_name, checked_value
from hermes_desktop.services.secrets.secrets_book import SecretsBook
from hermes_desktop.services.settings.applied import Applied, PlatformChecked, change_result
from hermes_desktop.services.settings.config_health import (
    RepeatedKey,
    TextLine,
    lines_around,
    repeated_keys,
)
from hermes_desktop.services.settings.desktop_config import DesktopConfig
from hermes_desktop.services.settings.gateway_settings import running_config
from hermes_desktop.services.settings.live_settings import (
    HostedGateway,
    LiveReload,
    SettingsSources,
)
from hermes_desktop.services.settings.platform_checks import PlatformChecker, refused_by
from hermes_desktop.services.settings.platform_settings import (
    PlatformSettings,
    PlatformSettingsRepository,
)
from hermes_desktop.services.settings.secrets_face import SecretsService
from hermes_desktop.services.settings.settings_book import Change, Saved, SettingsBook
from hermes_desktop.services.settings.settings_reading import SettingView, UnknownKey
from hermes_desktop.services.settings.settings_snapshot import (
    Snapshot,
    SnapshotTaker,
    secret_change_event,
)
from hermes_desktop.services.settings.settings_watch import SettingsWatch
from hermes_desktop.services.settings.wished_settings import PreviewedSettings
from hermes_desktop.settings.config_versions import Version
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.options import Effect

__all__ = ["Applied", "SettingsService", "build_settings"]

T = TypeVar("T")


class SettingsService(SecretsService):
    """Everything that can be set. Called on the event loop; files and keyring are accessed off it.

    Args:
        book: The settings.
        secrets: Tokens and keys.
        gateway: The gateway host; None where there is none.
        live: Applies changes to the running program.
        checker: Checks settings with platforms; None: none can be checked.
        platforms: Reads the platform settings in variables.
    """

    def __init__(
        self,
        book: SettingsBook,
        secrets: SecretsBook,
        gateway: HostedGateway | None,
        live: LiveReload,
        checker: PlatformChecker | None = None,
        *,
        platforms: PlatformSettingsRepository,
    ) -> None:
        self._checker = checker
        self._platforms = platforms
        self._book = book
        self._secrets = secrets
        self._gateway = gateway
        self._live = live
        self._asking = CancellableRunner("Nothing was saved.")
        # Two workers: a keyring that waits for its password must not block settings.
        self._files = WorkerThreads("settings")
        self._keyring = WorkerThreads("secrets")

    @property
    def managed(self) -> str:
        """Why settings cannot be changed in this home, as a sentence; "" when they can."""
        return self._book.managed

    async def look(self, words: str = "") -> list[SettingView]:
        """Return settings that match the words, with their values. Raises :class:`ConfigError`."""
        return await self._files.run(self._book.look, words)

    async def unknown(self) -> list[UnknownKey]:
        """Return the other keys of config.yaml. Raises :class:`ConfigError`."""
        return await self._files.run(self._book.unknown)

    async def desktop(self) -> DesktopConfig:
        """Return the desktop program's own settings, with defaults for what cannot be read."""
        return await self._files.run(self._book.desktop)

    async def preview(self, changes: Sequence[Change]) -> Saved:
        """Return the difference that :meth:`apply` would make; raises the same errors."""
        return await self._files.run(partial(self._book.save, changes, dry_run=True))

    async def apply(
        self, changes: Sequence[Change], secrets: Mapping[str, str] | None = None
    ) -> Applied:
        """Change settings and secrets, and apply them to the running program.

        Platforms are asked first whether they accept a new secret. One that cannot be reached does
        not prevent the change: :attr:`Applied.checked` reports it. May take as long as connecting a
        platform does.

        Args:
            changes: Settings; with ``seen`` from the views that were shown, so that changes made
                elsewhere meanwhile are not overwritten.
            secrets: Values by variable, for the keyring.

        Raises:
            InvalidValueError: A value is invalid; ``key`` says which. Nothing was changed.
            RefusedByPlatformError: A platform does not accept a secret; ``key`` says which. Nothing
                was changed, and the previous one stays in use.
            HermesError: As in :meth:`SettingsBook.save` and :meth:`SecretsBook.keep_all`; neither
                settings nor secrets were changed then.
        """
        given = self._given(secrets)
        saved = await self.preview(changes) if changes else Saved("")
        checked = await self._asking.run(self._ask_platforms(given, changes))
        async with self._live.alone():
            before = {name: await self._keyring.run(self._secrets.kept, name) for name in given}
            if given:
                await self._keyring.run(self._secrets.keep_all, given)
            try:
                if changes:
                    saved = await self._files.run(self._book.save, changes)
            except BaseException:
                await self._keyring.run(self._secrets.take_back, before)
                raise
            return await self._announce(saved, tuple(map(secret_change_event, given)), checked)

    async def _ask_platforms(
        self, given: Mapping[str, str], changes: Sequence[Change]
    ) -> tuple[PlatformChecked, ...]:
        """Check each secret with the platform it belongs to.

        Raises:
            RefusedByPlatformError: A platform does not accept its secret.
        """
        variables: dict[str, str] = {}
        for name in given:
            platform = SECRETS[name].platform if name in SECRETS else ""
            if platform and self.serves(platform):
                variables.setdefault(platform, name)
        asking = (self.check_platform(each, given, changes) for each in variables)
        answers = await asyncio.gather(*asking)
        checked = tuple(map(PlatformChecked, variables, answers))
        for each in checked:
            if each.answer.kind == "refused":
                title = PLATFORMS[each.platform].title
                raise refused_by(title, variables[each.platform], each.answer)
        return checked

    async def look_at_platforms(self) -> Mapping[str, PlatformSettings]:
        """Return the platform settings in variables. Raises :class:`ConfigError`."""
        return await self._files.run(self._platforms.look)

    async def set_home_channel(self, platform: str, chat_id: str) -> str:
        """Set a platform's home channel and return the old one."""
        async with self._live.alone():
            before = await self._files.run(self._platforms.set_home, platform, chat_id)
            name = PLATFORMS[platform].home_variable
            news = SettingChanged(name, Effect.LIVE.value, platform)
            await self._announce(Saved(""), (news,))
        return before

    def serves(self, platform: str) -> bool:
        """Return whether this version can serve a platform, and so check its settings."""
        return self._checker is not None and self._checker.serves(platform)

    async def check_platform(
        self,
        platform: str,
        secrets: Mapping[str, str] | None = None,
        changes: Sequence[Change] = (),
    ) -> CheckResult:
        """Check with a platform whether it accepts settings; stores nothing. Takes 25 s at most.

        It may be cancelled. A connection that our gateway has with it is not disturbed.

        Args:
            platform: Its name, such as ``telegram``.
            secrets: Values by variable that override the stored ones.
            changes: Settings that are not applied yet.

        Raises:
            InvalidValueError: A value is invalid; ``key`` says which.
            ConfigError: A file cannot be parsed.
            RefusedError: This version cannot serve the platform.
        """
        checker = self._checker
        if checker is None or not self.serves(platform):
            raise RefusedError(
                f"{platform} cannot be tried here.",
                "This version of Hermes Desktop cannot serve it.",
                "Its settings are kept for `hermes`.",
            )
        given = self._given(secrets)

        def read() -> PlatformConfig:
            return checker.read(platform, given, self._book.edits(changes))

        return await checker.ask(platform, await self._keyring.run(read))

    async def versions(self) -> list[Version]:
        """Return the versions of config.yaml that were replaced here, the newest first."""
        return await self._files.run(self._book.config.versions)

    async def wished(self, changes: Sequence[Change]) -> PreviewedSettings:
        """Preview the settings after some changes. Raises as :meth:`SettingsBook.save`."""
        return await self._files.run(self._book.wished, changes)

    async def difference_to(self, version: Version) -> str:
        """Return the diff from a version to the file now, secrets hidden. Raises ConfigError."""
        return await self._files.run(self._book.config.diff_to, version)

    async def preview_restore(self, version: Version) -> Saved:
        """Return the difference that :meth:`restore` would make; raises the same errors."""
        return await self._files.run(partial(self._book.restore, version, dry_run=True))

    async def repeated_keys(self) -> tuple[RepeatedKey, ...]:
        """Return keys of config.yaml that were written more than once; the last one applies."""
        return await self._files.run(repeated_keys, self._book.config.file)

    async def lines_around(self, line: int) -> tuple[TextLine, ...]:
        """Return some lines of a config.yaml that cannot be parsed, secrets hidden."""
        return await self._files.run(lines_around, self._book.config.file, line)

    async def restore(self, version: Version) -> Applied:
        """Restore a version. Raises as :meth:`SettingsBook.restore`."""
        async with self._live.alone():
            return await self._announce(await self._files.run(self._book.restore, version))

    async def restart_gateway(self) -> None:
        """Restart our gateway, so that all settings take effect."""
        if self._gateway is not None:
            await self._gateway.restart()

    async def start_following(self) -> None:
        """Record the current settings; changes made elsewhere are applied from here on."""
        await self._live.open()

    def noticed(self) -> None:
        """Handle a file changed elsewhere: find the changes, publish and apply them."""
        self._live.noticed()

    async def stop_following(self) -> None:
        """Stop applying changes made elsewhere."""
        await self._live.close()

    def close(self) -> None:
        """Stop the workers; never waits."""
        self._files.close()
        self._keyring.close()
        self._live.end()

    def _given(self, secrets: Mapping[str, str] | None) -> dict[str, str]:
        """Return validated secrets, and register them so that no log shows them."""
        items = (secrets or {}).items()
        given = {checked_name(name): checked_value(value, name) for name, value in items}
        self._secrets.learn(given.values())
        return given

    async def _announce(
        self,
        saved: Saved,
        more: tuple[SettingChanged, ...] = (),
        checked: tuple[PlatformChecked, ...] = (),
    ) -> Applied:
        own = (*saved.changes, *more)
        followed, gateway = await self._live.changed_here(own), self._gateway
        if gateway is None:
            return change_result(saved, own, followed, "stopped", checked)
        other_follows = gateway.other_follows
        return change_result(
            saved, own, followed, gateway.state, checked, other_follows=other_follows
        )


def build_settings(  # noqa: PLR0913 - the parts it joins
    paths: HermesPaths,
    environ: Mapping[str, str],
    clock: Clock,
    gateway: HostedGateway | None,
    bus: EventBus,
    checker: PlatformChecker | None = None,
    *,
    redactor: SecretRedactor | None = None,
    remember: Callable[[], None] = lambda: None,
) -> SettingsService:
    """Build the settings service of a home, with the same keyring as gateway and agent use.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it or without one.
        clock: The clock that names versions.
        gateway: The gateway host.
        bus: The event bus for changes.
        checker: Checks settings with platforms; None: none can be checked.
        redactor: The redactor that secrets, read or given, are registered with.
        remember: Called after each successful snapshot; refreshes the last good configuration that
            the agents keep. May block.
    """
    if not isinstance(environ, EnvironmentWithSecrets):
        environ = with_secrets(paths, environ, clock)
    surroundings = environ
    access = SecretAccess(environ.store, environ.plain)
    book = SettingsBook(paths, environ.process, clock)
    secrets = SecretsBook(paths, environ.process, access, clock, redactor)
    worker = WorkerThreads("settings-live")
    watch = SettingsWatch(paths, clock=clock)
    taker = SnapshotTaker(paths, book, environ)

    def take() -> Snapshot:
        found = taker.take()
        remember()
        return found

    def load() -> LoadedGatewayConfig:
        return running_config(paths, surroundings, redactor)

    parts = SettingsSources(take, load, worker, lambda: watch.settled, watch.calm)
    live = LiveReload(parts, gateway, bus)
    platforms = PlatformSettingsRepository(paths, environ.process)
    return SettingsService(book, secrets, gateway, live, checker, platforms=platforms)
