"""The settings of a home: lookup, explanation, validation, changes and restore. Blocking.

Shared by the command line and the window; the window uses it through ``settings_service``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.agent.options.config_options import AGENT_OPTIONS
from hermes_desktop.agent.options.tool_options import TOOL_OPTIONS
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError, NotFoundError
from hermes_desktop.core.events import SettingChanged
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS
from hermes_desktop.services.login.system_settings import SystemSettings
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.settings.desktop_config import (
    DESKTOP_OPTIONS,
    SETTINGS_NAME,
    DesktopConfig,
    read_desktop_config,
)
from hermes_desktop.services.settings.history_options import HISTORY_OPTIONS
from hermes_desktop.services.settings.settings_placing import edits_for
from hermes_desktop.services.settings.settings_reading import (
    Layers,
    SettingView,
    Source,
    UnknownKey,
    deciding_place,
    line_finder,
    path_in,
    seen_now,
    unknown_keys,
    view_of,
)
from hermes_desktop.services.settings.wished_settings import PreviewedSettings, preview_settings
from hermes_desktop.settings.config_patch import Edit
from hermes_desktop.settings.config_store import ConfigStore, Seen, Written
from hermes_desktop.settings.config_versions import Version
from hermes_desktop.settings.env_file import read_env_file
from hermes_desktop.settings.json_file import read_json_settings
from hermes_desktop.settings.options import Option
from hermes_desktop.settings.safe_replacement import is_managed
from hermes_desktop.settings.secret_index import SecretIndex

OPTIONS: Mapping[str, Option] = {
    option.key: option
    for option in (
        *AGENT_OPTIONS,
        *TOOL_OPTIONS,
        *GATEWAY_OPTIONS,
        *HISTORY_OPTIONS,
        *DESKTOP_OPTIONS,
    )
}


@dataclass(frozen=True, slots=True)
class Change:
    """A requested change of one setting.

    Attributes:
        key: The setting.
        value: The new value, of the setting's type.
        unset: Restore the default instead.
        seen: The content of the file when the user looked (:attr:`SettingView.seen`); if it differs
            now, the change is refused.
    """

    key: str
    value: Any = None
    unset: bool = False
    seen: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """The result of a change.

    Attributes:
        diff: The difference in the files, secrets hidden; "" when nothing changed.
        notes: Additional remarks, in sentences.
        changes: The changed settings, each with when it takes effect.
    """

    diff: str
    notes: tuple[str, ...] = ()
    changes: tuple[SettingChanged, ...] = ()


class SettingsBook:
    """Everything that can be set, except secrets.

    Args:
        paths: The home.
        environ: The process environment, without any keyring behind it.
        clock: The clock that names the versions.
        system: The settings that the system stores; None: those of this machine.
    """

    def __init__(
        self,
        paths: HermesPaths,
        environ: Mapping[str, str],
        clock: Clock,
        *,
        system: SystemSettings | None = None,
    ) -> None:
        self._paths = paths
        self._environ = environ
        self.system = system or SystemSettings(paths, environ)
        self.managed = is_managed(paths.home, environ)
        self.config = ConfigStore(paths.config_yaml, paths.desktop_dir, clock, managed=self.managed)
        self._desktop = ConfigStore(
            paths.desktop_dir / SETTINGS_NAME, paths.desktop_dir, clock, versions=False
        )

    # ------------------------------------------------------------------------------- reading

    def look(self, words: str = "") -> list[SettingView]:
        """Return settings, in the order of their sections.

        Args:
            words: Leave out settings that do not have all of these in their name, label or help.

        Raises:
            ConfigError: A file cannot be parsed.
        """
        layers = self.layers()
        line = line_finder(layers.text)
        wanted = words.lower().split()
        return [
            view_of(option, layers, line)
            for option in OPTIONS.values()
            if all(word in _searched(option) for word in wanted)
        ]

    def values(self) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Return the effective values, and all of config.yaml. Raises :class:`ConfigError`."""
        layers = self.layers()
        views = (view_of(option, layers, lambda _: 0) for option in OPTIONS.values())
        return {view.key: view.value for view in views}, layers.config

    def find(self, key: str) -> SettingView:
        """Return one setting.

        Raises:
            NotFoundError: There is none of that name.
            ConfigError: A file cannot be parsed.
        """
        layers = self.layers()
        return view_of(find_option(key), layers, line_finder(layers.text))

    def unknown(self) -> list[UnknownKey]:
        """Return the other keys of config.yaml. Raises :class:`ConfigError`."""
        return list(unknown_keys(self.layers().text, _known_places()))

    def layers(self) -> Layers:
        """Read all layers again.

        Raises:
            ConfigError: A file cannot be parsed.
        """
        text, data = self.config.read()
        return Layers(
            config=data,
            text=text,
            desktop=self._desktop.read()[1],
            legacy=read_json_settings(self._paths.home / "gateway.json"),
            environ=self._environ,
            env_file=read_env_file(self._paths.env_file),
            system=self.system.read(),
            secrets=_kept_secrets(self._paths),
        )

    def desktop(self) -> DesktopConfig:
        """Return the desktop program's own settings; see :func:`read_desktop_config`."""
        return read_desktop_config(self._paths)

    # ------------------------------------------------------------------------------- changing

    def save(self, changes: Sequence[Change], *, dry_run: bool = False) -> Saved:
        """Validate all changes, then write; nothing is written if one is refused.

        Args:
            changes: The changes.
            dry_run: Only return what would be written.

        Raises:
            InvalidValueError: A value is invalid; ``key`` says which.
            NotFoundError: There is no such setting.
            RefusedError: The home is managed, a value was changed elsewhere meanwhile, or the file
                is written in a way in which the value cannot be changed alone.
            ConfigError: A file cannot be parsed or written.
        """
        self.config.wait_until_settled()
        layers = self.layers()
        wanted = _Wanted()
        for change in changes:
            wanted.add(change, layers)
        diff = self.system.preview(wanted.system)
        undo = self.system.change(wanted.system) if not dry_run else None
        try:
            written = self._write(wanted, dry_run=dry_run)
        except BaseException:
            if undo is not None:
                undo()
            raise
        diff, notes = diff + written.diff, list(written.notes)
        if not dry_run:
            self._must_count(changes)
            notes += self._overridden(changes)
        return Saved(
            diff, tuple(notes), change_events(change.key for change in changes) if diff else ()
        )

    def _write(self, wanted: "_Wanted", *, dry_run: bool) -> Written:
        """Write both files, or neither."""
        diff = ""
        notes: list[str] = []
        saved: list[ConfigStore] = []
        try:
            for name, file in (("config", self.config), ("desktop", self._desktop)):
                edits = wanted.edits[name]
                if edits:
                    done = file.preview(edits) if dry_run else file.save(edits, wanted.seen[name])
                    saved.append(file)
                    diff += done.diff
                    notes += done.notes
        except BaseException:
            for file in saved:
                if not dry_run:
                    file.take_back()
            raise
        return Written(diff, tuple(notes))

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        """Return the edits of config.yaml for some changes. Raises as :meth:`save`."""
        if not changes:
            return []
        layers = self.layers()
        found: list[Edit] = []
        for change in changes:
            option = find_option(change.key)
            value = None if change.unset else option.check(change.value)
            if option.store == "config":
                found += edits_for(option, value, layers, OPTIONS, unset=change.unset)
        return found

    def wished(self, changes: Sequence[Change]) -> PreviewedSettings:
        """Return the settings that would apply after some changes. Raises as :meth:`save`."""
        return preview_settings(self._paths, self._environ, self.edits(changes))

    def restore(self, version: Version, *, dry_run: bool = False) -> Saved:
        """Restore an earlier version of config.yaml as a whole. Raises as :meth:`save`."""
        before = {} if dry_run else self._values()
        done = self.config.restore(version, dry_run=dry_run)
        after = before if dry_run else self._values()
        changed = [key for key in OPTIONS if before.get(key) != after.get(key)]
        return Saved(done.diff, done.notes, change_events(changed))

    def _values(self) -> dict[str, Any]:
        try:
            return self.values()[0]
        except ConfigError:
            return {}

    def _must_count(self, changes: Sequence[Change]) -> None:
        """Read back what was written, as the program will."""
        layers = self.layers()
        for change in changes:
            option = find_option(change.key)
            _, is_set, stored = deciding_place(option, layers.file_of(option))
            off = change.value is None or (option.store == "system" and not change.value)
            if not self.config.stands() or not self._desktop.stands():
                return  # by another program that wrote right after us
            if is_set is change.unset and not (is_set is False and off):
                raise ConfigError(
                    f"“{option.label}” was written and is not read back.",
                    f"{change.key} is {stored!r} in the file.",
                    "Restore the version before with `hermes-desktop config restore 1`.",
                )

    def _overridden(self, changes: Sequence[Change]) -> list[str]:
        views = [self.find(change.key) for change in changes]
        return [
            f"{view.key}: the variable {view.place} ({view.source}) overrides the file."
            for view in views
            if view.overridden
        ]


