"""The secrets of one home: the keyring, the file for desktops without one, and who gets them."""

from collections.abc import Mapping
from dataclasses import dataclass

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.plain_secrets import PlainSecrets
from hermes_desktop.settings.secret_index import SecretIndex
from hermes_desktop.settings.secret_layer import EnvironmentWithSecrets
from hermes_desktop.settings.secrets import KeyringSecretStore, ReadState, SecretStore

_TROUBLE: Mapping[ReadState, str] = {
    "locked": "the keyring is locked",
    "no keyring": "there is no keyring",
    "no keyring yet": "no keyring exists yet",
    "not answering": "the keyring is not answering",
    "missing": "it is no longer in the keyring",
    "damaged": "it is no longer whole in the keyring",
}


@dataclass(frozen=True, slots=True)
class SecretAccess:
    """Where the secrets of a home are kept by us."""

    store: SecretStore
    plain: PlainSecrets


def open_secrets(paths: HermesPaths, clock: Clock) -> SecretAccess:
    """The secrets of a home; asks no keyring and makes nothing."""
    index = SecretIndex(paths.desktop_dir)
    # By its path: two homes on one machine may both be the default profile.
    store = KeyringSecretStore(
        index,
        f"hermes-desktop:{paths.home}",
        clock,
        label_of=lambda name: _label(name, paths),
    )
    return SecretAccess(store, PlainSecrets(index))


def _label(name: str, paths: HermesPaths) -> str:
    """What an entry is called for a person: which secret, of which home."""
    from hermes_desktop.services.secrets.known_secrets import SECRETS  # noqa: PLC0415 - only who keeps one needs it

    what = SECRETS[name].label if name in SECRETS else name
    return f"Hermes Desktop, {what} ({paths.home})"


def with_secrets(
    paths: HermesPaths, environ: Mapping[str, str], clock: Clock
) -> EnvironmentWithSecrets:
    """The environment as gateway and agent look things up in it: secrets of the keyring behind.

    Asks no keyring yet: that happens when a secret is looked up, which is done off the loop. One
    that has a keyring behind it already is left as it is.
    """
    if isinstance(environ, EnvironmentWithSecrets):
        return environ
    access = open_secrets(paths, clock)
    return EnvironmentWithSecrets(environ, access.store, access.plain)


def learn_secrets(environ: Mapping[str, str], redactor: SecretRedactor) -> None:
    """Let no log show what the keyring holds. Blocks for some seconds at most."""
    if isinstance(environ, EnvironmentWithSecrets):
        for value in environ.secret_values():
            redactor.learn(value)


def secret_warnings(environ: Mapping[str, str]) -> dict[str, str]:
    """A sentence about each secret that is kept and could not be had. Blocks likewise."""
    if not isinstance(environ, EnvironmentWithSecrets):
        return {}
    return {
        name: f"{name} could not be read: {_TROUBLE.get(reading.state, reading.state)}."
        for name, reading in environ.troubles().items()
    }


def model_key_warnings(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The same sentences, without those about tokens of messaging platforms."""
    found = secret_warnings(environ)
    if not found:
        return ()
    from hermes_desktop.services.secrets.known_secrets import SECRETS  # noqa: PLC0415 - only where there are some

    return tuple(
        words for name, words in found.items() if name not in SECRETS or not SECRETS[name].platform
    )
