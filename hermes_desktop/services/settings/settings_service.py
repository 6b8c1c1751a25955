"""Settings and secrets for the window: asynchronous, with change events.

A change is validated as a whole, then secrets are stored in the keyring, then the files are
changed, then :class:`SettingsChanged` is published, and the result says what already applies and
what waits for what.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.stoppable import CancellableRunner
from hermes_desktop.core.errors import NotFoundError, RefusedError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import GatewayState, SettingChanged
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_changes import PlatformOutcome
from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS, GATEWAY_SECRETS
from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.checks import CheckResult
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.services.secrets.secret_access import SecretAccess, with_secrets
from hermes_desktop.services.secrets.secret_checks import checked_name, checked_value
from hermes_desktop.services.secrets.secrets_repository import Kept, SecretsRepository, SecretView
from hermes_desktop.services.settings.config_health import (
    RepeatedKey,
    TextLine,
    lines_around,
    repeated_keys,
)
from hermes_desktop.services.settings.desktop_config import DesktopConfig
from hermes_desktop.services.settings.gateway_settings import running_config
from hermes_desktop.services.settings.live_settings import (
    RUNS,
    Followed,
    HostedGateway,
    LiveReload,
    SettingsSources,
    SettingsWatch,
    Snapshot,
    SnapshotTaker,
    secret_change_event,
)
from hermes_desktop.services.settings.platform_checks import PlatformChecker, refused_by
from hermes_desktop.services.settings.platform_settings import (
    PlatformSettings,
    PlatformSettingsRepository,
)
from hermes_desktop.services.settings.settings_reading import SettingView, UnknownKey
from hermes_desktop.services.settings.settings_repository import (
    Change,
    PreviewedSettings,
    Saved,
    SettingsRepository,
)
from hermes_desktop.settings.config_versions import Version
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.options import Effect
from hermes_desktop.settings.secrets import Reading

# ------------------------------------------------------------------------------
# The result of a settings change: which parts already apply, and what the rest waits for.

_OF_GATEWAY = frozenset(
    (
        *(option.key for option in GATEWAY_OPTIONS),
        *(secret.variable for secret in GATEWAY_SECRETS),
    )
)

_BY_ITSELF = frozenset({Effect.LIVE, Effect.RECONNECT})


@dataclass(frozen=True, slots=True)
class PlatformChecked:
    """A platform's answer to a check of a secret before it was stored."""

    platform: str
    answer: CheckResult


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of a change.

    Attributes:
        saved: The changes that were written.
        at_once: Settings that already apply: from the next message on, or because no gateway runs.
        reconnected: Platforms of our running gateway that were reconnected, connected for the first
            time, or disconnected, each with the outcome. The settings that caused it are not in
            ``at_once``.
        after_restart: Settings that wait until our gateway is restarted; see
            :meth:`SettingsService.restart_gateway`.
        other_gateway: Settings that wait until the other program, which hosts the home, is
            restarted; another Hermes Desktop applies most of them automatically.
        next_start: Settings that wait until the desktop program is restarted.
        checked: The platforms' answers before their secrets were stored; platforms that could not
            be reached gave none.
        trouble: Why our gateway continues with the previous settings, as a sentence; "" if it does
            not.
    """

    saved: Saved
    at_once: tuple[str, ...] = ()
    reconnected: tuple[PlatformOutcome, ...] = ()
    after_restart: tuple[str, ...] = ()
    other_gateway: tuple[str, ...] = ()
    next_start: tuple[str, ...] = ()
    checked: tuple[PlatformChecked, ...] = ()
    trouble: str = ""


def change_result(
    saved: Saved,
    own: tuple[SettingChanged, ...],
    followed: Followed,
    state: GatewayState,
    checked: tuple[PlatformChecked, ...] = (),
    *,
    other_follows: bool = False,
) -> Applied:
    """Group changes by when they take effect.

    Args:
        saved: The changes that were written.
        own: The changes made here.
        followed: How the gateway applied them.
        state: The state of our gateway.
        checked: The platforms' answers before the change.
        other_follows: Whether another gateway that hosts the home applies them automatically.
    """
    found: dict[str, list[str]] = {"at_once": [], "restart": [], "other": [], "next": []}
    for when, key in _sorted(own, followed, state, other_follows=other_follows):
        found[when].append(key)
    trouble = followed.trouble
    return Applied(
        saved,
        at_once=tuple(found["at_once"]),
        reconnected=followed.replaced.platforms,
        after_restart=tuple(found["restart"]),
        other_gateway=tuple(found["other"]),
        next_start=tuple(found["next"]),
        checked=checked,
        trouble="" if trouble is None else f"{trouble.title} {trouble.detail}".strip(),
    )


def _sorted(
    own: tuple[SettingChanged, ...],
    followed: Followed,
    state: GatewayState,
    *,
    other_follows: bool,
) -> Iterator[tuple[str, str]]:
    touched = {each.platform for each in followed.replaced.platforms}
    for change in own:
        effect = Effect(change.effect)
        if effect is Effect.RECONNECT and change.platform in touched:
            continue  # it is reported per platform
        if state == "attached" and other_follows and effect in _BY_ITSELF:
            yield "at_once", change.key
            continue
        yield _when(change, effect, state, is_taken=followed.trouble is None), change.key


def _when(change: SettingChanged, effect: Effect, state: GatewayState, *, is_taken: bool) -> str:
    if effect is Effect.NEXT_START:
        return "next"
    if change.key not in _OF_GATEWAY and effect is not Effect.RESTART:
        return "at_once"
    if state == "attached":
        return "other"
    waits = state in RUNS and (effect is Effect.RESTART or not is_taken)
    return "restart" if waits else "at_once"


__all__ = ["Applied", "SettingsService", "build_settings"]

T = TypeVar("T")


class SettingsService:
    """Everything that can be set. Called on the event loop; files and keyring are accessed off it.

    Args:
        repository: The settings.
        secrets: Tokens and keys.
        gateway: The gateway host; None where there is none.
        live: Applies changes to the running program.
        checker: Checks settings with platforms; None: none can be checked.
        platforms: Reads the platform settings in variables.
    """

    def __init__(
        self,
        repository: SettingsRepository,
        secrets: SecretsRepository,
        gateway: HostedGateway | None,
        live: LiveReload,
        checker: PlatformChecker | None = None,
        *,
        platforms: PlatformSettingsRepository,
    ) -> None:
        self._checker = checker
        self._platforms = platforms
        self._repository = repository
        self._secrets = secrets
        self._gateway = gateway
        self._live = live
        self._asking = CancellableRunner("Nothing was saved.")
        self._removed: dict[str, Kept] = {}
        # Two workers: a keyring that waits for its password must not block settings.
        self._files = WorkerThreads("settings")
        self._keyring = WorkerThreads("secrets")

    @property
    def managed(self) -> str:
        """Why settings cannot be changed in this home, as a sentence; "" when they can."""
        return self._repository.managed

    async def look(self, words: str = "") -> list[SettingView]:
        """Return settings that match the words, with their values. Raises :class:`ConfigError`."""
        return await self._files.run(self._repository.look, words)

    async def unknown(self) -> list[UnknownKey]:
        """Return the other keys of config.yaml. Raises :class:`ConfigError`."""
        return await self._files.run(self._repository.unknown)

    async def desktop(self) -> DesktopConfig:
        """Return the desktop program's own settings, with defaults for what cannot be read."""
        return await self._files.run(self._repository.desktop)

    async def preview(self, changes: Sequence[Change]) -> Saved:
        """Return the difference that :meth:`apply` would make; raises the same errors."""
        return await self._files.run(partial(self._repository.save, changes, dry_run=True))

    async def apply(
        self, changes: Sequence[Change], secrets: Mapping[str, str] | None = None
    ) -> Applied:
        """Change settings and secrets, and apply them to the running program.

        Platforms are asked first whether they accept a new secret. One that cannot be reached does
        not prevent the change: :attr:`Applied.checked` reports it. May take as long as connecting a
        platform does.

        Args:
            changes: Settings; with ``seen`` from the views that were shown, so that changes made
                elsewhere in the meantime are not overwritten.
            secrets: Values by variable, for the keyring.

        Raises:
            InvalidValueError: A value is invalid; ``key`` says which. Nothing was changed.
            RefusedByPlatformError: A platform does not accept a secret; ``key`` says which. Nothing
                was changed, and the previous one stays in use.
            HermesError: As in :meth:`SettingsRepository.save` and
                :meth:`SecretsRepository.keep_all`; neither settings nor secrets were changed then.
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
                    saved = await self._files.run(self._repository.save, changes)
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
                f"{platform} cannot be tested here.",
                "This version of Hermes Desktop does not support it.",
                "Its settings are kept for `hermes`.",
            )
        given = self._given(secrets)

        def read() -> PlatformConfig:
            return checker.read(platform, given, self._repository.edits(changes))

        return await checker.ask(platform, await self._keyring.run(read))

    async def versions(self) -> list[Version]:
        """Return the versions of config.yaml that were replaced here, the newest first."""
        return await self._files.run(self._repository.config.versions)

    async def preview_after(self, changes: Sequence[Change]) -> PreviewedSettings:
        """Preview the settings after some changes. Raises as :meth:`SettingsRepository.save`."""
        return await self._files.run(self._repository.preview_after, changes)

    async def difference_to(self, version: Version) -> str:
        """Return the diff from a version to the file now, secrets hidden. Raises ConfigError."""
        return await self._files.run(self._repository.config.diff_to, version)

    async def preview_restore(self, version: Version) -> Saved:
        """Return the difference that :meth:`restore` would make; raises the same errors."""
        return await self._files.run(partial(self._repository.restore, version, dry_run=True))

    async def repeated_keys(self) -> tuple[RepeatedKey, ...]:
        """Return keys of config.yaml that were written more than once; the last one applies."""
        return await self._files.run(repeated_keys, self._repository.config.file)

    async def lines_around(self, line: int) -> tuple[TextLine, ...]:
        """Return some lines of a config.yaml that cannot be parsed, secrets hidden."""
        return await self._files.run(lines_around, self._repository.config.file, line)

    async def restore(self, version: Version) -> Applied:
        """Restore a version. Raises as :meth:`SettingsRepository.restore`."""
        async with self._live.alone():
            return await self._announce(await self._files.run(self._repository.restore, version))

    # ------------------------------------------------------------------------------- secrets

    async def look_at_secrets(self) -> list[SecretView]:
        """Return where each secret is stored; takes some seconds if the keyring does not answer.

        Raises:
            ConfigError: A file cannot be parsed.
        """
        return await self._keyring.run(self._secrets.look)

    async def check_keyring(self) -> Reading:
        """Return whether the keyring works; takes as long as the user needs to unlock it."""
        return await self._keyring.run(self._secrets.check)

    async def move_secret(self, name: str) -> Applied:
        """Move a secret from ``.env`` and config.yaml to the keyring.

        Raises as :meth:`SecretsRepository.move`.
        """
        return await self._with_secret(name, self._secrets.move)

    async def move_secret_back(self, name: str) -> Applied:
        """Move a secret from the keyring to ``.env``.

        Raises as :meth:`SecretsRepository.move_back`.
        """
        return await self._with_secret(name, self._secrets.move_back)

    async def remove_secret(self, name: str) -> Applied:
        """Remove a secret from the keyring. Raises as :meth:`SecretsRepository.remove`."""

        def remove(name: str) -> None:
            kept = self._secrets.remove(name)
            if kept is not None:
                self._removed[name] = kept

        return await self._with_secret(name, remove)

    async def restore_secret(self, name: str) -> Applied:
        """Undo :meth:`remove_secret`, as long as this program runs.

        Raises:
            NotFoundError: It was not removed here, or could not be read then.
            HermesError: As in :meth:`SecretsRepository.keep`.
        """
        kept = self._removed.get(name)
        if kept is None:
            raise NotFoundError(f"{name} is no longer known here.", "", "Set it again.")
        applied = await self._with_secret(name, lambda _: self._secrets.put_back(kept))
        self._removed.pop(name, None)
        return applied

    def can_bring_back(self, name: str) -> bool:
        """Return whether :meth:`restore_secret` has something to restore."""
        return name in self._removed

    async def keep_plain(self, name: str, value: str) -> Applied:
        """Store a secret in a file (0600) instead of a keyring, at the user's request.

        Raises:
            HermesError: As in :meth:`SecretsRepository.keep`.
        """
        keep = partial(self._secrets.keep, value=value, plain=True)
        return await self._with_secret(name, keep)

    def stop_waiting(self) -> None:
        """End all waits for a platform or the keyring; nothing is changed."""
        self._asking.stop()
        self._secrets.give_up()

    async def _with_secret(self, name: str, do: Callable[[str], object]) -> Applied:
        async with self._live.alone():
            await self._keyring.run(do, name)
            return await self._announce(Saved(""), (secret_change_event(name.strip()),))

    # ------------------------------------------------------------------------------- following

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
    repository = SettingsRepository(paths, environ.process, clock)
    secrets = SecretsRepository(paths, environ.process, access, clock, redactor)
    worker = WorkerThreads("settings-live")
    watch = SettingsWatch(paths, clock=clock)
    taker = SnapshotTaker(repository, environ)

    def take() -> Snapshot:
        found = taker.take()
        remember()
        return found

    def load() -> LoadedGatewayConfig:
        return running_config(paths, surroundings, redactor, files=repository.files)

    parts = SettingsSources(take, load, worker, lambda: watch.settled, watch.calm)
    live = LiveReload(parts, gateway, bus)
    platforms = PlatformSettingsRepository(paths, environ.process)
    return SettingsService(repository, secrets, gateway, live, checker, platforms=platforms)
