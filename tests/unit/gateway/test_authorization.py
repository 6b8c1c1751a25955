"""Who may write to the agent, and who may not."""

import pytest

from hermes_desktop.gateway.authorization import is_authorized
from hermes_desktop.gateway.config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.session import SessionSource


@pytest.mark.parametrize(
    ("allow_from", "user_id", "allowed"),
    [
        (None, "1", False),
        ("2", "1", False),
        ("1, 2", "1", True),
        ("*", "1", True),
        ("*", None, False),
    ],
)
def test_only_who_is_named_may_write(
    allow_from: str | None, user_id: str | None, allowed: bool
) -> None:
    telegram = PlatformConfig(enabled=True, extra={"allow_from": allow_from})
    config = GatewayConfig(platforms={Platform.TELEGRAM: telegram})
    source = SessionSource(Platform.TELEGRAM, "c", user_id=user_id)
    assert is_authorized(source, config) is allowed


def test_the_person_at_this_machine_may_and_nobody_from_nowhere() -> None:
    assert is_authorized(SessionSource(Platform.DESKTOP, "c"), GatewayConfig())
    assert not is_authorized(SessionSource(Platform.SLACK, "c", user_id="1"), GatewayConfig())
    assert not is_authorized(None, GatewayConfig())
