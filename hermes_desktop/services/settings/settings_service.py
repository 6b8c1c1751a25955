"""Settings and secrets for the window: the same as on the command line, awaitable and announced.

A change is checked as a whole, then secrets go to the keyring, then the files are changed, then
:class:`SettingsChanged` is published and it is told what counts already and what waits for what.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.stoppable import Stoppable
from hermes_desktop.core.errors import RefusedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import SettingChanged
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig
from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.checks import CheckAnswer
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.services.secrets.secret_access import SecretAccess, with_secrets
from hermes_desktop.services.secrets.secret_checks import checked_name, checked_value
from hermes_desktop.services.secrets.secrets_book import SecretsBook
from hermes_desktop.services.settings.applied import Applied, PlatformChecked, what_became
from hermes_desktop.services.settings.config_health import (
    RepeatedKey,
    TextLine,
    lines_around,
    repeated_keys,
)
from hermes_desktop.services.settings.desktop_config import DesktopConfig
from hermes_desktop.services.settings.gateway_settings import running_config
from hermes_desktop.services.settings.live_settings import HostedGateway, LiveParts, LiveSettings
from hermes_desktop.services.settings.platform_checks import PlatformChecker, refused_by
from hermes_desktop.services.settings.platform_settings import PlatformBook, PlatformStanding
from hermes_desktop.services.settings.secrets_face import SecretsFace
from hermes_desktop.services.settings.settings_book import Change, Saved, SettingsBook
from hermes_desktop.services.settings.settings_reading import SettingView, UnknownKey
from hermes_desktop.services.settings.settings_snapshot import Snapshot, SnapshotTaker, secret_news
from hermes_desktop.services.settings.settings_watch import SettingsWatch
from hermes_desktop.services.settings.wished_settings import Wished
from hermes_desktop.settings.config_versions import Version
from hermes_desktop.settings.options import Effect
from hermes_desktop.settings.secret_layer import EnvironmentWithSecrets

__all__ = ["Applied", "SettingsService", "build_settings"]

T = TypeVar("T")


class SettingsService(SecretsFace):
    """Everything that can be set. Called on the loop; files and keyring are asked elsewhere.

    Args:
        book: Settings.
        secrets: Tokens and keys.
        gateway: Who hosts; None where nobody does.
        live: Brings changes into the running program.
        checker: Asks platforms; None: none can be asked.
        platforms: What variables say about them.
    """

    def __init__(
        self,
        book: SettingsBook,
        secrets: SecretsBook,
        gateway: HostedGateway | None,
        live: LiveSettings,
        checker: PlatformChecker | None = None,
        *,
        platforms: PlatformBook,
    ) -> None:
        self._checker = checker
        self._platforms = platforms
        self._book = book
        self._secrets = secrets
        self._gateway = gateway
        self._live = live
        self._asking = Stoppable("Nothing was saved.")
        # Two kinds: a keyring that waits for its password must not hold settings up.
        self._files = WorkerThreads("settings")
        self._keyring = WorkerThreads("secrets")

    @property
    def managed(self) -> str:
        """Why settings cannot be changed in this home, as a sentence; "" when they can."""
        return self._book.managed

    async def look(self, words: str = "") -> list[SettingView]:
        """Settings that fit the words, with their values. Raises :class:`ConfigError`."""
        return await self._files.run(self._book.look, words)

    async def unknown(self) -> list[UnknownKey]:
        """What else stands in config.yaml. Raises :class:`ConfigError`."""
        return await self._files.run(self._book.unknown)

    async def desktop(self) -> DesktopConfig:
        """What is set for the desktop program alone; what cannot be read is at its default."""
        return await self._files.run(self._book.desktop)

    async def preview(self, changes: Sequence[Change]) -> Saved:
        """The difference that :meth:`apply` would make; raises what it does."""
        return await self._files.run(partial(self._book.save, changes, dry_run=True))

    async def apply(
        self, changes: Sequence[Change], secrets: Mapping[str, str] | None = None
    ) -> Applied:
        """Change settings and secrets, and let the running program follow.

        Platforms are asked first whether they take a new secret. One that cannot be reached does
        not stand in its way: :attr:`Applied.checked` says so. May take as long as connecting a
        platform does.

        Args:
            changes: Settings; with ``seen`` from the views that were shown, so that what somebody
                else changed meanwhile is not overwritten.
            secrets: Values by variable, for the keyring.

        Raises:
            InvalidValueError: A value makes no sense; ``key`` says which. Nothing was changed.
            RefusedByPlatformError: A platform does not take a secret; ``key`` says which. Nothing
                was changed, and the one before goes on being used.
            HermesError: As :meth:`SettingsBook.save` and :meth:`SecretsBook.keep_all`; neither
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
            return await self._announce(saved, tuple(map(secret_news, given)), checked)

    async def _ask_platforms(
        self, given: Mapping[str, str], changes: Sequence[Change]
    ) -> tuple[PlatformChecked, ...]:
        """Let each platform that a secret belongs to look at it.

        Raises:
            RefusedByPlatformError: One does not take it.
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

    async def look_at_platforms(self) -> Mapping[str, PlatformStanding]:
        """What variables say about each platform. Raises :class:`ConfigError`."""
        return await self._files.run(self._platforms.look)

    async def set_home_channel(self, platform: str, chat_id: str) -> str:
        """Say where news of a platform go; what it was before. As :meth:`PlatformBook.set_home`."""
        async with self._live.alone():
            before = await self._files.run(self._platforms.set_home, platform, chat_id)
            name = PLATFORMS[platform].home_variable
            news = SettingChanged(name, Effect.LIVE.value, platform)
            await self._announce(Saved(""), (news,))
        return before

    def serves(self, platform: str) -> bool:
        """Whether this version can serve a platform, and so be asked about it."""
        return self._checker is not None and self._checker.serves(platform)

    async def check_platform(
        self,
        platform: str,
        secrets: Mapping[str, str] | None = None,
        changes: Sequence[Change] = (),
    ) -> CheckAnswer:
        """Ask a platform whether it takes settings; stores nothing. Takes 25 s at most.

        It may be cancelled. A connection that our gateway has with it is not disturbed.

        Args:
            platform: Its name, such as ``telegram``.
            secrets: Values by variable that count over those that are stored.
            changes: Settings that are not applied yet.

        Raises:
            InvalidValueError: A value makes no sense; ``key`` says which.
            ConfigError: A file cannot be understood.
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
        """The contents of config.yaml that were replaced here, the newest first."""
        return await self._files.run(self._book.config.versions)

    async def wished(self, changes: Sequence[Change]) -> Wished:
        """What would count with these changes. Errors as in :meth:`SettingsBook.save`."""
        return await self._files.run(self._book.wished, changes)

    async def difference_to(self, version: Version) -> str:
        """From one of them to what stands there now, secrets hidden. Raises ConfigError."""
        return await self._files.run(self._book.config.diff_to, version)

    async def preview_restore(self, version: Version) -> Saved:
        """The difference that :meth:`restore` would make; raises what it does."""
        return await self._files.run(partial(self._book.restore, version, dry_run=True))

    async def repeated_keys(self) -> tuple[RepeatedKey, ...]:
        """Keys of config.yaml that were written twice; of those the last one counts."""
        return await self._files.run(repeated_keys, self._book.config.file)

    async def lines_around(self, line: int) -> tuple[TextLine, ...]:
        """Some lines of a config.yaml that cannot be understood, secrets hidden."""
        return await self._files.run(lines_around, self._book.config.file, line)

    async def restore(self, version: Version) -> Applied:
        """Bring one of them back. Errors as in :meth:`SettingsBook.restore`."""
        async with self._live.alone():
            return await self._announce(await self._files.run(self._book.restore, version))

    async def restart_gateway(self) -> None:
        """Restart our gateway, so that all settings count."""
        if self._gateway is not None:
            await self._gateway.restart()

    async def start_following(self) -> None:
        """Learn how things are; what others change from here on is taken over."""
        await self._live.open()

    def noticed(self) -> None:
        """Somebody else changed a file: see what, publish it, let the gateway follow."""
        self._live.noticed()

    async def stop_following(self) -> None:
        """Take over nothing more that others change."""
        await self._live.close()

    def close(self) -> None:
        """Do nothing more; never waits."""
        self._files.close()
        self._keyring.close()
        self._live.end()

    def _given(self, secrets: Mapping[str, str] | None) -> dict[str, str]:
        """Secrets as they can be kept; from here on no log shows them."""
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
            return what_became(saved, own, followed, "stopped", checked)
        other_follows = gateway.other_follows
        return what_became(
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
    """The settings of a home, with the same keyring as gateway and agent have.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it or without one.
        clock: Names versions.
        gateway: Who hosts.
        bus: Hears of changes.
        checker: Asks platforms; None: none can be asked.
        redactor: Learns secrets that are read or given.
        remember: Reads, for others, what could be understood just now. May block.
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

    parts = LiveParts(take, load, worker, lambda: watch.settled, watch.calm)
    live = LiveSettings(parts, gateway, bus)
    platforms = PlatformBook(paths, environ.process)
    return SettingsService(book, secrets, gateway, live, checker, platforms=platforms)
