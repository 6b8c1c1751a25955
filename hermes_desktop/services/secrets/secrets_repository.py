"""The secrets of a home: where each is stored, which value applies, and moves to the keyring.

Blocking; a value is only returned to the caller that requested it. Shared by the command line and
the window.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError, HermesError, NotFoundError, RefusedError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.secrets.platform_facts import PLATFORMS
from hermes_desktop.services.secrets.secret_access import SecretAccess
from hermes_desktop.services.secrets.secret_checks import checked_name, checked_value
from hermes_desktop.settings.config_file import read_config
from hermes_desktop.settings.config_patch import Edit, value_at
from hermes_desktop.settings.config_store import ConfigStore
from hermes_desktop.settings.env_file import read_env_file, take_out_secret, write_secret
from hermes_desktop.settings.json_file import read_json_settings
from hermes_desktop.settings.safe_replacement import is_managed
from hermes_desktop.settings.secret_masking import is_reference, is_secret_key
from hermes_desktop.settings.secrets import Reading, ReadState, SecretStoreError

Where = Literal["environment", "keyring", "plain file", ".env", "config.yaml", "gateway.json"]
_ORDER: tuple[Where, ...] = (
    "environment",
    "keyring",
    "plain file",
    ".env",
    "config.yaml",
    "gateway.json",
)
_MOVED = frozenset({".env", "config.yaml", "plain file"})
_END = 4
NOT_FOUND_BY_HERMES = (
    "`hermes` commands, including `hermes gateway run`, no longer find it: they look in the "
    "environment and in .env only. To undo this, run `hermes-desktop secrets move --back "
    "{name}`."
)


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """One place that holds a secret, or should.

    Attributes:
        where: The kind of place.
        place: The dotted keys in a settings file; for the keyring, its backend.
        state: ``stored``, or why the keyring does not return it.
        end: Its last four characters; "" where it is too short to show any.
    """

    where: Where
    place: str = ""
    state: ReadState = "stored"
    end: str = ""
    value: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class SecretView:
    """One secret, without its value.

    Attributes:
        name: The variable.
        places: Where it is stored, the effective place first; empty when it is nowhere.
        differ: Whether two places hold different values.
    """

    name: str
    label: str = ""
    platform: str = ""
    places: tuple[SecretPlace, ...] = ()
    differ: bool = False

    @property
    def counts(self) -> SecretPlace | None:
        """The place whose value is used."""
        return next((place for place in self.places if place.state == "stored"), None)


@dataclass(frozen=True, slots=True)
class Kept:
    """A secret as we stored it, for restoring it.

    Attributes:
        plain: Whether it was in the file for desktops without a keyring.
    """

    name: str
    value: str = field(repr=False)
    plain: bool = False


class SecretsRepository:
    """Lists secrets and moves them.

    Args:
        paths: The home.
        environ: The process environment, without the keyring behind it.
        access: The keyring, and the file for desktops without one.
        clock: The clock, for the versions of config.yaml.
        redactor: The log redactor that given values are registered with, as a platform may repeat
            them.
    """

    def __init__(
        self,
        paths: HermesPaths,
        environ: Mapping[str, str],
        access: SecretAccess,
        clock: Clock,
        redactor: SecretRedactor | None = None,
    ) -> None:
        self._redactor = redactor or SecretRedactor()
        self._paths = paths
        self._environ = environ
        self._access = access
        self._managed = is_managed(paths.home, environ)
        self._config = ConfigStore(
            paths.config_yaml, paths.desktop_dir, clock, managed=self._managed
        )

    def look(self) -> list[SecretView]:
        """Return all secrets that are declared, stored by us, or contained in ``.env``.

        Raises:
            ConfigError: A file cannot be parsed.
        """
        sources = self._sources()
        listed = [name for name in sources.env_file if is_secret_key(name)]
        kept = {*listed, *sources.keyring, *sources.plain_file}
        names = dict.fromkeys((*SECRETS, *sorted(kept)))
        return [self._view(name, sources) for name in names]

    def find(self, name: str) -> SecretView:
        """Return one secret; one that is nowhere has no places. Raises :class:`ConfigError`."""
        return self._view(checked_name(name), self._sources())

    def learn(self, values: Iterable[str]) -> None:
        """Register values with the log redactor. Any thread."""
        for value in values:
            self._redactor.learn(value)

    def keep(self, name: str, value: str, *, plain: bool = False) -> None:
        """Store a secret in the keyring, or, if the user requested it, in a plain file.

        Raises:
            UsageError: The name or value is invalid.
            SecretStoreError: The keyring cannot store it; no other place is used instead.
            ConfigError: Our files cannot be written.
        """
        name, value = checked_name(name), checked_value(value, name)
        self.learn((value,))
        if plain:
            self._access.plain.store(name, value)
            return
        self._access.store.store(name, value)
        if name in self._access.plain.read():
            self._access.plain.remove(name)

    def keep_all(self, values: Mapping[str, str]) -> None:
        """Store several secrets in the keyring, all of them or none.

        Raises:
            UsageError: One of them cannot be a secret; nothing was stored.
            SecretStoreError: The keyring cannot store one. Those stored before it were removed
                again; where the keyring did not allow that either, the detail names what stayed.
            ConfigError: Our files cannot be written; likewise.
        """
        for name, value in values.items():
            checked_name(name)
            checked_value(value, name)
        before = {name: self.kept(name) for name in values} if len(values) > 1 else {}
        done: list[str] = []
        try:
            for name, value in values.items():
                self.keep(name, value)
                done.append(name)
        except HermesError as error:
            stayed = [name for name in done if not self._back_as_it_was(name, before[name], error)]
            if stayed:
                kept = f"{' and '.join(stayed)} was stored before the failure."
                error.detail = f"{error.detail} {kept}".strip()
            raise

    def kept(self, name: str) -> Kept | None:
        """Return what we store under a name; None if that is nothing, or cannot be read."""
        value = self._access.plain.read().get(name)
        if value:
            return Kept(name, value, plain=True)
        value = self._access.store.read(name).value
        return Kept(name, value) if value else None

    def put_back(self, kept: Kept) -> None:
        """Store a secret again as it was. Raises as :meth:`keep`."""
        self.keep(kept.name, kept.value, plain=kept.plain)

    def take_back(self, before: Mapping[str, Kept | None]) -> None:
        """Restore secrets to their state before they were stored, as far as the keyring allows.

        Args:
            before: The earlier result of :meth:`kept` for each.
        """
        for name, kept in before.items():
            self._back_as_it_was(name, kept, HermesError(""))

    def give_up(self) -> None:
        """End all waits for the keyring as if it did not answer. Any thread."""
        self._access.store.give_up()

    def _back_as_it_was(self, name: str, before: Kept | None, error: HermesError) -> bool:
        if isinstance(error, SecretStoreError) and error.state == "not answering":
            return False  # it would only cause another wait
        try:
            if before is None or before.plain:
                self._access.store.remove(name)
            if before is not None:
                self.put_back(before)
        except HermesError:
            return False
        return True

    def remove(self, name: str) -> Kept | None:
        """Remove a secret from the keyring and the plain file.

        Returns:
            What is needed to restore it; None where its value could not be read.

        Raises:
            NotFoundError: It is in neither.
            SecretStoreError: The keyring cannot remove it.
            ConfigError: Our files cannot be written.
        """
        name = checked_name(name)
        in_keyring, in_file = name in self._access.store.names(), name in self._access.plain.read()
        if not in_keyring and not in_file:
            raise NotFoundError(
                f"{name} is not stored by Hermes Desktop.",
                "",
                "See where it is with `hermes-desktop secrets list`.",
            )
        kept = self.kept(name)
        if in_file:
            self._access.plain.remove(name)
        if in_keyring:
            self._access.store.remove(name)
        return kept

    def move(self, name: str) -> tuple[str, ...]:
        """Move a secret from ``.env``, config.yaml and the plain file into the keyring.

        It is verified there before it is removed.

        Returns:
            The places it was removed from.

        Raises:
            NotFoundError: It is in none of them.
            RefusedError: The home is managed, the places hold different values, or config.yaml is
                written in a way in which the value cannot be removed alone; nothing was done.
            SecretStoreError: The keyring cannot store it; the files are unchanged.
            ConfigError: A file cannot be written; then the secret is in both.
        """
        view = self.find(name)
        found = [place for place in view.places if place.where in _MOVED]
        if any(place.where != "plain file" for place in found):
            self._must_be_ours()
        if not found:
            raise NotFoundError(
                f"{view.name} is neither in .env nor in config.yaml.",
                "It can only be moved from one of these.",
                "To store it in the keyring, use `hermes-desktop secrets set`.",
            )
        if len({place.value for place in found}) > 1:
            raise RefusedError(
                f"{view.name} has different values in .env and config.yaml.",
                "Hermes Desktop cannot tell which one is right.",
                "Remove the wrong one first.",
            )
        value = found[0].value
        edits = [
            Edit(tuple(place.place.split(".")), remove=True)
            for place in found
            if place.where == "config.yaml"
        ]
        if edits:
            self._config.preview(edits)  # refused before anything is done
        self.keep(view.name, value)  # this also removes it from the plain file
        if edits:
            self._config.save(edits)
        if any(place.where == ".env" for place in found):
            take_out_secret(self._paths.env_file, view.name)
        self._config.forget_values({value})
        return tuple(
            f"config.yaml ({place.place})" if place.where == "config.yaml" else place.where
            for place in found
        )

    def move_back(self, name: str) -> None:
        """Move a secret from the keyring back into ``.env``, where ``hermes`` finds it.

        Raises:
            RefusedError: The home is managed.
            NotFoundError: We do not store it.
            SecretStoreError: The keyring does not return it.
            ConfigError: It cannot be written there.
        """
        self._must_be_ours()
        name = checked_name(name)
        value = self._access.plain.read().get(name)
        if value is None:
            value = self._access.store.demand(name)
        write_secret(self._paths.env_file, name, value)
        if read_env_file(self._paths.env_file).get(name) != value:
            raise ConfigError(
                f"{name} could not be read back from .env.", "It stays in the keyring."
            )
        self.remove(name)

    def check(self) -> Reading:
        """Return whether the keyring works; takes as long as the user needs to unlock it."""
        return self._access.store.check()

    # ------------------------------------------------------------------------------- reading

    def _must_be_ours(self) -> None:
        if self._managed:
            raise RefusedError(
                ".env and config.yaml are not written, because this home is managed.",
                self._managed,
                "Use `hermes-desktop secrets set`; the keyring takes precedence over both.",
            )

    def _sources(self) -> "_Sources":
        return _Sources(
            read_env_file(self._paths.env_file),
            read_config(self._paths.config_yaml).data,
            read_json_settings(self._paths.home / "gateway.json"),
            keyring=self._access.store.backends(),
            plain_file=self._access.plain.read(),
        )

    def _view(self, name: str, sources: "_Sources") -> SecretView:
        places = sorted(self._places(name, sources), key=lambda each: _ORDER.index(each.where))
        label, platform = _called(name)
        return SecretView(
            name,
            label,
            platform,
            tuple(places),
            len({place.value for place in places if place.state == "stored"}) > 1,
        )

    def _places(self, name: str, sources: "_Sources") -> Iterator[SecretPlace]:
        yield from _place("environment", self._environ.get(name), name)
        if name in sources.keyring:
            reading = self._access.store.read_all(sources.keyring)[name]
            value = reading.value or ""
            yield SecretPlace("keyring", sources.keyring[name], reading.state, _end(value), value)
        yield from _place("plain file", sources.plain_file.get(name))
        yield from _place(".env", sources.env_file.get(name), name)
        option = SECRETS.get(name)
        for place in option.places if option else ():
            yield from _place("config.yaml", value_at(sources.config, place.path)[1], place.key)
            if place.path[0] == "platforms":
                old = value_at(sources.legacy, place.path)[1]
                yield from _place("gateway.json", old, place.key)


@dataclass(frozen=True, slots=True)
class _Sources:
    """What is stored where; of the keyring, the names with their backends."""

    env_file: Mapping[str, str]
    config: Mapping[str, Any]
    legacy: Mapping[str, Any]
    keyring: Mapping[str, str]
    plain_file: Mapping[str, str] = field(repr=False)


def _called(name: str) -> tuple[str, str]:
    """Return label and platform of a secret, also for those that only ``hermes`` uses."""
    option = SECRETS.get(name)
    if option is not None:
        return option.label, option.platform
    for facts in PLATFORMS.values():
        for secret in facts.secrets:
            if secret.variable == name:
                return f"{facts.name}: {secret.label[:1].lower()}{secret.label[1:]}", facts.name
    return "", ""


def _place(where: Where, value: object, place: str = "") -> Iterator[SecretPlace]:
    text = str(value).strip() if isinstance(value, str | int) else ""
    if text and not is_reference(text):
        yield SecretPlace(where, place, "stored", _end(text), text)


def _end(value: str) -> str:
    """Return the last four characters of a value that has many more, else ""."""
    return value[-_END:] if len(value) >= 3 * _END else ""


# ------------------------------------------------------------------------------
# What `hermes` finds of a secret stored by this program, where both use the same home.

_MADE_BY_HERMES = ("cron", "sandboxes", "auth.lock", ".update_check")
"""Folders and files that `hermes` creates in its home when it runs, and that we never create."""

_READ_BY_HERMES = frozenset({"environment", ".env"})


def hermes_uses(home: Path) -> bool:
    """Return whether `hermes` has run on this home. Blocking: reads the folder."""
    return any((home / name).exists() for name in _MADE_BY_HERMES)


def note_on_hermes(view: SecretView, home: Path) -> str:
    """Return a note on how `hermes` sees a secret that was just stored here; "" for nothing.

    Where both programs find a value but not the same one, ``view.differ`` indicates it.
    """
    if view.differ or not hermes_uses(home):
        return ""
    places = [place.where for place in view.places]
    read = [where for where in places if where in _READ_BY_HERMES]
    if read:
        where = "the environment" if read[0] == "environment" else read[0]
        return f"`hermes`, which also uses this home, reads {view.name} from {where}."
    kept = "keyring" if "keyring" in places else "file"
    return (
        f"`hermes`, which also uses this home, cannot read the {kept}: it reads the "
        "environment and .env only. To store the secret in .env, where both programs find it, "
        f"run `hermes-desktop secrets move --back {view.name}`."
    )
