"""Who may write to the agent, and who may not."""

from dataclasses import replace
from typing import Any

import pytest

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.gateway.access.authorization import (
    is_authorized,
    open_policies,
    refuse_open_policies,
    stranger_treatment,
)
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.settings.env_file import layered_lookup
from tests.fakes.senders import CASES, Case


def config_with(extra: dict[str, Any], platform: Platform = Platform.TELEGRAM) -> GatewayConfig:
    return GatewayConfig(platforms={platform: PlatformConfig(enabled=True, extra=extra)})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rules(case: Case) -> None:
    fields = {"platform": "telegram", "chat_id": "c", **case.source}
    platform = Platform(fields.pop("platform"))
    config, lookup = config_with(case.extra, platform), layered_lookup(case.variables)

    def is_paired(name: str, user_id: str) -> bool:
        return name == platform.value and user_id in case.paired

    source = SessionSource(platform=platform, **fields)
    assert is_authorized(source, config, lookup, is_paired) is case.allowed
    assert stranger_treatment(platform, config, lookup) == case.treatment


@pytest.mark.parametrize(
    ("extra", "user_id", "chat_type", "allowed"),
    [
        ({}, "1", "dm", False),
        ({"allow_from": "2"}, "1", "dm", False),
        ({"allow_from": "1, 2"}, "1", "dm", True),
        ({"allow_from": [1]}, "1", "dm", True),
        ({"allow_from": "*"}, "1", "dm", True),
        ({"allow_from": "*"}, None, "dm", False),
        ({"group_allow_from": ["1"]}, "1", "group", True),
        ({"group_allow_from": ["1"]}, "1", "dm", False),
        ({"group_allowed_chats": ["c"]}, "1", "group", True),
        ({"group_allowed_chats": ["c"]}, "1", "dm", False),
    ],
)
def test_lists_in_config_yaml_count_too(
    extra: dict[str, Any], user_id: str | None, chat_type: str, allowed: bool
) -> None:
    source = SessionSource(Platform.TELEGRAM, "c", user_id=user_id, chat_type=chat_type)
    assert is_authorized(source, config_with(extra)) is allowed


def test_the_person_at_this_machine_may_and_nobody_from_nowhere() -> None:
    assert is_authorized(SessionSource(Platform.DESKTOP, "c"), GatewayConfig())
    assert not is_authorized(SessionSource(Platform.SLACK, "c", user_id="1"), GatewayConfig())
    assert not is_authorized(None, GatewayConfig())


def test_the_general_setting_and_mail() -> None:
    config = replace(GatewayConfig(), unauthorized_dm_behavior="ignore")
    assert stranger_treatment(Platform.TELEGRAM, config) == "ignore"
    assert stranger_treatment(Platform.EMAIL, GatewayConfig()) == "ignore"
    explicit = config_with({"unauthorized_dm_behavior": " Pair "}, Platform.EMAIL)
    assert stranger_treatment(Platform.EMAIL, explicit) == "pair"


def test_open_policies_that_nobody_meant_are_found() -> None:
    config = config_with({"dm_policy": "Open", "group_policy": "open"})
    assert open_policies(config) == ("telegram.dm_policy", "telegram.group_policy")
    with pytest.raises(RefusedError, match="Anyone could write") as refused:
        refuse_open_policies(config)
    assert "telegram.dm_policy" in refused.value.detail
    assert "TELEGRAM_ALLOW_ALL_USERS=true" in refused.value.hint
    for name in ("TELEGRAM_ALLOW_ALL_USERS", "GATEWAY_ALLOW_ALL_USERS"):
        refuse_open_policies(config, layered_lookup({name: "true"}))
    refuse_open_policies(config_with({"dm_policy": "allowlist"}))
    off = GatewayConfig(platforms={Platform.TELEGRAM: PlatformConfig(extra={"dm_policy": "open"})})
    refuse_open_policies(off)
