"""The settings of a home: lookup, explanation, validation, changes and restore. Blocking.

Shared by the command line and the window; the window uses it through ``settings_service``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hermes_desktop.agent.options.config_options import AGENT_OPTIONS
from hermes_desktop.agent.options.tool_options import TOOL_OPTIONS
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError, NotFoundError
from hermes_desktop.core.events import SettingChanged
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.services.login.login_system import SystemSettings
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.settings.desktop_config import (
    DESKTOP_OPTIONS,
    SETTINGS_NAME,
    DesktopConfig,
    read_desktop_config,
)
from hermes_desktop.services.settings.gateway_settings import SettingsFiles, read_gateway_config
from hermes_desktop.services.settings.history_options import HISTORY_OPTIONS
from hermes_desktop.services.settings.settings_reading import (
    Layers,
    SettingView,
    Source,
    UnknownKey,
    changed_sources,
    deciding_place,
    effective_value,
    line_finder,
    path_in,
    seen_now,
    sources_of,
    unknown_keys,
    view_of,
    visible_places,
)
from hermes_desktop.settings.config_patch import Edit, patch_config, value_at
from hermes_desktop.settings.config_store import ConfigStore, Seen, Written
from hermes_desktop.settings.config_versions import Version
from hermes_desktop.settings.options import Option, Place
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


@dataclass(frozen=True, slots=True)
class PreviewedSettings:
    """Settings as they would be.

    Attributes:
        config: config.yaml.
        gateway: The gateway's configuration from it, variables included, the keyring left out.
    """

    config: Mapping[str, Any]
    gateway: GatewayConfig


class SettingsRepository:
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
        self.files = SettingsFiles(paths)
        self.config = ConfigStore(
            paths.config_yaml,
            paths.desktop_dir,
            clock,
            managed=self.managed,
            cached=self.files.config_file,
        )
        self._desktop = ConfigStore(
            paths.desktop_dir / SETTINGS_NAME, paths.desktop_dir, clock, versions=False
        )
        self._index = SecretIndex(paths.desktop_dir)
        self._plan: _Plan | None = None

    # ------------------------------------------------------------------------------- reading

    def look(self, words: str = "") -> list[SettingView]:
        """Return settings, in the order of their sections.

        Args:
            words: Leave out settings that do not have all of these in their name, label or help.

        Raises:
            ConfigError: A file cannot be parsed.
        """
        layers = self.layers()
        line = line_finder(layers.document.text)
        wanted = words.lower().split()
        return [
            view_of(option, layers, line)
            for option in OPTIONS.values()
            if all(word in _searched(option) for word in wanted)
        ]

    def values(self) -> dict[str, Any]:
        """Return the effective values. Raises :class:`ConfigError`."""
        layers = self.layers()
        return {key: effective_value(option, layers).value for key, option in OPTIONS.items()}

    def find(self, key: str) -> SettingView:
        """Return one setting.

        Raises:
            NotFoundError: There is none of that name.
            ConfigError: A file cannot be parsed.
        """
        layers = self.layers()
        return view_of(find_option(key), layers, line_finder(layers.document.text))

    def unknown(self) -> list[UnknownKey]:
        """Return the other keys of config.yaml. Raises :class:`ConfigError`."""
        return list(unknown_keys(self.config.read().text, _known_places()))

    def layers(self) -> Layers:
        """Return all layers as they are now.

        Raises:
            ConfigError: A file cannot be parsed.
        """
        return Layers(
            document=self.files.config(),
            desktop=self._desktop.read().values,
            legacy=self.files.legacy(),
            environ=self._environ,
            env_file=self.files.variables(),
            system=self.system.read(),
            secrets=_stored_secrets(self._index),
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
            RefusedError: The home is managed, a value has been changed elsewhere, or the file
                is written in a way in which the value cannot be changed alone.
            ConfigError: A file cannot be parsed or written.
        """
        plan = self._planned(changes)
        diff = self.system.preview(plan.system)
        undo = self.system.change(plan.system) if not dry_run else None
        try:
            written = self._write(plan, dry_run=dry_run)
        except BaseException:
            if undo is not None:
                undo()
            raise
        diff, notes = diff + written.diff, list(written.notes)
        if not dry_run:
            self._plan = None
            self._must_count(changes)
            notes += _overridden(changes, self.layers())
        return Saved(
            diff, tuple(notes), change_events(change.key for change in changes) if diff else ()
        )

    def _planned(self, changes: Sequence[Change]) -> "_Plan":
        """Return the edits that changes require; those of a preview, if its files are unchanged."""
        self.config.wait_until_settled()
        layers, known = self.layers(), self._plan
        if known is None or not known.is_for(changes, layers):
            known = self._plan = _Plan(changes, layers)
        return known

    def _write(self, plan: "_Plan", *, dry_run: bool) -> Written:
        """Write both files, or neither."""
        diff = ""
        notes: list[str] = []
        saved: list[ConfigStore] = []
        try:
            for name, file in (("config", self.config), ("desktop", self._desktop)):
                edits = plan.edits[name]
                if edits:
                    done = file.preview(edits) if dry_run else file.save(edits, plan.seen[name])
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

    def preview_after(self, changes: Sequence[Change]) -> PreviewedSettings:
        """Return the settings that would apply after some changes. Raises as :meth:`save`."""
        config, edits = self.files.config(), self.edits(changes)
        if edits:
            config = patch_config(config, edits).config
        gateway = read_gateway_config(self._paths, self._environ, files=self.files, config=config)
        return PreviewedSettings(config.values, gateway.config)

    def restore(self, version: Version, *, dry_run: bool = False) -> Saved:
        """Restore an earlier version of config.yaml as a whole. Raises as :meth:`save`."""
        before = {} if dry_run else self._values()
        done = self.config.restore(version, dry_run=dry_run)
        after = before if dry_run else self._values()
        changed = [key for key in OPTIONS if before.get(key) != after.get(key)]
        return Saved(done.diff, done.notes, change_events(changed))

    def _values(self) -> dict[str, Any]:
        try:
            return self.values()
        except ConfigError:
            return {}

    def _must_count(self, changes: Sequence[Change]) -> None:
        """Read back what was written, as the program will."""
        layers = self.layers()
        for change in changes:
            option = find_option(change.key)
            _, is_set, stored = deciding_place(option, layers.file_of(option))
            off = change.value is None or (option.store == "system" and not change.value)
            if is_set is not change.unset or (is_set is False and off):
                continue
            if not self.config.stands() or not self._desktop.stands():
                return  # by another program that wrote right after us
            raise ConfigError(
                f"“{option.title}” was written but could not be read back.",
                f"{change.key} is {stored!r} in the file.",
                "To restore the previous version, run `hermes-desktop config restore 1`.",
            )


