"""The process environment, with the secrets of the keyring as a fallback."""

from collections.abc import Iterator, Mapping

from typing_extensions import override

from hermes_desktop.settings.plain_secrets import PlainTextSecretStore
from hermes_desktop.settings.secrets import Reading, SecretStore


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

    def troubles(self) -> dict[str, Reading]:
        """Return stored secrets that could not be read, and are not set in the environment."""
        found: dict[str, Reading] = {}
        for name in sorted(self.store.names()):
            if not self.process.get(name, "").strip():
                reading = self.store.read(name)
                if reading.state != "stored":
                    found[name] = reading
        return found

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