def _kept_secrets(paths: HermesPaths) -> Mapping[str, Source]:
    """Return which secrets we store, by our own list; the keyring is not queried."""
    index = SecretIndex(paths.desktop_dir)
    keyring: Source = "keyring"
    plain: Source = "plain file"
    kept = {**dict.fromkeys(index.read("plain"), plain)}
    return kept | dict.fromkeys(index.read("keyring"), keyring)


class _Wanted:
    """The edits that changes require, grouped by store."""

    def __init__(self) -> None:
        self.edits: dict[str, list[Edit]] = {"config": [], "desktop": []}
        self.seen: dict[str, list[Seen]] = {"config": [], "desktop": []}
        self.system: dict[str, Any] = {}

    def add(self, change: Change, layers: Layers) -> None:
        """Validate a change and add it. Raises as :meth:`SettingsBook.save`."""
        option = find_option(change.key)
        value = None if change.unset else option.check(change.value)
        if option.store == "system":
            name = path_in(option, option.all_places()[0])[0]
            self.system[name] = option.default if change.unset else value
            return
        self.edits[option.store] += edits_for(option, value, layers, OPTIONS, unset=change.unset)
        self.seen[option.store] += change.seen or seen_now(option, layers.file_of(option))


def find_option(key: str) -> Option:
    """Return the setting of that name, or of a place where it may be stored.

    Raises:
        NotFoundError: There is none.
    """
    wanted = key.strip()
    if wanted in OPTIONS:
        return OPTIONS[wanted]
    for option in OPTIONS.values():
        if any(place.key == wanted for place in option.all_places()):
            return option
    if wanted in SECRETS:
        raise NotFoundError(
            f"{wanted} is a secret, not a setting.",
            "",
            f"Use `hermes-desktop secrets set {wanted}`.",
        )
    last = wanted.rpartition(".")[2]
    close = [name for name in OPTIONS if last and last in name][:4]
    raise NotFoundError(
        f"There is no setting “{wanted}”.",
        f"Near it: {', '.join(close)}." if close else "",
        "See all with `hermes-desktop config list`; other keys of config.yaml are changed by hand.",
    )


def _searched(option: Option) -> str:
    return f"{option.key} {option.label} {option.help} {option.section}".lower()


def _known_places() -> frozenset[tuple[str, ...]]:
    declared = [place.path for option in OPTIONS.values() for place in option.all_places()]
    secrets = [place.path for secret in SECRETS.values() for place in secret.places]
    return frozenset((*declared, *secrets))


def change_events(keys: Iterable[str]) -> tuple[SettingChanged, ...]:
    """Return change events for settings, each with when it takes effect."""
    options = [find_option(key) for key in keys]
    return tuple(
        SettingChanged(option.key, option.effect.value, option.platform) for option in options
    )
