"""Effective values of settings, each with its source: file, variable or default, and line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import yaml

from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.settings.config_patch import value_at
from hermes_desktop.settings.config_store import Seen
from hermes_desktop.settings.options import InvalidValueError, Option, Place, Store
from hermes_desktop.settings.secret_masking import MASK, is_reference, is_secret_key
from hermes_desktop.settings.yaml_tree import ConfigText, Node, parse_tree

Source = Literal[
    "default",
    "config.yaml",
    "settings.yaml",
    "system",
    "gateway.json",
    "environment",
    ".env",
    "keyring",
    "plain file",
]
_SOURCES: Mapping[Store, Source] = {
    "config": "config.yaml",
    "desktop": "settings.yaml",
    "system": "system",
}

_LEGACY_NAMES = {"session_reset": "default_reset_policy"}
_LEGACY = frozenset(
    {
        "session_reset",
        "reset_by_type",
        "reset_by_platform",
        "session_store_max_age_days",
        "unauthorized_dm_behavior",
        "max_concurrent_sessions",
        "streaming",
        "platforms",
    }
)
_MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class SettingView:
    """The current state of one setting.

    Attributes:
        value: The effective value.
        source: The source that defines it.
        place: The dotted keys, or the variable's name; "" for a default.
        decisive: The place in the file that takes precedence, whether or not it contains a value.
        line: The line in config.yaml; 0 elsewhere.
        is_set: Whether a file that we may change holds a value, overridden or not.
        stored: That value.
        problem: What is wrong with it, as a sentence; another value applies then.
        seen: The content of all its places, to be passed along with a change.
        ignored: Other places in the file whose value applies nowhere, neither here nor for
            ``hermes``; dotted keys, each with its line.
        unavailable: Why it has no effect here, as a sentence; "" if it has.
    """

    option: Option
    value: Any
    source: Source
    place: str = ""
    decisive: Place | None = None
    line: int = 0
    is_set: bool = False
    stored: Any = None
    problem: str = ""
    seen: tuple[Seen, ...] = ()
    ignored: tuple[tuple[str, int], ...] = ()
    unavailable: str = ""

    @property
    def key(self) -> str:
        """The setting's name."""
        return self.option.key

    @property
    def is_default(self) -> bool:
        """Whether no source defines another value."""
        return self.source == "default"

    @property
    def is_explicit(self) -> bool:
        """Whether it was set explicitly, rather than switched on by the presence of a token."""
        present = any(self.place == names[0] for names in self.option.switched_on_by)
        return not self.is_default and not present

    @property
    def overridden(self) -> bool:
        """Whether a variable overrides the value in the file."""
        return self.is_set and self.source in {"environment", ".env"}


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key of config.yaml that is not declared here; only displayed."""

    key: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Layers:
    """All sources that may define a setting, as read.

    Attributes:
        document: config.yaml.
        desktop: Our own settings.yaml.
        legacy: gateway.json.
        environ: The process environment.
        env_file: ``.env``.
        system: The settings that the system stores.
        secrets: The secrets we store, and where each is stored; their values are never read.
    """

    document: ConfigText
    desktop: Mapping[str, Any]
    legacy: Mapping[str, Any]
    environ: Mapping[str, str]
    env_file: Mapping[str, str]
    system: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, Source] = field(default_factory=dict)

    @property
    def config(self) -> Mapping[str, Any]:
        """The parsed config.yaml."""
        return self.document.values

    def file_of(self, option: Option) -> Mapping[str, Any]:
        """Return the content of the store in which the setting is changed."""
        if option.store == "system":
            return self.system
        return self.config if option.store == "config" else self.desktop


def deciding_place(option: Option, data: Mapping[str, Any]) -> tuple[Place | None, bool, Any]:
    """Return the place that takes precedence, whether it contains a value, and the value."""
    if option.shorthand:
        present, value = value_at(data, option.shorthand)
        if present and isinstance(value, str):
            return Place(option.shorthand), bool(value), value
    for place in visible_places(option, data):
        present, value = value_at(data, path_in(option, place))
        if present and (value is not None or place.owns):
            return place, value is not None, value
        if place.owns and value_at(data, place.path[: place.owns])[0]:
            return place, False, None
    return None, False, None


def visible_places(option: Option, data: Mapping[str, Any]) -> Iterator[Place]:
    """Yield the places that are considered, given the current content of the file."""
    for place in option.all_places():
        if not place.hidden_by or not value_at(data, place.hidden_by)[0]:
            yield place


def effective_value(option: Option, layers: Layers) -> SettingView:
    """Return the state of a setting without its line and the content of all its places."""
    place, is_set, stored = deciding_place(option, layers.file_of(option))
    value, problem = _understood(option, stored) if is_set else (option.default, "")
    good = is_set and not problem
    source: Source = "default"
    key = ""
    if good and place is not None:
        source, key = _SOURCES[option.store], place.key
    found = _from_variables(option, layers)
    if found is not None and (option.variable_wins or not good):
        value, source, key = found
    elif source == "default":
        old = _from_legacy(option, layers.legacy)
        if old is not None:
            value, source, key = old[0], "gateway.json", old[1]
    there = bool(option.available_with and layers.environ.get(option.available_with, "").strip())
    return SettingView(
        option,
        value,
        source,
        key,
        decisive=place,
        is_set=is_set,
        stored=stored,
        problem=problem,
        unavailable="" if there else option.unavailable,
    )


def view_of(option: Option, layers: Layers, line: Callable[[Sequence[str]], int]) -> SettingView:
    """Return the current state of a setting."""
    view = effective_value(option, layers)
    seen = seen_now(option, layers.file_of(option))
    place = view.decisive
    if place is None or option.store != "config":
        return replace(view, seen=seen)
    ignored = tuple(
        (".".join(each.path), line(each.path))
        for each in seen
        if each.value is not None and each.path != place.path
    )
    return replace(view, line=line(place.path) if view.is_set else 0, seen=seen, ignored=ignored)


def changed_sources(before: Layers, after: Layers) -> set[str]:
    """Return what differs, as :func:`sources_of` names it."""
    changed: set[str] = set()
    for name, old, new in (
        ("config", before.config, after.config),
        ("desktop", before.desktop, after.desktop),
        ("system", before.system, after.system),
        ("variable", before.env_file, after.env_file),
        ("variable", before.secrets, after.secrets),
    ):
        if old is not new:
            both = {*old, *new}
            changed |= {f"{name}:{key}" for key in both if old.get(key) != new.get(key)}
    if before.legacy is not after.legacy and before.legacy != after.legacy:
        changed.add(_OLD_FILE)
    return changed


def sources_of(option: Option) -> set[str]:
    """Return all that a setting's value depends on: top-level keys of files, and variables."""
    places = [path_in(option, place) for place in option.all_places()]
    paths = (*places, *((option.shorthand,) if option.shorthand else ()))
    names = (*option.variables, *(name for group in option.switched_on_by for name in group))
    files = {f"{option.store}:{path[0]}" for path in paths}
    return {_OLD_FILE, *files, *(f"variable:{name}" for name in names)}


