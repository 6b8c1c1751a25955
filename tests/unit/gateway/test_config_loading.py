"""The gateway's configuration from its layers: every place of a key, variables, checks."""

from typing import Any

import pytest

from hermes_desktop.gateway.config.config_loading import LoadedGatewayConfig, load_gateway_config
from hermes_desktop.gateway.config.config_running import RunningSettings, read_running_settings
from hermes_desktop.gateway.config.gateway_config import (
    ChannelOverride,
    GatewayConfig,
    HomeChannel,
    Platform,
    PlatformConfig,
    StreamingConfig,
)


def load(
    data: dict[str, Any] | None = None, legacy: dict[str, Any] | None = None, **variables: str
) -> LoadedGatewayConfig:
    return load_gateway_config(data or {}, legacy=legacy, lookup=variables.get)


def telegram(data: dict[str, Any], **variables: str) -> PlatformConfig:
    return load(data, **variables).config.platforms[Platform.TELEGRAM]


FLAGS = {
    "always_log_local": True,
    "filter_silence_narration": True,
    "write_sessions_json": True,
    "group_sessions_per_user": True,
    "thread_sessions_per_user": False,
    "multiplex_profiles": False,
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_switch_stands_at_either_place_and_the_outer_one_wins(name: str) -> None:
    other = not FLAGS[name]
    assert getattr(load({}).config, name) is FLAGS[name]
    assert getattr(load({name: other}).config, name) is other
    assert getattr(load({"gateway": {name: str(other)}}).config, name) is other
    both = {name: "rubbish", "gateway": {name: other}}
    assert getattr(load(both).config, name) is FLAGS[name]


def test_the_other_keys_at_either_place() -> None:
    inner = {
        "reset_triggers": ["/fresh"],
        "quick_commands": {"a": {"type": "exec"}},
        "stt": {"enabled": "no", "echo_transcripts": "off"},
        "max_concurrent_sessions": "3",
        "systemd_watchdog_seconds": 20,
        "unauthorized_dm_behavior": " IGNORE ",
        "streaming": {"mode": "draft", "buffer_threshold": "9"},
        "profile_routes": [{"to": "x"}, 5],
        "session_reset": {"mode": "both"},
        "session_store_max_age_days": 5,
        "reset_by_type": {"group": {"mode": "idle"}},
        "reset_by_platform": {"Slack": {"mode": "daily"}},
    }
    for data in ({"gateway": inner}, {**inner, "gateway": {"systemd_watchdog_seconds": 20}}):
        config = load(data).config
        assert config.reset_triggers == ("/fresh",)
        assert config.quick_commands == {"a": {"type": "exec"}}
        assert (config.stt_enabled, config.stt_echo_transcripts) == (False, False)
        assert (config.max_concurrent_sessions, config.systemd_watchdog_seconds) == (3, 20)
        assert config.unauthorized_dm_behavior == "ignore"
        assert config.streaming == StreamingConfig(
            enabled=True, transport="draft", buffer_threshold=9
        )
        assert config.profile_routes == ({"to": "x"},)
        assert config.session_store_max_age_days == 5
        assert config.get_reset_policy(None, "dm").mode == "both"
        assert config.get_reset_policy(None, "group").mode == "idle"
        assert config.get_reset_policy(Platform.SLACK, "group").mode == "daily"
        assert GatewayConfig.from_dict(config.to_dict()) == config
    assert load({"stt_echo_transcripts": False}).config.stt_echo_transcripts is False


def test_gateway_json_lies_below_and_is_not_mixed_into_a_policy() -> None:
    legacy = {
        "default_reset_policy": {"mode": "both", "idle_minutes": 5},
        "session_store_max_age_days": 7,
        "platforms": {"telegram": {"token": "legacy", "extra": {"a": 1, "b": 1}}},
        "sessions_dir": "/elsewhere",
    }
    assert load(legacy=legacy).config.default_reset_policy.idle_minutes == 5
    data = {
        "session_reset": {"mode": "daily"},
        "gateway": {"platforms": {"telegram": {"extra": {"b": 2, "c": 2}}}},
        "platforms": {"telegram": {"extra": {"c": 3}}},
    }
    config = load(data, legacy).config
    assert config.default_reset_policy.idle_minutes == 1440
    assert config.session_store_max_age_days == 7
    assert str(config.sessions_dir) == "/elsewhere"
    settings = config.platforms[Platform.TELEGRAM]
    assert (settings.token, dict(settings.extra)) == ("legacy", {"a": 1, "b": 2, "c": 3})


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({"quick_commands": [1], "gateway": {"quick_commands": {"a": 1}}}, "quick_commands"),
        ({"session_reset": 5}, "session_reset"),
        ({"session_reset": {"at_hour": 25}}, "at_hour"),
        ({"session_reset": {"idle_minutes": 0}}, "idle_minutes"),
        ({"session_reset": {"mode": "sometimes"}}, "mode"),
        ({"session_reset": {"mode": ["daily"]}}, "mode"),
        ({"telegram": {"enabled": True}}, "TELEGRAM_BOT_TOKEN"),
    ],
)
def test_what_makes_no_sense_is_named(data: dict[str, Any], word: str) -> None:
    loaded = load(data)
    assert [word in warning for warning in loaded.warnings] == [True]
    assert loaded.config.quick_commands == {}
    assert loaded.config.default_reset_policy.to_dict() == (
        GatewayConfig().default_reset_policy.to_dict()
    )


