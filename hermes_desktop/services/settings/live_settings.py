"""Live reload: applies changes in the files and the keyring to the running program.

Changes are made here, by the command line, by an editor or by ``hermes``. All are handled alike:
what differs from the last check is published once, then the gateway receives its new settings.
"""

import asyncio
import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import (
    GatewayState,
    GatewayStatusChanged,
    Notice,
    NoticeCleared,
    SettingChanged,
    SettingsChanged,
)
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_changes import ConfigReplaced, PlatformOutcome
from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.settings.desktop_config import SETTINGS_NAME
from hermes_desktop.services.settings.settings_reading import Layers
from hermes_desktop.services.settings.settings_repository import (
    SettingsRepository,
    change_events,
    changed_settings,
)
from hermes_desktop.settings.config_patch import value_at
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.options import Effect
from hermes_desktop.settings.safe_replacement import SharedFile
from hermes_desktop.settings.secret_index import FILE_NAME, INDEX_NAME
from hermes_desktop.settings.secret_masking import is_secret_key

# ------------------------------------------------------------------------------
# Snapshots of all settings and secrets of a home, which can be compared.


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All settings and secrets at one moment.

    Attributes:
        layers: The files and variables that define the settings.
        secrets: Digests by variable, meaningful in this process alone; None where the keyring holds
            the secret and does not return it.
    """

    layers: Layers
    secrets: Mapping[str, str | None]


class SnapshotTaker:
    """Takes snapshots. Blocking: files, and the keyring for some seconds at most.

    Args:
        repository: The settings of the home.
        environ: The environment, with the keyring behind it.
    """

    def __init__(self, repository: SettingsRepository, environ: EnvironmentWithSecrets) -> None:
        self._repository = repository
        self._environ = environ
        self._salt = secrets.token_bytes(16)

    def take(self) -> Snapshot:
        """Take a snapshot. Raises :class:`ConfigError` if a file cannot be parsed."""
        layers = self._repository.layers()
        return Snapshot(layers, self._secrets(layers))

    def _secrets(self, layers: Layers) -> dict[str, str | None]:
        env_file = layers.env_file
        stored = self._environ.stored(
            {name for name, place in layers.secrets.items() if place == "keyring"}
        )
        environ = self._environ.with_stored(stored)
        listed = {name for name in env_file if is_secret_key(name)}
        found: dict[str, str | None] = {}
        for name in sorted({*SECRETS, *stored.names, *listed}):
            value = environ.get(name) or env_file.get(name) or _in_config(name, layers.config)
            if name in stored.troubles:
                found[name] = None
            elif value:
                found[name] = hashlib.blake2b(value.encode(), key=self._salt).hexdigest()
        return found


def differences(before: Snapshot, after: Snapshot) -> tuple[SettingChanged, ...]:
    """Return what differs: settings, secrets, and groups in which only other keys changed."""
    keys = changed_settings(before.layers, after.layers)
    names = [
        name
        for name in dict.fromkeys((*before.secrets, *after.secrets))
        if _is_other(before.secrets.get(name, ""), after.secrets.get(name, ""))
    ]
    found = [*change_events(keys), *(secret_change_event(name) for name in names)]
    if not found:
        old, new = before.layers.config, after.layers.config
        groups = dict.fromkeys((*old, *new))
        other = [name for name in groups if old.get(name) != new.get(name)]
        found = [SettingChanged(str(name), Effect.LIVE.value) for name in other]
    return tuple(found)


def secret_change_event(name: str) -> SettingChanged:
    """Return the change event for a secret."""
    secret = SECRETS.get(name)
    if secret is None:
        return SettingChanged(name, Effect.LIVE.value)
    return SettingChanged(name, secret.effect.value, secret.platform)


def _is_other(before: str | None, after: str | None) -> bool:
    """Return whether a digest differs; a keyring that is locked for a while is not a change."""
    return before != after and None not in {before, after}


def _in_config(name: str, config: Mapping[str, Any]) -> str:
    option = SECRETS.get(name)
    for place in option.places if option else ():
        present, value = value_at(config, place.path)
        if present and isinstance(value, str | int):
            return str(value)
    return ""


T = TypeVar("T")
log = logging.getLogger(__name__)

RUNS: frozenset[GatewayState] = frozenset({"starting", "running", "working", "degraded"})
SETTLE_S = 0.15
"""Seconds without a write before a file is read."""
SETTLE_LOOKS = 20
READS = 3
"""How many times files are reread because they were written during the read."""
SECOND_LOOK_S = 0.4
"""Seconds before a second read of a file that cannot be parsed, as it may be half-written."""
_BROKEN, _PLATFORMS, _WAITING = "settings-broken", "settings-platforms", "settings-waiting"


class HostedGateway(Protocol):
    """The operations required of the gateway's host."""

    @property
    def state(self) -> GatewayState:
        """The current state."""
        ...

    @property
    def other_follows(self) -> bool:
        """Whether another gateway that hosts the home applies changed settings automatically."""
        ...

    async def restart(self) -> None:
        """Stop, re-read the settings and start."""
        ...

    async def replace_config(self, config: GatewayConfig) -> ConfigReplaced:
        """Apply other settings."""
        ...


