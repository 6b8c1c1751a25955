"""Preview of the settings that would apply if changes were saved; nothing is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.services.settings.gateway_settings import read_gateway_config
from hermes_desktop.settings.config_file import parse_config, read_settings_text
from hermes_desktop.settings.config_patch import Edit, patch_text


@dataclass(frozen=True, slots=True)
class PreviewedSettings:
    """Settings as they would be.

    Attributes:
        config: config.yaml.
        gateway: The gateway's configuration from it, variables included, the keyring left out.
    """

    config: Mapping[str, Any]
    gateway: GatewayConfig


def preview_settings(
    paths: HermesPaths, environ: Mapping[str, str], edits: Sequence[Edit]
) -> PreviewedSettings:
    """Read the settings as they would be. Blocking.

    Args:
        paths: The home.
        environ: The process environment, without any keyring behind it.
        edits: Changes to config.yaml.

    Raises:
        ConfigError: A file cannot be parsed.
        CannotPatchError: config.yaml is written in a way that does not allow these changes.
    """
    text = read_settings_text(paths.config_yaml) or ""
    if edits:
        text = patch_text(text, edits, paths.config_yaml).text
    gateway = read_gateway_config(paths, environ, edits=edits).config
    return PreviewedSettings(parse_config(text, paths.config_yaml), gateway)