def test_yaml_words_for_no_are_no_mistake() -> None:
    assert load({"session_reset": {"mode": False}}).warnings == ()
    assert load({"streaming": {"mode": False}}).config.streaming.transport == "off"
    assert load({"streaming": {"transport": True}}).config.streaming == StreamingConfig()
    on_but_off = load({"streaming": {"mode": "edit", "enabled": False}}).config.streaming
    assert (on_but_off.enabled, on_but_off.transport) == (False, "edit")
    assert telegram({"platforms": {"telegram": {"reply_to_mode": False}}}).reply_to_mode == "off"


def test_a_platforms_own_block_reaches_its_settings() -> None:
    data = {
        "telegram": {
            "enabled": "yes",
            "allow_from": [1],
            "channel_prompts": {5: "be kind"},
            "allowed_chats": [7],
            "channel_skill_bindings": {"not": "for telegram"},
            "typing_indicator": False,
            "channel_overrides": {9: {"model": "m"}, 8: "rubbish"},
            "extra": {"own": 1},
            "token": "never taken from here",
        },
        "platforms": {"telegram": {"allow_from": [2], "dm_policy": "open", "token": "abcdef"}},
    }
    settings = telegram(data)
    assert settings.extra == {
        "allow_from": [1],
        "channel_prompts": {"5": "be kind"},
        "allowed_chats": [7],
        "typing_indicator": False,
        "own": 1,
    }
    assert (settings.enabled, settings.token, settings.typing_indicator) == (True, "abcdef", False)
    assert settings.channel_overrides == {"9": ChannelOverride(model="m")}
    del data["telegram"]
    assert telegram(data).extra == {"allow_from": [2], "dm_policy": "open"}


def test_mentions_for_telegram() -> None:
    assert telegram({"require_mention": True}).extra == {"require_mention": True}
    own = {"require_mention": True, "telegram": {"require_mention": False}}
    assert telegram(own).extra == {"require_mention": False}


def test_a_token_switches_its_platform_on_unless_that_is_said_to_be_off() -> None:
    token = {"TELEGRAM_BOT_TOKEN": "123456:abc"}
    assert telegram({}, **token).enabled
    assert telegram({"telegram": {"allow_from": []}}, **token).enabled
    for data in (
        {"telegram": {"enabled": False}},
        {"platforms": {"telegram": {"enabled": "no"}}},
        {"gateway": {"platforms": {"telegram": {"enabled": 0}}}},
    ):
        settings = telegram(data, **token)
        assert (settings.enabled, settings.token) == (False, "123456:abc")
        assert "_enabled_explicit" not in settings.extra
    legacy = {"platforms": {"telegram": {"enabled": False}}}
    assert load(legacy=legacy, **token).config.platforms[Platform.TELEGRAM].enabled


@pytest.mark.parametrize(
    "token",
    ["your_token_here", "YOUR-BOT-TOKEN", "changeme", "change_me", "xxx", "<token>", "None",
     "placeholder", "${TELEGRAM_BOT_TOKEN}", "***"],
)  # fmt: skip
def test_a_placeholder_is_no_token(token: str) -> None:
    loaded = load(TELEGRAM_BOT_TOKEN=token)
    assert not loaded.config.platforms[Platform.TELEGRAM].enabled
    assert [("placeholder" in text, token in text) for text in loaded.warnings] == [
        (True, token == "placeholder")
    ]