_OLD_FILE = "gateway.json"


def seen_now(option: Option, data: Mapping[str, Any]) -> tuple[Seen, ...]:
    """Return the content of each of its places."""
    paths = [path_in(option, place) for place in option.all_places()]
    if option.shorthand and not isinstance(value_at(data, option.shorthand)[1], Mapping):
        paths.append(option.shorthand)
    return tuple(Seen(path, *value_at(data, path)) for path in paths)


def line_finder(text: str) -> Callable[[Sequence[str]], int]:
    """Return a function that finds the line of a key, 0 where it cannot be determined."""
    root = _tree(text)

    def line(path: Sequence[str]) -> int:
        node, found = root, 0
        for name in path:
            pairs = node.pairs_with_key(name) if node is not None else []
            if not pairs:
                return found
            key, node = pairs[-1]
            found = key.line
        return found

    return line


def unknown_keys(text: str, known: frozenset[tuple[str, ...]]) -> Iterator[UnknownKey]:
    """Yield keys of config.yaml that belong to no setting declared here, secrets hidden.

    Args:
        text: The file.
        known: Every place of every setting and secret.
    """
    root = _tree(text)
    if root is not None:
        yield from _unknown_in(root, (), known)


def _unknown_in(
    node: Node, path: tuple[str, ...], known: frozenset[tuple[str, ...]]
) -> Iterator[UnknownKey]:
    for key, value in node.pairs:
        here = (*path, key.text)
        if here in known and value.kind != "mapping":
            continue
        if value.kind == "mapping" and any(each[: len(here)] == here for each in known):
            yield from _unknown_in(value, here, known)
        else:
            yield UnknownKey(".".join(here), _shown(key.text, value), key.line)