@dataclass(frozen=True, slots=True)
class SettingsSources:
    """The sources of the settings. The calls block and raise :class:`HermesError`.

    Attributes:
        take: Returns all current settings and secrets, for comparison.
        load: Returns the gateway's configuration; refused where it would admit everyone.
        worker: The worker thread for both.
        settling: Starts a check for ongoing writes; the function it returns is called until it
            returns True, when there are none.
        calm: Returns the file system's data on the files, for comparison; None while one is being
            written.
    """

    take: Callable[[], Snapshot]
    load: Callable[[], LoadedGatewayConfig]
    worker: WorkerThreads
    settling: Callable[[], Callable[[], bool]] = lambda: lambda: True
    calm: Callable[[], object | None] = lambda: True


@dataclass(frozen=True, slots=True)
class Followed:
    """The result of applying changed settings.

    Attributes:
        changes: The changes that were published.
        replaced: How the gateway applied them.
        trouble: Why the gateway continues with the old settings; None if it does not.
    """

    changes: tuple[SettingChanged, ...] = ()
    replaced: ConfigReplaced = field(default_factory=ConfigReplaced)
    trouble: HermesError | None = None


class LiveReload:
    """Follows the settings of a home. Everything is called on the event loop.

    Args:
        parts: The sources of the settings.
        gateway: The gateway host; None where there is none.
        bus: The event bus for :class:`SettingsChanged`, and for notices about changes made
            elsewhere.
    """

    def __init__(
        self, parts: SettingsSources, gateway: HostedGateway | None, bus: EventBus
    ) -> None:
        self._parts = parts
        self._gateway = gateway
        self._bus = bus
        self._known: Snapshot | None = None
        self._alone = asyncio.Lock()
        self._tasks = TaskSet()
        self._look_due = False
        self._closed = False
        self._told: set[str] = set()
        self._ran = False
        if gateway is not None:
            bus.subscribe(GatewayStatusChanged, self._gateway_changed)

    async def open(self) -> None:
        """Record the current settings; changes from here on are detected."""
        async with self._alone:
            if self._known is None:
                try:
                    # Read now, even while a file is being written: a later snapshot would hide
                    # changes made in between. The next check corrects what was read partially.
                    self._known = await self._parts.worker.run(self._parts.take)
                except HermesError as error:
                    self._tell_broken(error)

    def alone(self) -> AbstractAsyncContextManager[None]:
        """Return the lock that is held during a change here, until :meth:`changed_here` returns."""
        return self._alone

    async def changed_here(self, own: tuple[SettingChanged, ...]) -> Followed:
        """Publish a change made by us, and apply it to the running program.

        Args:
            own: The change; any other differences found are published with it.
        """
        if not own:
            return Followed()
        trouble: HermesError | None = None
        foreign: tuple[SettingChanged, ...] = ()
        try:
            foreign = await self._difference()
        except HermesError as error:
            trouble = error
        keys = {change.key for change in own}
        changes = (*own, *(change for change in foreign if change.key not in keys))
        self._bus.publish(SettingsChanged(changes))
        return await self._follow(changes, trouble)

    def noticed(self) -> None:
        """Handle a changed file: check immediately, or again after the current check."""
        if not self._look_due and not self._closed:
            self._look_due = True
            self._tasks.start(self._changed_elsewhere(), name="settings changed elsewhere")

    async def close(self) -> None:
        """Stop following; the file watcher may still report changes for a moment."""
        self._closed = True
        await self._tasks.cancel_all()

    def end(self) -> None:
        """Stop the worker; never waits."""
        self._parts.worker.close()

    # Changes made elsewhere

    async def _changed_elsewhere(self) -> None:
        async with self._alone:
            await self._nobody_writes()
            self._look_due = False
            try:
                changes = await self._difference_soon()
            except HermesError as error:
                self._tell_broken(error)
                return
            self._clear(_BROKEN)
            if changes:
                log.info("Changed elsewhere: %s", ", ".join(change.key for change in changes))
                self._bus.publish(SettingsChanged(changes))
            self._tell(await self._follow(changes, None))

    async def _nobody_writes(self) -> None:
        """Wait until a file that is being written is complete, as far as that can be determined."""
        is_settled = self._parts.settling()
        for _ in range(SETTLE_LOOKS):
            if await self._parts.worker.run(is_settled):
                return
            await asyncio.sleep(SETTLE_S)

    async def _difference_soon(self) -> tuple[SettingChanged, ...]:
        """Return the differences; a file that cannot be parsed is read again after a pause."""
        try:
            return await self._difference()
        except HermesError:
            await asyncio.sleep(SECOND_LOOK_S)
            return await self._difference()

    async def _difference(self) -> tuple[SettingChanged, ...]:
        before, self._known = self._known, await self._read(self._parts.take)
        return () if before is None else differences(before, self._known)

    async def _read(self, read: Callable[[], T]) -> T:
        """Read files while no other program writes them; after some tries, read them as they are.

        An editor empties a file and then fills it. Read in between, the file names no platform, and
        the gateway would disconnect all of them.
        """
        for _ in range(READS):
            found = await self._parts.worker.run(self._read_whole, read)
            if found is not None:
                return found[0]
            await self._nobody_writes()
        return await self._parts.worker.run(read)

    def _read_whole(self, read: Callable[[], T]) -> tuple[T] | None:
        """Return the result of ``read``; None if a file was written during it. Blocking."""
        before = self._parts.calm()
        if before is None:
            return None
        try:
            found = read()
        except HermesError:
            if before == self._parts.calm():
                raise
            return None
        return (found,) if before == self._parts.calm() else None

    async def _follow(
        self, changes: tuple[SettingChanged, ...], trouble: HermesError | None
    ) -> Followed:
        if trouble is not None or self._gateway is None:
            return Followed(changes, trouble=trouble)
        try:
            loaded = await self._read(self._parts.load)
        except HermesError as error:
            return Followed(changes, trouble=error)
        return Followed(changes, await self._gateway.replace_config(loaded.config))

    def _gateway_changed(self, status: GatewayStatusChanged) -> None:
        """Apply changes made between the gateway's read of the settings and its start."""
        runs = status.state in RUNS - {"starting"}
        if runs and not self._ran and self._known is not None:
            self.noticed()
        self._ran = runs

    # Notices

    def _tell(self, followed: Followed) -> None:
        if followed.trouble is not None:
            self._tell_broken(followed.trouble)
        refused = [each for each in followed.replaced.platforms if not each.ok]
        if refused:
            self._note(_platforms_notice(refused))
        elif followed.replaced.platforms:
            self._clear(_PLATFORMS)
        waiting = followed.replaced.after_restart
        if waiting:
            self._note(_waiting_notice(waiting))
        else:
            self._clear(_WAITING)

    def _tell_broken(self, error: HermesError) -> None:
        log.warning("Changed settings are not used: %s", error)
        self._note(
            Notice(
                "warning",
                error.title,
                error.detail,
                f"{error.hint} Until then, the previous settings stay in use.".strip(),
                key=_BROKEN,
            )
        )

    def _note(self, notice: Notice) -> None:
        self._told.add(notice.key)
        self._bus.publish(notice)

    def _clear(self, key: str) -> None:
        if key in self._told:
            self._told.discard(key)
            self._bus.publish(NoticeCleared(key))


