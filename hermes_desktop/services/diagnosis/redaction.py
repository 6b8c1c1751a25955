"""A redactor for the secrets that a home and the environment hold outside the keyring."""

import contextlib
from collections.abc import Mapping

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.log_setup import SecretRedactor, learn_named
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.env_file import read_env_file


def redactor_of(paths: HermesPaths | None, environ: Mapping[str, str]) -> SecretRedactor:
    """Return a redactor for the environment and the files of a home. Blocks; never raises.

    The keyring is not asked: it may hang.

    Args:
        paths: The home; None if there is none.
        environ: The process environment.
    """
    redactor = SecretRedactor()
    learn_named(environ, redactor)
    if paths is None:
        return redactor
    with contextlib.suppress(HermesError, OSError):
        learn_named(read_env_file(paths.env_file), redactor)
    for value in _values_in_files(paths):
        redactor.learn(value)
    return redactor


def _values_in_files(paths: HermesPaths) -> tuple[str, ...]:
    """Return the secrets of config.yaml, and those that this program stores in plain text."""
    from hermes_desktop.settings.config_file import read_settings_text  # noqa: PLC0415 - loads YAML
    from hermes_desktop.settings.secret_index import PlainTextSecretStore, SecretIndex  # noqa: PLC0415
    from hermes_desktop.settings.secret_masking import secret_values  # noqa: PLC0415
    from hermes_desktop.settings.yaml_tree import ConfigText  # noqa: PLC0415

    found: list[str] = []
    with contextlib.suppress(HermesError, OSError):
        text = read_settings_text(paths.config_yaml, errors="replace") or ""
        found += secret_values(ConfigText(text, paths.config_yaml))
    with contextlib.suppress(HermesError, OSError):
        found += PlainTextSecretStore(SecretIndex(paths.desktop_dir)).read().values()
    return tuple(found)
