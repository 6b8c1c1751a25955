"""Which commands a person may use."""

from typing import Any

import pytest

from hermes_desktop.gateway.access.authorization import command_access
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.session import SessionSource


@pytest.mark.parametrize(
    ("extra", "user_id", "chat_type", "allowed", "refused"),
    [
        ({}, "9", "dm", "new status", ""),
        ({"allow_admin_from": []}, "9", "dm", "new", ""),
        ({"allow_admin_from": "1, 2"}, "2", "dm", "new status", ""),
        ({"allow_admin_from": [1]}, "1", "dm", "new", ""),
        ({"allow_admin_from": "1"}, "9", "dm", "help whoami", "new commands status"),
        ({"allow_admin_from": "1"}, None, "dm", "help", "new"),
        ({"allow_admin_from": "1"}, "9", "group", "new", ""),
        ({"group_allow_admin_from": "1"}, "9", "thread", "help", "new"),
        ({"group_allow_admin_from": "1"}, "9", "dm", "new", ""),
        ({"allow_admin_from": "*"}, "9", "dm", "help", "new"),
        (
            {"allow_admin_from": "1", "user_allowed_commands": "/Status, new"},
            "9",
            "dm",
            "status new",
            "stop",
        ),
        (
            {"group_allow_admin_from": "1", "group_user_allowed_commands": ["stop"]},
            "9",
            "group",
            "stop",
            "new",
        ),
        ({"user_allowed_commands": ["status"]}, "9", "dm", "new", ""),
    ],
)
def test_who_may_do_what(
    extra: dict[str, Any], user_id: str | None, chat_type: str, allowed: str, refused: str
) -> None:
    config = GatewayConfig(platforms={Platform.TELEGRAM: PlatformConfig(extra=extra)})
    source = SessionSource(Platform.TELEGRAM, "c", user_id=user_id, chat_type=chat_type)
    access = command_access(source, config)
    assert all(access.allows(name) for name in allowed.split())
    assert not any(access.allows(name) for name in refused.split())
    assert access.is_admin is (not refused)


def test_the_person_at_this_machine_may_do_all() -> None:
    config = GatewayConfig(
        platforms={Platform.DESKTOP: PlatformConfig(extra={"allow_admin_from": "1"})}
    )
    assert command_access(SessionSource(Platform.DESKTOP, "c"), config).allows("new")
