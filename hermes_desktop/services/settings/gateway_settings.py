"""The gateway's configuration of a home, merged from all the files and variables that define it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.access.authorization import refuse_open_policies
from hermes_desktop.gateway.config import config_loading
from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig
from hermes_desktop.gateway.config.config_options import GATEWAY_SECRETS, switch_places
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.services.secrets.secret_access import redact_secrets, trouble_warnings
from hermes_desktop.settings.cached_file import CachedFile
from hermes_desktop.settings.config_file import Lookup, settings_text
from hermes_desktop.settings.config_patch import value_at
from hermes_desktop.settings.env_file import layered_lookup, parse_env, read_env_file
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets, StoredSecrets
from hermes_desktop.settings.json_file import parse_json_settings
from hermes_desktop.settings.yaml_tree import ConfigText

log = logging.getLogger(__name__)


class SettingsFiles:
    """config.yaml, ``.env`` and gateway.json. Blocking, any thread.

    What the methods return is shared and must not be modified. They raise :class:`ConfigError` for
    a file that cannot be read or parsed.

    Args:
        paths: The home.
    """

    def __init__(self, paths: HermesPaths) -> None:
        self.paths = paths
        config, legacy = paths.config_yaml, paths.home / "gateway.json"
        self.config_file = CachedFile(config, lambda data: ConfigText.of_bytes(data, config))
        self._variables = CachedFile(
            paths.env_file,
            lambda data: parse_env(settings_text(data or b"", paths.env_file, errors="replace")),
        )
        self._legacy = CachedFile(legacy, lambda data: parse_json_settings(data, legacy))

    def config(self) -> ConfigText:
        """Return config.yaml."""
        config = self.config_file.read()
        _ = config.values  # raises if it cannot be parsed
        return config

    def variables(self) -> Mapping[str, str]:
        """Return ``.env``."""
        return self._variables.read()

    def legacy(self) -> Mapping[str, Any]:
        """Return gateway.json, which older programs wrote."""
        return self._legacy.read()


V = TypeVar("V")
_SECRET_EXTRAS = ("password", "key", "secret")


def load_gateway_config(
    paths: HermesPaths, environ: Mapping[str, str], redactor: SecretRedactor | None = None
) -> LoadedGatewayConfig:
    """Read gateway.json, config.yaml over it, then ``.env``, the keyring, the environment.

    A file that cannot be read or parsed is named in the warnings, and so is a secret that the
    keyring does not return; the others still apply. Blocking, for some seconds at most where the
    keyring does not answer; creates nothing.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it where that is wanted.
        redactor: The redactor that the tokens and everything in the keyring are registered with.
    """
    files = SettingsFiles(paths)
    troubles: list[str] = []
    legacy = _or_empty(files.legacy, troubles)
    data = _or_empty(lambda: files.config().values, troubles)
    values = _Values(environ, _or_empty(files.variables, troubles))
    loaded = _joined(values, legacy=legacy, data=data)
    return _finished(
        paths, values, redactor, replace(loaded, warnings=(*troubles, *loaded.warnings))
    )


def read_gateway_config(
    paths: HermesPaths,
    environ: Mapping[str, str],
    redactor: SecretRedactor | None = None,
    *,
    files: SettingsFiles | None = None,
    config: ConfigText | None = None,
) -> LoadedGatewayConfig:
    """Read the same for a running gateway; a broken file is an error instead of a warning.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it where that is wanted.
        redactor: The redactor that the tokens and everything in the keyring are registered with.
        files: The files of the home, where they are read anyway.
        config: A config.yaml that is not written yet.

    Raises:
        ConfigError: A file cannot be read or parsed.
    """
    files = files or SettingsFiles(paths)
    values = _Values(environ, files.variables())
    loaded = _joined(values, legacy=files.legacy(), data=(config or files.config()).values)
    return _finished(paths, values, redactor, loaded)


def running_config(
    paths: HermesPaths,
    environ: Mapping[str, str],
    redactor: SecretRedactor | None = None,
    *,
    files: SettingsFiles | None = None,
) -> LoadedGatewayConfig:
    """Return the configuration that a running gateway may continue with.

    Args:
        paths: The home.
        environ: The process environment, with the keyring behind it where that is wanted.
        redactor: The redactor that the tokens and everything in the keyring are registered with.
        files: The files of the home, where they are read anyway.

    Raises:
        ConfigError: A file cannot be read or parsed.
        RefusedError: The configuration would accidentally let everyone write to the gateway.
    """
    files = files or SettingsFiles(paths)
    values = _Values(environ, files.variables())
    loaded = _joined(values, legacy=files.legacy(), data=files.config().values)
    loaded = _finished(paths, values, redactor, loaded)
    refuse_open_policies(loaded.config, values.lookup)
    return loaded


class _Values:
    """The values of all variables at one moment.

    Args:
        environ: The process environment, with the keyring behind it or without one.
        variables: ``.env``.

    Attributes:
        lookup: Returns one of them.
        stored: The stored secrets; None without a keyring.
        refused: A sentence about each stored secret that could not be read.
    """

    def __init__(self, environ: Mapping[str, str], variables: Mapping[str, str]) -> None:
        self.environ = environ
        self.stored: StoredSecrets | None = None
        self.refused: Mapping[str, str] = {}
        if isinstance(environ, EnvironmentWithSecrets):
            self.stored = environ.stored()
            self.refused = trouble_warnings(self.stored)
            environ = environ.with_stored(self.stored)
        self.lookup = layered_lookup(environ, variables)


def _joined(
    values: _Values, *, legacy: Mapping[str, Any], data: Mapping[str, Any]
) -> LoadedGatewayConfig:
    loaded = config_loading.load_gateway_config(data, legacy=legacy, lookup=values.lookup)
    config = _with_troubles(loaded.config, data, values.refused)
    return LoadedGatewayConfig(config, (*values.refused.values(), *loaded.warnings))


def _finished(
    paths: HermesPaths,
    values: _Values,
    redactor: SecretRedactor | None,
    loaded: LoadedGatewayConfig,
) -> LoadedGatewayConfig:
    config = loaded.config
    if redactor is not None:
        _teach(redactor, config)
        redact_secrets(values.environ, redactor, values.stored)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    folder = config.sessions_dir or paths.sessions_dir
    return replace(loaded, config=replace(config, sessions_dir=folder))


def live_lookup(paths: HermesPaths, environ: Mapping[str, str]) -> Callable[[], Lookup]:
    """Return a lookup of the variables' current values, so that removals apply immediately.

    Args:
        paths: The home.
        environ: The process environment.

    Returns:
        A function that re-reads ``.env`` at each call; blocking, any thread. While the file cannot
        be read, its last content applies; where it was never readable, the function raises
        :class:`ConfigError`, because an unreadable allowlist would admit everyone it leaves out.
    """
    last: list[Mapping[str, str]] = []

    def look() -> Lookup:
        try:
            last[:] = [read_env_file(paths.env_file)]
        except ConfigError as error:
            if not last:
                raise
            log.warning("%s", error)
        return layered_lookup(environ, last[0])

    return look


def _with_troubles(
    config: GatewayConfig, data: Mapping[str, Any], refused: Mapping[str, str]
) -> GatewayConfig:
    """Mark platforms whose secret is in the keyring but cannot be read, with the reason.

    They stay enabled, as their secret would have switched them on.
    """
    platforms = dict(config.platforms)
    for secret in GATEWAY_SECRETS:
        if secret.variable not in refused:
            continue
        platform = Platform(secret.platform)
        settings = platforms.get(platform, PlatformConfig())
        said = any(value_at(data, place.path)[0] for place in switch_places(platform))
        platforms[platform] = replace(
            settings, enabled=settings.enabled or not said, trouble=refused[secret.variable]
        )
    return replace(config, platforms=platforms)


def _or_empty(read: Callable[[], Mapping[str, V]], troubles: list[str]) -> Mapping[str, V]:
    try:
        return read()
    except ConfigError as error:
        troubles.append(f"{error.title} {error.detail}")
        return {}


def _teach(redactor: SecretRedactor, config: GatewayConfig) -> None:
    for settings in config.platforms.values():
        secrets = [settings.extra.get(name) for name in _SECRET_EXTRAS]
        for secret in (settings.token, settings.api_key, *secrets):
            if isinstance(secret, str):
                redactor.learn(secret)
