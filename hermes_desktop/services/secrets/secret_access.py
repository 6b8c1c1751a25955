"""Access to the secrets of one home: the keyring, and the file for desktops without one."""

from collections.abc import Mapping
from dataclasses import dataclass

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets, StoredSecrets
from hermes_desktop.settings.secret_index import PlainTextSecretStore, SecretIndex
from hermes_desktop.settings.secrets import KeyringSecretStore, ReadState, SecretStore

_TROUBLE: Mapping[ReadState, str] = {
    "locked": "the keyring is locked",
    "no keyring": "there is no keyring",
    "no keyring yet": "no keyring exists yet",
    "not answering": "the keyring is not answering",
    "missing": "it is no longer in the keyring",
    "damaged": "it is incomplete in the keyring",
}


@dataclass(frozen=True, slots=True)
class SecretAccess:
    """Our storage of the secrets of a home."""

    store: SecretStore
    plain: PlainTextSecretStore


def open_secrets(paths: HermesPaths, clock: Clock) -> SecretAccess:
    """Open the secrets of a home, without accessing the keyring or creating anything."""
    index = SecretIndex(paths.desktop_dir)
    # Named by its path: two homes on one machine may both be the default profile.
    store = KeyringSecretStore(
        index,
        f"hermes-desktop:{paths.home}",
        clock,
        label_of=lambda name: _label(name, paths),
    )
    return SecretAccess(store, PlainTextSecretStore(index))


def _label(name: str, paths: HermesPaths) -> str:
    """Return the display name of an entry: which secret, of which home."""
    from hermes_desktop.services.secrets.known_secrets import SECRETS  # noqa: PLC0415 - only who keeps one needs it

    what = SECRETS[name].label if name in SECRETS else name
    return f"Hermes Desktop, {what} ({paths.home})"


def with_secrets(
    paths: HermesPaths, environ: Mapping[str, str], clock: Clock
) -> EnvironmentWithSecrets:
    """Return the environment for gateway and agent, with the secrets of the keyring behind it.

    The keyring is not accessed yet: that happens when a secret is looked up, which is done off the
    event loop. An environment that already has a keyring behind it is returned unchanged.
    """
    if isinstance(environ, EnvironmentWithSecrets):
        return environ
    access = open_secrets(paths, clock)
    return EnvironmentWithSecrets(environ, access.store, access.plain)


def redact_secrets(
    environ: Mapping[str, str], redactor: SecretRedactor, stored: StoredSecrets | None = None
) -> None:
    """Register the keyring's secrets with the log redactor. Blocks for some seconds at most.

    Args:
        environ: The environment.
        redactor: The log redactor.
        stored: The stored secrets, where they were read just now.
    """
    if isinstance(environ, EnvironmentWithSecrets):
        for value in environ.secret_values(stored):
            redactor.learn(value)


def secret_warnings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a sentence about each stored secret that could not be read. Blocks likewise."""
    if not isinstance(environ, EnvironmentWithSecrets):
        return {}
    return trouble_warnings(environ.stored())


def trouble_warnings(stored: StoredSecrets) -> dict[str, str]:
    """Return the same sentences for secrets that were read already."""
    return {
        name: f"{name} could not be read: {_TROUBLE.get(reading.state, reading.state)}."
        for name, reading in stored.troubles.items()
    }


def model_key_warnings(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the same sentences, without those about tokens of messaging platforms."""
    found = secret_warnings(environ)
    if not found:
        return ()
    from hermes_desktop.services.secrets.known_secrets import SECRETS  # noqa: PLC0415 - only where there are some

    return tuple(
        words for name, words in found.items() if name not in SECRETS or not SECRETS[name].platform
    )