def _shown(name: str, value: Node) -> str:
    if value.kind == "mapping":
        return f"{len(value.pairs)} keys" if len(value.pairs) != 1 else "1 key"
    if value.kind == "list":
        return f"{len(value.items)} entries" if len(value.items) != 1 else "1 entry"
    if is_secret_key(name) and value.text and not is_reference(value.text):
        return MASK
    text = SecretRedactor().clean(" ".join(value.text.split()))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _tree(text: str) -> Node | None:
    try:
        return parse_tree(text, exact=False)[0]
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def path_in(option: Option, place: Place) -> tuple[str, ...]:
    """Return the keys in its file; our own file omits the leading name of the section."""
    return place.path if option.store == "config" else place.path[1:]


def _understood(option: Option, stored: Any) -> tuple[Any, str]:
    """Convert a stored value, or return the default and what is wrong with the value."""
    try:
        return option.check(stored), ""
    except InvalidValueError as error:
        problem = f"{error.detail} {option.allowed()}"
    words = ", ".join(map(str, stored)) if isinstance(stored, list | tuple) else stored
    if not isinstance(words, dict):
        try:
            return option.parse(
                "on" if words is True else "off" if words is False else str(words)
            ), ""
        except InvalidValueError:
            pass
    return option.default, problem


def _from_variables(option: Option, layers: Layers) -> tuple[Any, Source, str] | None:
    for name in option.variables:
        places: tuple[tuple[Mapping[str, str], Source], ...] = (
            (layers.environ, "environment"),
            (layers.env_file, ".env"),
        )
        for values, source in places:
            text = values.get(name, "").strip()
            if text:
                try:
                    return option.parse(text), source, name
                except InvalidValueError:
                    continue
    return _from_presence(option, layers)


def _from_presence(option: Option, layers: Layers) -> tuple[Any, Source, str] | None:
    """Return True for a switch that is on because the credentials for logging in are present."""
    for names in option.switched_on_by:
        found = [_where(name, layers) for name in names]
        if all(found):
            return True, cast("Source", found[0]), names[0]
    return None


def _where(name: str, layers: Layers) -> Source | None:
    """Return the source of a variable's value."""
    if layers.environ.get(name, "").strip():
        return "environment"
    kept = layers.secrets.get(name)
    if kept is not None:
        return kept
    return ".env" if layers.env_file.get(name, "").strip() else None


def _from_legacy(option: Option, legacy: Mapping[str, Any]) -> tuple[Any, str] | None:
    path = option.all_places()[0].path
    name, *rest = path if path[-1] != "enabled" else ("platforms", *path)
    if name not in _LEGACY:
        return None
    place = (_LEGACY_NAMES.get(name, name), *rest)
    present, stored = value_at(legacy, place)
    value, problem = _understood(option, stored) if present and stored is not None else (None, "-")
    return None if problem else (value, ".".join(place))
