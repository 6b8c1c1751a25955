"""The process environment, with the secrets of the keyring as a fallback."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from typing_extensions import override

from hermes_desktop.settings.secret_index import PlainTextSecretStore
from hermes_desktop.settings.secrets import Reading, SecretStore


@dataclass(frozen=True, slots=True)
class StoredSecrets:
    """The secrets stored by this program.

    Attributes:
        names: All of them.
        values: The values of those that can be read.
        troubles: Why others of the keyring cannot be read.
    """

    names: frozenset[str]
    values: Mapping[str, str] = field(repr=False)
    troubles: Mapping[str, Reading]


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

    def stored(self) -> StoredSecrets:
        """Read all stored secrets that the environment does not set; each file is read once."""
        values = self.plain.read()
        names = {*values, *self.store.names()}
        troubles: dict[str, Reading] = {}
        for name in sorted(self.store.names()):
            if not self.process.get(name, "").strip():
                reading = self.store.read(name)
                values |= {name: reading.value} if reading.value else {}
                if reading.state != "stored":
                    troubles[name] = reading
        return StoredSecrets(frozenset(names), values, troubles)

    def with_stored(self, stored: StoredSecrets) -> dict[str, str]:
        """Return what a lookup of each name finds now; for short use, as it contains secrets."""
        process = {name: value for name, value in self.process.items() if value.strip()}
        return {**self.process, **stored.values, **process}

    def secret_values(self) -> tuple[str, ...]:
        """Return all secrets that can be read, so that they can be kept out of logs."""
        readings = [self.store.read(name).value for name in self.store.names()]
        return (*(value for value in readings if value), *self.plain.read().values())

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
