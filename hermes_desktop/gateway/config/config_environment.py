"""Environment variables of the gateway, above all tokens. They override the files."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hermes_desktop.gateway.config.coercion import as_bool, as_whole_number
from hermes_desktop.gateway.config.config_platforms import HomeChannel, Platform, PlatformConfig
from hermes_desktop.gateway.config.config_yaml import EXPLICIT, Warn
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.settings.config_file import Lookup

TOKEN_VARIABLES: Mapping[Platform, str] = {
    Platform.TELEGRAM: "TELEGRAM_BOT_TOKEN",
    Platform.DISCORD: "DISCORD_BOT_TOKEN",
    Platform.SLACK: "SLACK_BOT_TOKEN",
    Platform.MATTERMOST: "MATTERMOST_TOKEN",
    Platform.MATRIX: "MATRIX_ACCESS_TOKEN",
    Platform.WEIXIN: "WEIXIN_TOKEN",
}
# Variable → name in the platform's ``extra``.
_EXTRAS: Mapping[Platform, Mapping[str, str]] = {
    Platform.TELEGRAM: {
        "TELEGRAM_PROXY": "proxy",
        "TELEGRAM_REQUIRE_MENTION": "require_mention",
        "TELEGRAM_FREE_RESPONSE_CHATS": "free_response_chats",
        "TELEGRAM_ALLOW_BOTS": "allow_bots",
        "TELEGRAM_ALLOWED_CHATS": "allowed_chats",
        "TELEGRAM_ALLOWED_TOPICS": "allowed_topics",
        "TELEGRAM_EXCLUSIVE_BOT_MENTIONS": "exclusive_bot_mentions",
    },
    Platform.MATTERMOST: {"MATTERMOST_URL": "url"},
    Platform.MATRIX: {
        "MATRIX_HOMESERVER": "homeserver",
        "MATRIX_PASSWORD": "password",
        "MATRIX_USER_ID": "user_id",
        "MATRIX_DEVICE_ID": "device_id",
        "MATRIX_E2EE_MODE": "e2ee_mode",
        "MATRIX_ENCRYPTION": "encryption",
    },
    Platform.EMAIL: {
        "EMAIL_ADDRESS": "address",
        "EMAIL_PASSWORD": "password",
        "EMAIL_IMAP_HOST": "imap_host",
        "EMAIL_SMTP_HOST": "smtp_host",
    },
    Platform.API_SERVER: {
        "API_SERVER_KEY": "key",
        "API_SERVER_HOST": "host",
        "API_SERVER_PORT": "port",
        "API_SERVER_CORS_ORIGINS": "cors_origins",
        "API_SERVER_MODEL_NAME": "model_name",
    },
    Platform.WEBHOOK: {"WEBHOOK_PORT": "port", "WEBHOOK_SECRET": "secret"},
}
HOME_VARIABLES: Mapping[Platform, str] = {
    Platform.TELEGRAM: "TELEGRAM_HOME_CHANNEL",
    Platform.DISCORD: "DISCORD_HOME_CHANNEL",
    Platform.SLACK: "SLACK_HOME_CHANNEL",
    Platform.MATRIX: "MATRIX_HOME_ROOM",
    Platform.EMAIL: "EMAIL_HOME_ADDRESS",
}
_REPLY_MODES: Mapping[Platform, str] = {
    Platform.TELEGRAM: "TELEGRAM_REPLY_TO_MODE",
    Platform.DISCORD: "DISCORD_REPLY_TO_MODE",
}


def apply_environment(config: GatewayConfig, lookup: Lookup, warn: Warn) -> GatewayConfig:
    """Apply the variables to a configuration.

    A platform that gets its token here is switched on, unless config.yaml says that it is off.

    Args:
        config: The configuration from the files.
        lookup: Returns the values of variables; the process environment is not read here.
        warn: Called with a sentence about each invalid value; never with the value itself.
    """
    platforms = dict(config.platforms)
    for platform in dict.fromkeys((*TOKEN_VARIABLES, *_EXTRAS, *HOME_VARIABLES)):
        before = platforms.get(platform)
        after = _platform(platform, before or PlatformConfig(), lookup, warn)
        if before is not None or after != PlatformConfig():
            platforms[platform] = after
    policy = config.default_reset_policy
    minutes = _number("SESSION_IDLE_MINUTES", lookup, warn, low=1)
    hour = _number("SESSION_RESET_HOUR", lookup, warn, low=0, high=23)
    return replace(
        config,
        platforms=platforms,
        default_reset_policy=replace(
            policy,
            idle_minutes=policy.idle_minutes if minutes is None else minutes,
            at_hour=policy.at_hour if hour is None else hour,
        ),
        multiplex_profiles=as_bool(
            lookup("GATEWAY_MULTIPLEX_PROFILES"), default=config.multiplex_profiles
        ),
    )


def _platform(
    platform: Platform, settings: PlatformConfig, lookup: Lookup, warn: Warn
) -> PlatformConfig:
    token = lookup(TOKEN_VARIABLES[platform]) if platform in TOKEN_VARIABLES else None
    given = _extras(platform, lookup, warn)
    switched_on = _switched_on(platform, token, given, lookup)
    off = bool(settings.extra.get(EXPLICIT)) and not settings.enabled
    settings = replace(
        settings,
        token=token or settings.token,
        enabled=settings.enabled or (switched_on and not off),
        extra={**settings.extra, **given},
    )
    mode = lookup(_REPLY_MODES[platform]) if platform in _REPLY_MODES else None
    if mode is not None:
        read = PlatformConfig.from_dict({"reply_to_mode": mode})
        settings = replace(settings, reply_to_mode=read.reply_to_mode)
    home = _home(platform, lookup)
    return settings if home is None else replace(settings, home_channel=home)


def _extras(platform: Platform, lookup: Lookup, warn: Warn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for variable, name in _EXTRAS.get(platform, {}).items():
        value = lookup(variable)
        if value is None:
            continue
        if name == "port":
            port = _number(variable, lookup, warn, low=1, high=65535)
            found |= {} if port is None else {name: port}
        elif name == "encryption":
            found[name] = as_bool(value, default=False)
        elif name == "cors_origins":
            found[name] = [origin for part in value.split(",") if (origin := part.strip())]
        else:
            found[name] = value
    return found


def _switched_on(
    platform: Platform, token: str | None, given: Mapping[str, Any], lookup: Lookup
) -> bool:
    """Return whether the variables contain all that a platform needs, or enable it explicitly."""
    if platform is Platform.MATRIX:
        return "homeserver" in given and (token is not None or "password" in given)
    if platform is Platform.EMAIL:
        return given.keys() >= {"address", "password", "imap_host", "smtp_host"}
    if platform is Platform.API_SERVER:
        return "key" in given or as_bool(lookup("API_SERVER_ENABLED"), default=False)
    if platform is Platform.WEBHOOK:
        return as_bool(lookup("WEBHOOK_ENABLED"), default=False)
    return token is not None


def _home(platform: Platform, lookup: Lookup) -> HomeChannel | None:
    variable = HOME_VARIABLES.get(platform)
    chat_id = lookup(variable) if variable is not None else None
    if chat_id is None:
        return None
    return HomeChannel(
        platform=platform,
        chat_id=chat_id,
        name=lookup(f"{variable}_NAME") or "Home",
        thread_id=lookup(f"{variable}_THREAD_ID"),
    )


def _number(
    variable: str, lookup: Lookup, warn: Warn, *, low: int, high: int | None = None
) -> int | None:
    value = lookup(variable)
    if value is None:
        return None
    number = as_whole_number(value, default=low - 1, low=low, high=high)
    if number < low:
        warn(f"{variable} is not a valid number and is ignored.")
        return None
    return number
