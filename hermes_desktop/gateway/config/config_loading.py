"""Loading of the gateway's configuration from all its layers, with invalid values corrected."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hermes_desktop.gateway.config.config_environment import TOKEN_VARIABLES, apply_environment
from hermes_desktop.gateway.config.config_platforms import Platform, PlatformConfig
from hermes_desktop.gateway.config.config_running import read_running_settings
from hermes_desktop.gateway.config.config_yaml import EXPLICIT, Warn, merge_yaml
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.settings.config_file import Lookup

_PLACEHOLDER = re.compile(
    r"(?:your|my|insert|paste|enter|put|replace)[_ -].*|<.*>|\[.*\]|\$?\{.*\}|[x*.]{3,}"
    r"|change_?-?me|placeholder|none|null|dummy|example|todo|token|bot_token|secret",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LoadedGatewayConfig:
    """A loaded configuration with its warnings.

    Attributes:
        warnings: Sentences for the user, without secrets.
    """

    config: GatewayConfig
    warnings: tuple[str, ...] = ()


def _unset(_name: str) -> str | None:
    return None


def load_gateway_config(
    data: Mapping[str, Any],
    *,
    legacy: Mapping[str, Any] | None = None,
    lookup: Lookup = _unset,
) -> LoadedGatewayConfig:
    """Combine the gateway's configuration: defaults, gateway.json, config.yaml, variables.

    Args:
        data: config.yaml as read, an empty mapping when it does not exist.
        legacy: gateway.json as read.
        lookup: Returns the values of variables, from the environment and ``.env``.
    """
    warnings: list[str] = []
    merged = merge_yaml(legacy or {}, data, warnings.append)
    _warn_of_policies(merged, warnings.append)
    config = apply_environment(GatewayConfig.from_dict(merged), lookup, warnings.append)
    platforms = {
        platform: _checked(platform, settings, warnings.append)
        for platform, settings in config.platforms.items()
    }
    running = read_running_settings(data, lookup)
    return LoadedGatewayConfig(
        replace(config, platforms=platforms, running=running), tuple(warnings)
    )


def _warn_of_policies(merged: Mapping[str, Any], warn: Warn) -> None:
    """Warn of values that :class:`SessionResetPolicy` has to correct."""
    policy = merged.get("default_reset_policy")
    if not isinstance(policy, Mapping):
        return
    read = GatewayConfig.from_dict({"default_reset_policy": policy}).default_reset_policy
    for name in ("mode", "at_hour", "idle_minutes"):
        given = policy.get(name)
        if given is not None and given is not False and str(given) != str(getattr(read, name)):
            warn(f"{name} of session_reset is not valid; {getattr(read, name)} is used.")


def _checked(platform: Platform, settings: PlatformConfig, warn: Warn) -> PlatformConfig:
    """Return the settings without loading marks; disabled when the token is a placeholder."""
    extra = {key: value for key, value in settings.extra.items() if key != EXPLICIT}
    settings = replace(settings, extra=extra)
    if not settings.enabled or platform not in TOKEN_VARIABLES:
        return settings
    token, variable = (settings.token or "").strip(), TOKEN_VARIABLES[platform]
    if not token:
        if not extra.get("password"):
            warn(f"{platform.value} is on but has no token; set {variable}.")
        return settings
    if _PLACEHOLDER.fullmatch(token) is None:
        return settings
    warn(f"{platform.value} is off, because its token is only a placeholder; set {variable}.")
    return replace(settings, enabled=False)
