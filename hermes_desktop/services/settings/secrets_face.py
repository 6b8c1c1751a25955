"""The part of the settings service that handles secrets for the window."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, partial

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.concurrency.stoppable import CancellableRunner
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.core.events import SettingChanged
from hermes_desktop.services.secrets.secrets_book import Kept, SecretsBook, SecretView
from hermes_desktop.services.settings.applied import Applied, PlatformChecked
from hermes_desktop.services.settings.live_settings import LiveReload
from hermes_desktop.services.settings.settings_book import Saved
from hermes_desktop.services.settings.settings_snapshot import secret_change_event
from hermes_desktop.settings.secrets import Reading


class SecretsService(ABC):
    """Lists, moves and stores secrets; keyring calls run off the event loop."""

    _secrets: SecretsBook
    _keyring: WorkerThreads
    _live: LiveReload
    _asking: CancellableRunner

    @cached_property
    def _removed(self) -> dict[str, Kept]:
        return {}

    @abstractmethod
    async def _announce(
        self,
        saved: Saved,
        more: tuple[SettingChanged, ...] = (),
        checked: tuple[PlatformChecked, ...] = (),
    ) -> Applied:
        """Apply a change to the running program, and return the result."""

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

        Raises as :meth:`SecretsBook.move`.
        """
        return await self._with_secret(name, self._secrets.move)

    async def move_secret_back(self, name: str) -> Applied:
        """Move a secret from the keyring to ``.env``. Raises as :meth:`SecretsBook.move_back`."""
        return await self._with_secret(name, self._secrets.move_back)

    async def remove_secret(self, name: str) -> Applied:
        """Remove a secret from the keyring. Raises as :meth:`SecretsBook.remove`."""

        def remove(name: str) -> None:
            kept = self._secrets.remove(name)
            if kept is not None:
                self._removed[name] = kept

        return await self._with_secret(name, remove)

    async def restore_secret(self, name: str) -> Applied:
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
        """Return whether :meth:`restore_secret` has something to restore."""
        return name in self._removed

    async def keep_plain(self, name: str, value: str) -> Applied:
        """Store a secret in a file (0600) instead of a keyring, at the user's request.

        Raises:
            HermesError: As in :meth:`SecretsBook.keep`.
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
