"""Translation of config.yaml into the gateway's configuration, from every supported location.

A key may appear at the top level or inside ``gateway:``; where the top level has it, even with an
invalid value, the inner one is ignored.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hermes_desktop.gateway.config.coercion import as_mapping
from hermes_desktop.gateway.config.config_platforms import Platform

EXPLICIT = "_enabled_explicit"
"""Key in a platform's ``extra`` while loading: config.yaml switches it on or off explicitly."""

Warn = Callable[[str], None]

_SAME_NAME = (
    "reset_by_type",
    "reset_by_platform",
    "reset_triggers",
    "write_sessions_json",
    "always_log_local",
    "filter_silence_narration",
    "group_sessions_per_user",
    "thread_sessions_per_user",
    "max_concurrent_sessions",
    "multiplex_profiles",
    "unauthorized_dm_behavior",
    "session_store_max_age_days",
    "profile_routes",
)
_SHARED = (
    "unauthorized_dm_behavior",
    "notice_delivery",
    "reply_prefix",
    "reply_in_thread",
    "cron_continuable_surface",
    "require_mention",
    "free_response_channels",
    "mention_patterns",
    "exclusive_bot_mentions",
    "dm_policy",
    "allow_from",
    "allow_admin_from",
    "user_allowed_commands",
    "group_policy",
    "group_allow_from",
    "group_allow_admin_from",
    "group_user_allowed_commands",
    "channel_prompts",
    "gateway_restart_notification",
    "typing_indicator",
    "typing_status_text",
)
_OWN: Mapping[Platform, tuple[str, ...]] = {
    Platform.TELEGRAM: (
        "allowed_chats",
        "group_allowed_chats",
        "allowed_topics",
        "free_response_chats",
        "observe_unmentioned_group_messages",
    ),
    Platform.DISCORD: ("channel_skill_bindings",),
    Platform.SLACK: ("channel_skill_bindings",),
}

Block = dict[str, Any]


def merge_yaml(base: Mapping[str, Any], data: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Apply config.yaml to a configuration.

    Args:
        base: The content of gateway.json, in the shape of ``GatewayConfig.to_dict``.
        data: config.yaml as read.
        warn: Called with a sentence about each invalid setting.

    Returns:
        The input of ``GatewayConfig.from_dict``; platforms may carry :data:`EXPLICIT`.
    """
    inner = as_mapping(data.get("gateway"))
    found = {**inner, **{key: value for key, value in data.items() if key != "gateway"}}
    merged = dict(base)
    merged |= {name: found[name] for name in _SAME_NAME if name in found}
    for name, field in (("session_reset", "default_reset_policy"), ("streaming", "streaming")):
        if name in found:
            merged[field] = found[name]
            if not isinstance(found[name], Mapping | None):
                warn(f"{name} in config.yaml is not a group of settings; the defaults are used.")
    if isinstance(found.get("quick_commands"), Mapping):
        merged["quick_commands"] = found["quick_commands"]
    elif "quick_commands" in found:
        warn("quick_commands in config.yaml is not a group of commands and is ignored.")
    speech = as_mapping(found.get("stt"))
    for name in ("enabled", "echo_transcripts"):
        if name in speech:
            merged[f"stt_{name}"] = speech[name]
    if "stt_echo_transcripts" in found:
        merged["stt_echo_transcripts"] = found["stt_echo_transcripts"]
    if "systemd_watchdog_seconds" in inner:
        merged["systemd_watchdog_seconds"] = inner["systemd_watchdog_seconds"]
    merged["platforms"] = _platforms(base, data, inner)
    return merged


def _platforms(
    base: Mapping[str, Any], data: Mapping[str, Any], inner: Mapping[str, Any]
) -> dict[str, Block]:
    """Return the settings of each platform, merged from all their possible locations."""
    written: dict[str, Block] = {}
    for group in (inner.get("platforms"), data.get("platforms")):
        for name, block in as_mapping(group).items():
            _lay_over(written.setdefault(_name(name), {}), as_mapping(block), explicit=True)
    blocks: dict[str, Block] = {}
    for group, explicit in ((base.get("platforms"), False), (written, True)):
        for name, block in as_mapping(group).items():
            _lay_over(blocks.setdefault(_name(name), {}), as_mapping(block), explicit=explicit)
    for platform in Platform:
        top = data.get(platform.value)
        own = as_mapping(top if platform.value in data else written.get(platform.value))
        if own:
            block = blocks.setdefault(platform.value, {})
            _bridge(block, own, platform, top_level=platform.value in data)
    if "require_mention" in data:
        extra = blocks.setdefault(Platform.TELEGRAM.value, {}).setdefault("extra", {})
        extra.setdefault("require_mention", data["require_mention"])
    return blocks


def _name(name: object) -> str:
    return str(name).strip().lower()


def _lay_over(known: Block, block: Mapping[str, Any], *, explicit: bool) -> None:
    extra = {**as_mapping(known.get("extra")), **as_mapping(block.get("extra"))}
    if explicit and "enabled" in block:
        extra[EXPLICIT] = True
    known.update(block)
    known["extra"] = extra


def _bridge(block: Block, own: Mapping[str, Any], platform: Platform, *, top_level: bool) -> None:
    """Copy the settings in a platform's own block to where they are read from."""
    if top_level:
        taken = {key: own[key] for key in ("enabled", "extra") if key in own}
        _lay_over(block, taken, explicit=True)
        if "channel_overrides" in own:
            block["channel_overrides"] = own["channel_overrides"]
    extra = block.setdefault("extra", {})
    for key in (*_SHARED, *_OWN.get(platform, ())):
        if key in own:
            extra[key] = own[key]
    prompts = extra.get("channel_prompts")
    if isinstance(prompts, Mapping):
        extra["channel_prompts"] = {str(key): value for key, value in prompts.items()}