def _platforms_notice(refused: list[PlatformOutcome]) -> Notice:
    names = ", ".join(each.platform for each in refused)
    return Notice(
        "warning",
        f"{names} cannot be connected with the new settings.",
        " ".join(f"{each.platform}: {each.words}" for each in refused),
        "Check the settings of the platform.",
        key=_PLATFORMS,
    )


def _waiting_notice(waiting: tuple[str, ...]) -> Notice:
    return Notice(
        "info",
        "Some changed settings take effect when the gateway restarts.",
        f"In config.yaml: {', '.join(waiting)}.",
        "Restart the gateway when you are ready.",
        key=_WAITING,
    )


# ------------------------------------------------------------------------------
# Detection of changes that another program or an editor made to the sources of settings.

Stamp = tuple[int, int, int] | None

_LOOKS_AT_EMPTY = 3


class SettingsWatch:
    """Compares the file system's data on the files with those of the last check.

    Blocking, one thread. A check takes about 15 µs: a window makes several a second. A change of
    the keyring shows in the index of stored secrets, which is written with every change.

    Args:
        paths: The home.
        more: Files in addition to those of the home.
        clock: The clock that determines how long ago a file was written.
    """

    def __init__(
        self, paths: HermesPaths, more: Sequence[Path] = (), clock: Clock | None = None
    ) -> None:
        # The other files are ours and are always replaced atomically.
        edited = (paths.config_yaml, paths.env_file, paths.home / "gateway.json")
        self._edited = tuple(SharedFile(file, clock) for file in edited)
        self._files = tuple(
            os.fspath(file)
            for file in (
                paths.config_yaml,
                paths.env_file,
                paths.home / "gateway.json",
                paths.desktop_dir / SETTINGS_NAME,
                paths.desktop_dir / INDEX_NAME,
                paths.desktop_dir / FILE_NAME,
                *more,
            )
        )
        self._seen = self.stamps()

    def look(self) -> bool:
        """Return whether a file changed since the last check."""
        before, self._seen = self._seen, self.stamps()
        return before != self._seen

    def stamps(self) -> tuple[Stamp, ...]:
        """Return the file system's data on each file; None for those that do not exist."""
        return tuple(map(_stamp, self._files))

    def calm(self) -> tuple[Stamp, ...] | None:
        """Return :meth:`stamps`; None while another program may be in the middle of writing."""
        stamps = self.stamps()
        return None if any(file.rest() for file in self._edited) else stamps

    @property
    def settled(self) -> Callable[[], bool]:
        """A function that returns whether no file was written since its previous call.

        An empty file is assumed to be in the middle of a write, for three calls.
        """
        return _Settling(self).look


class _Settling:
    """Waits for a program that empties a file before writing it."""

    def __init__(self, watch: SettingsWatch) -> None:
        self._watch = watch
        self._seen: tuple[Stamp, ...] | None = None
        self._empty = 0

    def look(self) -> bool:
        before, self._seen = self._seen, self._watch.stamps()
        if any(stamp is not None and not stamp[2] for stamp in self._seen):
            self._empty += 1
            return self._empty > _LOOKS_AT_EMPTY
        return before == self._seen


def _stamp(file: str) -> Stamp:
    """Return inode, time and size; for a symbolic link, those of its target."""
    try:
        found = os.stat(file)  # noqa: PTH116 - Path.stat takes three times as long
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
