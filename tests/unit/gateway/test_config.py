"""Reading the gateway's settings: tolerant of what people write, exact in what comes back."""

import pytest

from hermes_desktop.gateway.config.config_loading import load_gateway_config
from hermes_desktop.gateway.config.gateway_config import (
    GatewayConfig,
    HomeChannel,
    Platform,
    PlatformConfig,
    SessionResetPolicy,
    platform_or_none,
)


def test_a_platform_is_found_by_any_spelling_of_its_name() -> None:
    assert Platform(" Telegram ") is Platform.TELEGRAM
    assert platform_or_none("myspace") is None
    assert platform_or_none(None) is None
    with pytest.raises(ValueError, match="myspace"):
        Platform("myspace")


def test_everything_survives_a_round_trip() -> None:
    config = GatewayConfig(
        platforms={
            Platform.TELEGRAM: PlatformConfig(
                enabled=True,
                token="secret",
                api_key="key",
                home_channel=HomeChannel(Platform.TELEGRAM, "7", "Hall", "3"),
                extra={"allow_from": ["1"], "other": 2},
            )
        },
        default_reset_policy=SessionResetPolicy(mode="both", at_hour=3, notify=False),
        reset_by_type={"group": SessionResetPolicy(mode="idle", idle_minutes=5)},
        reset_by_platform={Platform.SLACK: SessionResetPolicy(mode="daily")},
        group_sessions_per_user=False,
        thread_sessions_per_user=True,
        session_store_max_age_days=30,
    )
    assert GatewayConfig.from_dict(config.to_dict()) == config
    assert GatewayConfig.from_dict(GatewayConfig().to_dict()) == GatewayConfig()


@pytest.mark.parametrize("data", [None, [], "text", 5, {"platforms": [], "reset_by_type": "x"}])
def test_nonsense_means_the_defaults(data: object) -> None:
    assert GatewayConfig.from_dict(data) == GatewayConfig()


@pytest.mark.parametrize(
    ("given", "days"),
    [("7", 7), (7, 7), (-1, 0), (0, 0), (None, 90), ("nope", 90), ([], 90), (float("inf"), 90)],
)
def test_days_are_read_with_care(given: object, days: int) -> None:
    config = load_gateway_config({"session_store_max_age_days": given}).config
    assert config.session_store_max_age_days == days


@pytest.mark.parametrize(
    ("given", "expected"),
    [("yes", True), ("OFF", False), (0, False), (1, True), ("maybe", True), (None, True)],
)
def test_a_yes_or_no_has_many_words(given: object, expected: bool) -> None:
    config = load_gateway_config({"gateway": {"group_sessions_per_user": given}}).config
    assert config.group_sessions_per_user is expected


def test_the_top_level_wins_even_with_a_useless_value() -> None:
    data = {
        "session_reset": None,
        "session_store_max_age_days": "nope",
        "gateway": {
            "session_reset": {"mode": "idle"},
            "session_store_max_age_days": 5,
            "reset_by_type": {"group": {"mode": "daily"}},
            "reset_by_platform": {"slack": {"mode": "both"}, "myspace": {"mode": "both"}},
        },
    }
    config = load_gateway_config(data).config
    assert config.default_reset_policy.mode == "none"
    assert config.session_store_max_age_days == 90
    assert config.get_reset_policy(Platform.TELEGRAM, "group").mode == "daily"
    assert config.get_reset_policy(Platform.SLACK, "group").mode == "both"
    assert config.get_reset_policy(Platform.TELEGRAM, "dm").mode == "none"
    top = load_gateway_config({**data, "reset_by_type": {"group": {"mode": "idle"}}}).config
    assert top.get_reset_policy(None, "group").mode == "idle"


def test_the_desktop_chat_never_starts_afresh_by_itself() -> None:
    daily = SessionResetPolicy(mode="daily")
    config = GatewayConfig(default_reset_policy=daily, reset_by_platform={Platform.DESKTOP: daily})
    assert config.get_reset_policy(Platform.DESKTOP, "dm").mode == "none"


def test_a_policy_out_of_range_is_put_right() -> None:
    policy = SessionResetPolicy.from_dict(
        {"mode": "sometimes", "at_hour": 24, "idle_minutes": 0, "notify": None}
    )
    assert policy == SessionResetPolicy()
    excluded = SessionResetPolicy.from_dict({"notify_exclude_platforms": ["sms"]})
    assert excluded.notify_exclude_platforms == ("sms",)


def test_platform_settings_come_together_from_their_places() -> None:
    config = load_gateway_config(
        {
            "gateway": {"platforms": {"telegram": {"enabled": True, "extra": {"a": 1, "b": 1}}}},
            "platforms": {"telegram": {"token": "t", "extra": {"b": 2}}, "myspace": {}},
            "telegram": {"allow_from": [12, " 34 "]},
        }
    ).config
    telegram = config.platforms[Platform.TELEGRAM]
    assert (telegram.enabled, telegram.token) == (True, "t")
    assert (telegram.extra["a"], telegram.extra["b"]) == (1, 2)
    assert list(config.platforms) == [Platform.TELEGRAM]


def test_a_broken_home_channel_is_none() -> None:
    assert PlatformConfig.from_dict({"home_channel": {"platform": "telegram"}}).home_channel is None
    home = {"platform": "telegram", "chat_id": 7}
    found = PlatformConfig.from_dict({"home_channel": home}).home_channel
    assert found == HomeChannel(Platform.TELEGRAM, "7", "Home")
    assert "thread_id" not in found.to_dict()


def test_secrets_are_not_shown() -> None:
    config = PlatformConfig(token="s3cret", api_key="k3y")
    assert "s3cret" not in repr(config)
    assert "k3y" not in repr(config)
