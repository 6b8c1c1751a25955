"""The same files and variables mean the same configuration to both programs.

Not compared: what is ours to add (the age of routing entries and the policies by type and by
platform in config.yaml), and whether a platform is on whose add-on the real program lacks here.
"""

import json
from typing import Any

import pytest
import yaml

from hermes_desktop.core.paths import resolve_paths
from hermes_desktop.services.settings.gateway_settings import load_gateway_config

TOKEN = {"TELEGRAM_BOT_TOKEN": "123456:abcdef"}

CASES: dict[str, tuple[Any, Any, dict[str, str]]] = {
    "nothing": (None, None, {}),
    "nested": (
        {
            "gateway": {
                "streaming": {"mode": "draft", "buffer_threshold": "9"},
                "max_concurrent_sessions": "3",
                "systemd_watchdog_seconds": 20,
                "multiplex_profiles": True,
                "thread_sessions_per_user": 1,
                "write_sessions_json": "no",
                "filter_silence_narration": 0,
                "reset_triggers": ["/x"],
                "session_reset": {"mode": "idle", "idle_minutes": 5},
                "unauthorized_dm_behavior": " Ignore",
                "stt": {"enabled": False},
            }
        },
        None,
        {},
    ),
    "rubbish outside": (
        {
            "session_reset": 5,
            "quick_commands": [1],
            "max_concurrent_sessions": 0,
            "always_log_local": "off",
            "stt": {"enabled": "no"},
            "stt_echo_transcripts": False,
            "gateway": {
                "session_reset": {"mode": "idle"},
                "quick_commands": {"a": 1},
                "max_concurrent_sessions": 3,
            },
        },
        None,
        {"SESSION_IDLE_MINUTES": "x", "SESSION_RESET_HOUR": "y"},
    ),
    "out of range": ({"session_reset": {"mode": "daily", "at_hour": 25, "idle_minutes": 0}}, None,
                     {}),
    "below and above": (
        {"session_reset": {"mode": "daily"}, "platforms": {"telegram": {"extra": {"b": 2}}}},
        {
            "default_reset_policy": {"mode": "both", "idle_minutes": 7},
            "session_store_max_age_days": 7,
            "group_sessions_per_user": False,
            "reset_by_type": {"group": {"mode": "idle"}},
            "reset_by_platform": {"telegram": {"mode": "daily"}},
            "platforms": {"telegram": {"token": "from-below", "extra": {"a": 1, "b": 1}}},
        },
        {"SESSION_IDLE_MINUTES": "9", "SESSION_RESET_HOUR": "2", "GATEWAY_MULTIPLEX_PROFILES": "1"},
    ),
    "own block": (
        {
            "telegram": {
                "allow_from": [2],
                "group_policy": "open",
                "channel_prompts": {5: "hi"},
                "mention_patterns": ["z"],
                "notfound": 1,
                "extra": {"y": 1},
                "token": "ignored",
            },
            "platforms": {
                "telegram": {"enabled": True, "dm_policy": "open", "typing_indicator": False}
            },
            "require_mention": True,
        },
        None,
        TOKEN,
    ),
    "nested block": (
        {"gateway": {"platforms": {"telegram": {"allow_from": [1], "extra": {"a": 1}}}}},
        None,
        {**TOKEN, "TELEGRAM_REPLY_TO_MODE": "all", "TELEGRAM_HOME_CHANNEL": "5",
         "TELEGRAM_HOME_CHANNEL_NAME": "Hall", "TELEGRAM_HOME_CHANNEL_THREAD_ID": "3"},
    ),
    "off in so many words": ({"telegram": {"enabled": False, "allow_from": "1,2"}}, None, TOKEN),
    "a placeholder": (None, None, {"TELEGRAM_BOT_TOKEN": "changeme"}),
    "servers": (
        None,
        None,
        {"API_SERVER_KEY": "k", "API_SERVER_PORT": "99", "API_SERVER_CORS_ORIGINS": "a,b",
         "API_SERVER_MODEL_NAME": "m", "WEBHOOK_ENABLED": "1", "WEBHOOK_PORT": "8",
         "WEBHOOK_SECRET": "s"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_both_read_the_same(hermes: Any, case: str) -> None:
    data, legacy, variables = CASES[case]
    if data is not None:
        text = yaml.safe_dump(data)
        (hermes.home / "config.yaml").write_text(text, encoding="utf-8")
    if legacy is not None:
        (hermes.home / "gateway.json").write_text(json.dumps(legacy), encoding="utf-8")
    theirs = hermes.script("show_gateway_config.py", json.dumps(variables))
    environ = {**hermes.environment(), **variables}
    ours = load_gateway_config(resolve_paths(environ), environ).config
    assert json.loads(json.dumps(ours.to_dict())) == theirs
