"""Settings and secrets for the window: the same as on the command line, awaitable and announced.

A change is checked as a whole, then secrets go to the keyring, then the files are changed, then
:class:`SettingsChanged` is published and it is told what counts already and what waits for what.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from hermes_desktop.core.background_tasks import WorkerThreads
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import NotFoundError, RefusedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayState, SettingChanged, SettingsChanged
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config import PlatformConfig
from hermes_desktop.gateway.platforms.checks import CheckAnswer
from hermes_desktop.services.platform_checks import PlatformChecker
from hermes_desktop.services.platform_facts import PLATFORMS
from hermes_desktop.services.platform_settings import PlatformBook, PlatformStanding
from hermes_desktop.services.secret_access import SecretAccess, with_secrets
from hermes_desktop.services.secrets_book import (
    Kept,
    SecretsBook,
    SecretView,
    checked_name,
    checked_value,
)
from hermes_desktop.services.settings_book import SECRETS, Change, Saved, SettingsBook
from hermes_desktop.services.settings_reading import SettingView, UnknownKey
from hermes_desktop.settings.config_store import Version
from hermes_desktop.settings.options import Effect
from hermes_desktop.settings.secret_layer import EnvironmentWithSecrets
from hermes_desktop.settings.secrets import Reading

T = TypeVar("T")

_RUNS: frozenset[GatewayState] = frozenset({"starting", "running", "working", "degraded"})


class HostedGateway(Protocol):
    """What is asked of the gateway's host."""

    @property
    def state(self) -> GatewayState:
        """How it is now."""
        ...

    async def restart(self) -> None:
        """Stop, read the settings again, start."""
        ...


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a change.

    Attributes:
        saved: What was written.
        at_once: What counts already: from the next message on, or because no gateway runs that
            would have to be restarted for it.
        after_restart: What waits until our gateway is restarted; see
            :meth:`SettingsService.restart_gateway`.
        other_gateway: What waits until the other program, which has the home, is restarted.
        next_start: What waits until the desktop program is started anew.
    """

    saved: Saved
    at_once: tuple[str, ...] = ()
    after_restart: tuple[str, ...] = ()
    other_gateway: tuple[str, ...] = ()
    next_start: tuple[str, ...] = ()


class SettingsService:
    """Everything that can be set. Called on the loop; files and keyring are asked elsewhere.

    Args:
        book: Settings.
        secrets: Tokens and keys.
        gateway: Who hosts; None where nobody does.
        bus: Hears of changes.
        checker: Asks platforms; None: none can be asked.
        platforms: What variables say about them.
    """

    def __init__(
        self,
        book: SettingsBook,
        secrets: SecretsBook,
        gateway: HostedGateway | None,
        bus: EventBus,
        checker: PlatformChecker | None = None,
        *,
        platforms: PlatformBook,
    ) -> None:
        self._checker = checker
        self._platforms = platforms
        self._book = book
        self._secrets = secrets
        self._gateway = gateway
        self._bus = bus
        self._removed: dict[str, Kept] = {}
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

    async def preview(self, changes: Sequence[Change]) -> Saved:
        """The difference that :meth:`apply` would make; raises what it does."""
        return await self._files.run(partial(self._book.save, changes, dry_run=True))

    async def apply(
        self, changes: Sequence[Change], secrets: Mapping[str, str] | None = None
    ) -> Applied:
        """Change settings and secrets.

        Args:
            changes: Settings; with ``seen`` from the views that were shown, so that what somebody
                else changed meanwhile is not overwritten.
            secrets: Values by variable, for the keyring.

        Raises:
            InvalidValueError: A value makes no sense; ``key`` says which. Nothing was changed.
            HermesError: As :meth:`SettingsBook.save` and :meth:`SecretsBook.keep_all`; settings
                were not changed then.
        """
        given = _checked(secrets)
        saved = await self.preview(changes) if changes else Saved("")
        if given:
            await self._keyring.run(self._secrets.keep_all, given)
        if changes:
            saved = await self._files.run(self._book.save, changes)
        return self._announce(saved, tuple(_secret_news(name) for name in given))

    async def look_at_platforms(self) -> Mapping[str, PlatformStanding]:
        """What variables say about each platform. Raises :class:`ConfigError`."""
        return await self._files.run(self._platforms.look)

    async def set_home_channel(self, platform: str, chat_id: str) -> str:
        """Say where news of a platform go; what it was before. As :meth:`PlatformBook.set_home`."""
        before = await self._files.run(self._platforms.set_home, platform, chat_id)
        name = PLATFORMS[platform].home_variable
        self._announce(Saved(""), (SettingChanged(name, Effect.RESTART.value, platform),))
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
        given = _checked(secrets)

        def read() -> PlatformConfig:
            return checker.read(platform, given, self._book.edits(changes))

        return await checker.ask(platform, await self._keyring.run(read))

    async def versions(self) -> list[Version]:
        """The contents of config.yaml that were replaced here, the newest first."""
        return await self._files.run(self._book.config.versions)

    async def restore(self, version: Version) -> Applied:
        """Bring one of them back. Errors as in :meth:`SettingsBook.restore`."""
        return self._announce(await self._files.run(self._book.restore, version))

    async def restart_gateway(self) -> None:
        """Restart our gateway, so that all settings count."""
        if self._gateway is not None:
            await self._gateway.restart()

    # ------------------------------------------------------------------------------- secrets

    async def look_at_secrets(self) -> list[SecretView]:
        """Where each secret is; takes some seconds where the keyring is not answering.

        Raises:
            ConfigError: A file cannot be understood.
        """
        return await self._keyring.run(self._secrets.look)

    async def check_keyring(self) -> Reading:
        """Whether it works; takes as long as a person needs to unlock it."""
        return await self._keyring.run(self._secrets.check)

    async def move_secret(self, name: str) -> Applied:
        """From ``.env`` and config.yaml into the keyring. Errors: :meth:`SecretsBook.move`."""
        return await self._with_secret(name, self._secrets.move)

    async def move_secret_back(self, name: str) -> Applied:
        """From the keyring into ``.env``. Errors as in :meth:`SecretsBook.move_back`."""
        return await self._with_secret(name, self._secrets.move_back)

    async def remove_secret(self, name: str) -> Applied:
        """Out of the keyring. Errors as in :meth:`SecretsBook.remove`."""

        def remove(name: str) -> None:
            kept = self._secrets.remove(name)
            if kept is not None:
                self._removed[name] = kept

        return await self._with_secret(name, remove)

    async def bring_secret_back(self, name: str) -> Applied:
        """Undo :meth:`remove_secret`, as long as this program runs.

        Raises:
            NotFoundError: It was not removed here, or could not be read then.
            HermesError: As in :meth:`SecretsBook.keep`.
        """
        kept = self._removed.get(name)
        if kept is None:
            raise NotFoundError(f"{name} is not known here any more.", "", "Set it again.")
        applied = await self._with_secret(name, lambda _: self._secrets.put_back(kept))
        self._removed.pop(name, None)
        return applied

    def can_bring_back(self, name: str) -> bool:
        """Whether :meth:`bring_secret_back` has something to bring back."""
        return name in self._removed

    async def keep_plain(self, name: str, value: str) -> Applied:
        """Into a file that only its owner may read, because a person wants it without a keyring.

        Raises:
            HermesError: As in :meth:`SecretsBook.keep`.
        """
        keep = partial(self._secrets.keep, value=value, plain=True)
        return await self._with_secret(name, keep)

    def stop_waiting(self) -> None:
        """Whoever waits for the keyring here hears that it does not answer; nothing is changed."""
        self._secrets.give_up()

    def close(self) -> None:
        """Do nothing more; never waits."""
        self._files.close()
        self._keyring.close()

    async def _with_secret(self, name: str, do: Callable[[str], object]) -> Applied:
        await self._keyring.run(do, name)
        return self._announce(Saved(""), (_secret_news(name.strip()),))

    def _announce(self, saved: Saved, more: tuple[SettingChanged, ...] = ()) -> Applied:
        changes = (*saved.changes, *more)
        if changes:
            self._bus.publish(SettingsChanged(changes))
        state = self._gateway.state if self._gateway is not None else "stopped"
        found: dict[str, list[str]] = {"at_once": [], "restart": [], "other": [], "next": []}
        for change in changes:
            found[_when(Effect(change.effect), state)].append(change.key)
        return Applied(
            saved,
            at_once=tuple(found["at_once"]),
            after_restart=tuple(found["restart"]),
            other_gateway=tuple(found["other"]),
            next_start=tuple(found["next"]),
        )


def build_settings(
    paths: HermesPaths,
    environ: Mapping[str, str],
    clock: Clock,
    gateway: HostedGateway | None,
    bus: EventBus,
    checker: PlatformChecker | None = None,
) -> SettingsService:
    """The settings of a home, with the same keyring as gateway and agent have.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it or without one.
        clock: Names versions.
        gateway: Who hosts.
        bus: Hears of changes.
        checker: Asks platforms; None: none can be asked.
    """
    if not isinstance(environ, EnvironmentWithSecrets):
        environ = with_secrets(paths, environ, clock)
    access = SecretAccess(environ.store, environ.plain)
    book = SettingsBook(paths, environ.process, clock)
    secrets = SecretsBook(paths, environ.process, access, clock)
    platforms = PlatformBook(paths, environ.process)
    return SettingsService(book, secrets, gateway, bus, checker, platforms=platforms)


def _checked(secrets: Mapping[str, str] | None) -> dict[str, str]:
    return {checked_name(name): checked_value(value) for name, value in (secrets or {}).items()}


def _when(effect: Effect, state: GatewayState) -> str:
    if effect is Effect.NEXT_START:
        return "next"
    if effect is Effect.LIVE:
        return "at_once"
    if state == "attached":
        return "other"
    # Neither a platform nor the whole gateway takes settings while it runs.
    return "restart" if state in _RUNS else "at_once"


def _secret_news(name: str) -> SettingChanged:
    secret = SECRETS.get(name)
    if secret is None:
        return SettingChanged(name, Effect.RESTART.value)
    return SettingChanged(name, secret.effect.value, secret.platform)