def _overridden(changes: Sequence[Change], layers: Layers) -> Iterator[str]:
    for change in changes:
        option = find_option(change.key)
        now = effective_value(option, layers)
        if now.overridden:
            yield f"{option.key}: the variable {now.place} ({now.source}) overrides the file."


def _stored_secrets(index: SecretIndex) -> Mapping[str, Source]:
    """Return which secrets we store, by our own list; the keyring is not queried."""
    keyring: Source = "keyring"
    plain: Source = "plain file"
    stores = index.read()
    return {
        **dict.fromkeys(stores.get("plain", {}), plain),
        **dict.fromkeys(stores.get("keyring", {}), keyring),
    }


class _Plan:
    """The edits that changes require, grouped by store.

    Args:
        changes: The changes.
        layers: The content of all files.

    Raises:
        InvalidValueError: A value is invalid.
        NotFoundError: There is no such setting.
    """

    def __init__(self, changes: Sequence[Change], layers: Layers) -> None:
        self.edits: dict[str, list[Edit]] = {"config": [], "desktop": []}
        self.seen: dict[str, list[Seen]] = {"config": [], "desktop": []}
        self.system: dict[str, Any] = {}
        self._changes = changes
        self._layers = layers
        for change in changes:
            self._add(change)

    def is_for(self, changes: Sequence[Change], layers: Layers) -> bool:
        """Return whether it holds for these changes and contents, too."""
        return (
            changes is self._changes
            and layers.document is self._layers.document
            and layers.desktop is self._layers.desktop
        )

    def _add(self, change: Change) -> None:
        option = find_option(change.key)
        value = None if change.unset else option.check(change.value)
        if option.store == "system":
            name = path_in(option, option.all_places()[0])[0]
            self.system[name] = option.default if change.unset else value
            return
        layers = self._layers
        self.edits[option.store] += edits_for(option, value, layers, OPTIONS, unset=change.unset)
        self.seen[option.store] += change.seen or seen_now(option, layers.file_of(option))


