"""The files of a home that define settings, each read again only after it changed."""

from collections.abc import Mapping
from typing import Any

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.settings.cached_file import CachedFile
from hermes_desktop.settings.config_file import settings_text
from hermes_desktop.settings.env_file import parse_env
from hermes_desktop.settings.json_file import parse_json_settings
from hermes_desktop.settings.yaml_tree import ConfigText


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
