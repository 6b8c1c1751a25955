"""The process environment, with the secrets of the keyring as a fallback."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from typing_extensions import override

from hermes_desktop.settings.secret_index import PlainTextSecretStore
from hermes_desktop.settings.secrets import Reading, SecretStore


@dataclass(frozen=True, slots=True)
class StoredSecrets:
    """The secrets stored by this program.

    Attributes:
        in_keyring: The names of those in the keyring.
        in_file: Those in plain text.
        values: The values of those that can be read.
        troubles: Why others of the keyring cannot be read.
    """

    in_keyring: frozenset[str]
    in_file: Mapping[str, str] = field(repr=False)
    values: Mapping[str, str] = field(repr=False)
    troubles: Mapping[str, Reading]

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them."""
        return self.in_keyring.union(self.in_file)


class EnvironmentWithSecrets(Mapping[str, str]):
    """Variables of the environment and, where one is not set there, the secret of that name.

    Iterating over it, or copying it for a child process, gives the environment alone: secrets are
    only returned by name. Such a lookup may block for some seconds, so it is done off the event
    loop.

    Args:
        environ: The process environment.
        store: The keyring.
        plain: The secrets stored in plain text; searched after the keyring.
    """

    def __init__(
        self, environ: Mapping[str, str], store: SecretStore, plain: PlainTextSecretStore
    ) -> None:
        self.process = environ
        self.store = store
        self.plain = plain

    def stored(self, in_keyring: Collection[str] | None = None) -> StoredSecrets:
        """Read all stored secrets that the environment does not set; each file is read once.

        Args:
            in_keyring: The names of those in the keyring, where they were read just now.
        """
        in_file = self.plain.read()
        names = self.store.names() if in_keyring is None else in_keyring
        wanted = sorted(name for name in names if not self.process.get(name, "").strip())
        found = self.store.read_all(names) if wanted else {}
        values = {name: value for name in wanted if (value := found[name].value)}
        troubles = {name: found[name] for name in wanted if found[name].state != "stored"}
        return StoredSecrets(frozenset(names), in_file, {**in_file, **values}, troubles)

    def with_stored(self, stored: StoredSecrets) -> dict[str, str]:
        """Return what a lookup of each name finds now; for short use, as it contains secrets."""
        process = {name: value for name, value in self.process.items() if value.strip()}
        return {**self.process, **stored.values, **process}

    def secret_values(self, stored: StoredSecrets | None = None) -> tuple[str, ...]:
        """Return all secrets that can be read, so that they can be kept out of logs.

        Args:
            stored: The stored secrets, where they were read just now.
        """
        stored = stored or self.stored()
        in_keyring = stored.in_keyring
        readings = self.store.read_all(in_keyring).values() if in_keyring else ()
        return (*(each.value for each in readings if each.value), *stored.in_file.values())

    @override
    def __getitem__(self, name: str) -> str:
        value = self.process.get(name)
        if value is not None and value.strip():
            return value
        secret = self.store.read(name).value or self.plain.read().get(name)
        if secret:
            return secret
        if value is None:
            raise KeyError(name)
        return value

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self.process)

    @override
    def __len__(self) -> int:
        return len(self.process)