@cache
def _options_by_source() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for option in OPTIONS.values():
        for source in sources_of(option):
            found.setdefault(source, []).append(option.key)
    return found


def changed_settings(before: Layers, after: Layers) -> list[str]:
    """Return the settings whose effective values differ, in the order of their declaration."""
    by_source = _options_by_source()
    maybe = {key for source in changed_sources(before, after) for key in by_source.get(source, ())}
    return [
        key
        for key in OPTIONS
        if key in maybe
        and effective_value(OPTIONS[key], before).value
        != effective_value(OPTIONS[key], after).value
    ]


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
        f"Similar: {', '.join(close)}." if close else "",
        "List all with `hermes-desktop config list`; change other keys of config.yaml by hand.",
    )


def _searched(option: Option) -> str:
    return f"{option.key} {option.title} {option.help} {option.section}".lower()


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


# ------------------------------------------------------------------------------
# Placement of a changed setting in a file: where it is, beside its siblings, or at the top.


def edits_for(
    option: Option, value: Any, layers: Layers, options: Mapping[str, Option], *, unset: bool
) -> list[Edit]:
    """Return the edits that a change of a setting requires in its file.

    Args:
        option: The setting.
        value: The new value.
        layers: The current content of all files.
        options: All settings: a new value is placed where this user keeps its siblings.
        unset: Remove the setting instead, wherever it occurs.
    """
    data = layers.file_of(option)
    if unset:
        return [
            Edit(path, remove=True)
            for path in (*(path_in(option, p) for p in option.all_places()), option.shorthand)
            if path and _stands_alone(option, path, data)
        ]
    place = _place_to_write(option, data, options)
    path = path_in(option, place)
    # A scalar in place of the group: `model: gpt-5`.
    group = next((o for o in options.values() if o.shorthand and o.shorthand == path[:-1]), None)
    if group is not None:
        present, single = value_at(data, group.shorthand)
        if present and isinstance(single, str) and single:
            first = group.all_places()[0].path[-1]
            return [Edit(group.shorthand, {first: single, path[-1]: value})]
    return [Edit(path, value)]


def _stands_alone(option: Option, path: tuple[str, ...], data: Mapping[str, Any]) -> bool:
    present, value = value_at(data, path)
    return present and (path != option.shorthand or isinstance(value, str))


def _place_to_write(
    option: Option, data: Mapping[str, Any], options: Mapping[str, Option]
) -> Place:
    """Return the current place; else one next to related keys; else the default place."""
    found, is_set, _ = deciding_place(option, data)
    if found is not None and (is_set or not found.only_found):
        return found
    places = [place for place in visible_places(option, data) if not place.only_found]
    for place in places:
        present, parent = value_at(data, path_in(option, place)[:-1])
        if len(place.path) > 1 and present and isinstance(parent, Mapping) and parent:
            inside_gateway = place.path[:-1] == ("gateway",)
            if not inside_gateway or _siblings_inside(data, options):
                return place
    inner = next((place for place in places if place.path[0] == "gateway"), None)
    if inner is not None and _siblings_inside(data, options):
        return inner
    return places[0]


def _siblings_inside(data: Mapping[str, Any], options: Mapping[str, Option]) -> bool:
    """Return whether this user keeps the gateway's settings inside ``gateway:``."""
    inner = data.get("gateway")
    names = {
        place.path[1]
        for option in options.values()
        for place in option.all_places()
        if place.path[0] == "gateway"
    }
    inside = names & set(inner) if isinstance(inner, Mapping) else set()
    return bool(inside) and not names & set(data)
