"""When a chat starts afresh, when its entry goes, when to look again."""

from datetime import datetime

import pytest

from hermes_desktop.gateway.config.gateway_config import SessionResetPolicy
from hermes_desktop.gateway.sessions.session_expiry import is_prunable, prune_due, reset_reason


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-03-{text}")


@pytest.mark.parametrize(
    ("mode", "updated", "now", "reason"),
    [
        ("none", "01T00:00", "31T00:00", None),
        ("idle", "01T12:00", "01T12:30", None),
        ("idle", "01T12:00", "01T12:30:01", "idle"),
        ("daily", "01T05:00", "02T03:59", None),
        ("daily", "01T05:00", "02T04:00", "daily"),
        ("daily", "01T03:59", "01T04:00", "daily"),
        ("daily", "01T04:00", "01T23:00", None),
        ("both", "01T03:00", "01T05:00", "idle"),
        ("both", "01T03:50", "01T04:10", "daily"),
    ],
)
def test_reset(mode: str, updated: str, now: str, reason: str | None) -> None:
    policy = SessionResetPolicy(mode=mode, at_hour=4, idle_minutes=30)
    assert reset_reason(policy, at(updated), at(now)) == reason


def test_prune_by_age() -> None:
    assert is_prunable(at("01T00:00"), at("04T00:00:01"), 3)
    assert not is_prunable(at("01T00:00"), at("04T00:00"), 3)


def test_prune_once_an_hour_and_at_the_first_look() -> None:
    assert prune_due(1_700_000_000.0, 0.0)
    assert not prune_due(1_700_000_000.0, 1_700_000_000.0 - 3600)
    assert prune_due(1_700_000_000.0, 1_700_000_000.0 - 3601)