def test_variables_of_the_platforms() -> None:
    config = load(
        TELEGRAM_HOME_CHANNEL="5",
        TELEGRAM_HOME_CHANNEL_NAME="Hall",
        TELEGRAM_HOME_CHANNEL_THREAD_ID="3",
        TELEGRAM_REPLY_TO_MODE="all",
        DISCORD_BOT_TOKEN="dt-123",
        MATRIX_HOMESERVER="https://m",
        MATRIX_PASSWORD="pw",
        MATRIX_ENCRYPTION="true",
        MATRIX_HOME_ROOM="!r",
        EMAIL_ADDRESS="a@b",
        EMAIL_PASSWORD="pw",
        EMAIL_IMAP_HOST="i",
        EMAIL_SMTP_HOST="s",
        EMAIL_HOME_ADDRESS="h@b",
        API_SERVER_KEY="k",
        API_SERVER_PORT="99",
        API_SERVER_CORS_ORIGINS="a, b,",
        WEBHOOK_ENABLED="1",
        WEBHOOK_PORT="port",
    )
    platforms = config.config.platforms
    assert platforms[Platform.TELEGRAM].home_channel == HomeChannel(
        Platform.TELEGRAM, "5", "Hall", "3"
    )
    assert not platforms[Platform.TELEGRAM].enabled
    assert platforms[Platform.TELEGRAM].reply_to_mode == "all"
    assert platforms[Platform.MATRIX].extra["encryption"] is True
    assert platforms[Platform.MATRIX].home_channel.chat_id == "!r"
    assert platforms[Platform.API_SERVER].extra == {
        "key": "k",
        "port": 99,
        "cors_origins": ["a", "b"],
    }
    assert [text.split()[0] for text in config.warnings] == ["WEBHOOK_PORT"]
    assert config.config.get_connected_platforms() == [
        Platform.API_SERVER,
        Platform.DISCORD,
        Platform.EMAIL,
        Platform.MATRIX,
        Platform.WEBHOOK,
    ]
    assert "pw" not in repr(config.config)


def test_half_of_what_a_platform_needs_does_not_switch_it_on() -> None:
    platforms = load(
        EMAIL_ADDRESS="a@b", MATRIX_HOMESERVER="https://m", API_SERVER_PORT="9"
    ).config.platforms
    assert not any(settings.enabled for settings in platforms.values())


def test_variables_of_the_reset_policy() -> None:
    data = {"session_reset": {"mode": "both", "at_hour": 3}}
    loaded = load(data, SESSION_IDLE_MINUTES="7", GATEWAY_MULTIPLEX_PROFILES="yes")
    policy = loaded.config.default_reset_policy
    assert (policy.mode, policy.at_hour, policy.idle_minutes) == ("both", 3, 7)
    assert loaded.config.multiplex_profiles
    loaded = load(data, SESSION_IDLE_MINUTES="0", SESSION_RESET_HOUR="24")
    assert len(loaded.warnings) == 2
    assert loaded.config.default_reset_policy.at_hour == 3


@pytest.mark.parametrize(
    ("given", "limit"), [(None, None), (0, None), (-1, None), (True, None), ("x", None), ("4", 4)]
)
def test_how_many_turns_at_once(given: object, limit: int | None) -> None:
    assert load({"max_concurrent_sessions": given}).config.max_concurrent_sessions == limit


def test_how_patiently_it_runs() -> None:
    assert read_running_settings({}, {}.get) == RunningSettings()
    data = {
        "agent": {"max_turns": 5, "gateway_timeout": 0, "restart_drain_timeout": "nan"},
        "display": {"busy_input_mode": " Queue ", "busy_ack_enabled": False},
        "gateway": {"platform_connect_timeout": 3},
    }
    variables = {"HERMES_MAX_ITERATIONS": "7", "HERMES_AUTO_CONTINUE_FRESHNESS": "60"}
    settings = load(data, **variables).config.running
    assert settings == RunningSettings(
        max_iterations=5,
        agent_timeout_s=0,
        resume_fresh_s=60,
        busy_input_mode="queue",
        busy_ack_enabled=False,
        platform_connect_timeout_s=3,
    )
    assert read_running_settings({"display": {"busy_input_mode": "shout"}}, {}.get) == (
        RunningSettings()
    )


def test_settings_of_a_platform_survive_a_round_trip() -> None:
    settings = PlatformConfig(
        enabled=True,
        reply_to_mode="all",
        gateway_restart_notification=False,
        typing_indicator=False,
        typing_status_text="thinks",
        channel_overrides={"1": ChannelOverride("m", "p", "s")},
    )
    assert PlatformConfig.from_dict(settings.to_dict()) == settings
    assert (
        PlatformConfig.from_dict({"extra": {"typing_status_text": "x"}}).typing_status_text == "x"
    )


def test_whether_commands_that_take_something_away_are_asked_about() -> None:
    assert load({}).config.running.confirm_destructive_commands
    data = {"approvals": {"destructive_slash_confirm": "no"}}
    assert not load(data).config.running.confirm_destructive_commands
