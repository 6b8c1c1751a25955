"""Snapshots of all settings and secrets of a home, which can be compared."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.events import SettingChanged
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.settings.settings_book import OPTIONS, SettingsBook, change_events
from hermes_desktop.settings.config_patch import value_at
from hermes_desktop.settings.env_file import read_env_file
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.options import Effect
from hermes_desktop.settings.secret_masking import is_secret_key


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All settings and secrets at one moment.

    Attributes:
        values: The effective values, by setting.
        others: Top-level groups of config.yaml, with everything in them.
        secrets: Digests by variable, meaningful in this process alone; None where the keyring holds
            the secret and does not return it.
    """

    values: Mapping[str, Any]
    others: Mapping[str, Any]
    secrets: Mapping[str, str | None]


class SnapshotTaker:
    """Takes snapshots. Blocking: files, and the keyring for some seconds at most.

    Args:
        paths: The home.
        book: Its settings.
        environ: The environment, with the keyring behind it.
    """

    def __init__(
        self, paths: HermesPaths, book: SettingsBook, environ: EnvironmentWithSecrets
    ) -> None:
        self._paths = paths
        self._book = book
        self._environ = environ
        self._salt = secrets.token_bytes(16)

    def take(self) -> Snapshot:
        """Take a snapshot. Raises :class:`ConfigError` if a file cannot be parsed."""
        values, config = self._book.values()
        return Snapshot(values, config, self._secrets(config))

    def _secrets(self, config: Mapping[str, Any]) -> dict[str, str | None]:
        env_file = read_env_file(self._paths.env_file)
        kept = {*self._environ.store.names(), *self._environ.plain.read()}
        listed = {name for name in env_file if is_secret_key(name)}
        troubles = self._environ.troubles()
        found: dict[str, str | None] = {}
        for name in sorted({*SECRETS, *kept, *listed}):
            value = self._environ.get(name) or env_file.get(name) or _in_config(name, config)
            if name in troubles:
                found[name] = None
            elif value:
                found[name] = hashlib.blake2b(value.encode(), key=self._salt).hexdigest()
        return found


def differences(before: Snapshot, after: Snapshot) -> tuple[SettingChanged, ...]:
    """Return what differs: settings, secrets, and groups in which only other keys changed."""
    keys = [key for key in OPTIONS if before.values.get(key) != after.values.get(key)]
    names = [
        name
        for name in dict.fromkeys((*before.secrets, *after.secrets))
        if _is_other(before.secrets.get(name, ""), after.secrets.get(name, ""))
    ]
    found = [*change_events(keys), *(secret_change_event(name) for name in names)]
    if not found:
        groups = dict.fromkeys((*before.others, *after.others))
        other = [name for name in groups if before.others.get(name) != after.others.get(name)]
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
