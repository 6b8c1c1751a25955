"""What a gateway that runs takes over, and which platforms are concerned."""

from dataclasses import replace
from typing import Any

import pytest

from hermes_desktop.gateway.config.config_changes import (
    changed_platforms,
    needs_connection,
    split_live_changes,
)
from hermes_desktop.gateway.config.config_running import RunningSettings
from hermes_desktop.gateway.config.gateway_config import (
    GatewayConfig,
    HomeChannel,
    Platform,
    PlatformConfig,
)

TELEGRAM = Platform.TELEGRAM
BEFORE = PlatformConfig(enabled=True, token="1:a", extra={"allow_from": "1", "port": 5})


@pytest.mark.parametrize(
    "change",
    [
        {"home_channel": HomeChannel(TELEGRAM, "5")},
        {"gateway_restart_notification": False},
        {"typing_indicator": False},
        {"reply_to_mode": "off"},
        {"extra": {"allow_from": "2", "port": 5, "dm_policy": "pairing"}},
        {"trouble": "It is locked."},
    ],
)
def test_what_only_the_gateway_looks_at_needs_no_connection(change: dict[str, Any]) -> None:
    assert not needs_connection(BEFORE, replace(BEFORE, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"token": "1:b"},
        {"api_key": "k"},
        {"enabled": False},
        {"extra": {"allow_from": "1", "port": 6}},
        {"extra": {"port": 5, "require_mention": True}},
        {"typing_status_text": "…"},
    ],
)
def test_what_an_adapter_is_made_of_does(change: dict[str, Any]) -> None:
    assert needs_connection(BEFORE, replace(BEFORE, **change))
    old = GatewayConfig(platforms={TELEGRAM: BEFORE, Platform.DISCORD: BEFORE})
    new = replace(old, platforms={**old.platforms, TELEGRAM: replace(BEFORE, **change)})
    assert list(changed_platforms(old, new)) == [TELEGRAM]


def test_one_that_comes_or_goes_is_concerned() -> None:
    old, new = GatewayConfig(), GatewayConfig(platforms={TELEGRAM: BEFORE})
    assert list(changed_platforms(old, new)) == [TELEGRAM]
    assert list(changed_platforms(new, old)) == [TELEGRAM]


def test_what_chats_are_built_on_stays_and_is_named() -> None:
    old = GatewayConfig()
    new = replace(
        old,
        group_sessions_per_user=False,
        session_store_max_age_days=3,
        running=RunningSettings(max_iterations=5, delivery_ledger=False),
    )
    usable, waiting = split_live_changes(old, new)
    assert waiting == ("group_sessions_per_user", "gateway.delivery_ledger")
    assert usable.group_sessions_per_user
    assert usable.session_store_max_age_days == 3
    assert usable.running == RunningSettings(max_iterations=5)
    assert split_live_changes(usable, usable) == (usable, ())


def test_a_secret_that_cannot_be_had_just_now_stays() -> None:
    with_password = replace(BEFORE, extra={**BEFORE.extra, "password": "p"})
    old = GatewayConfig(platforms={TELEGRAM: with_password})
    locked = replace(BEFORE, token="0:of-the-file", extra={"port": 6}, trouble="It is locked.")
    usable, _ = split_live_changes(old, GatewayConfig(platforms={TELEGRAM: locked}))
    found = usable.platforms[TELEGRAM]
    assert (found.token, found.extra) == ("1:a", {"port": 6, "password": "p"})
    fine = replace(locked, trouble="")
    usable, _ = split_live_changes(old, GatewayConfig(platforms={TELEGRAM: fine}))
    assert usable.platforms[TELEGRAM].token == "0:of-the-file"
