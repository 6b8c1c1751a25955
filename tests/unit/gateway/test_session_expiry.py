"""When a chat starts afresh, when its entry goes, when to look again."""

import threading
from datetime import datetime

import pytest

from hermes_desktop.gateway.config.coercion import LARGEST, as_number
from hermes_desktop.gateway.config.config_options import GATEWAY_OPTIONS
from hermes_desktop.gateway.config.config_running import read_running_settings
from hermes_desktop.gateway.config.gateway_config import SessionResetPolicy
from hermes_desktop.gateway.delivery.resume_after_restart import is_fresh
from hermes_desktop.gateway.sessions.session_expiry import (
    is_prunable,
    moment_after,
    prune_due,
    reset_reason,
    start_reason,
)
from hermes_desktop.gateway.sessions.session_records import SessionEntry
from hermes_desktop.gateway.sessions.session_rows import local_time
from hermes_desktop.settings.options import InvalidValueError
from tests.fakes.clock import MovableClock


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


HUGE = [9_999_999_999, 10**18, 10**400]


@pytest.mark.parametrize("minutes", HUGE)
@pytest.mark.parametrize("mode", ["idle", "both"])
def test_a_policy_of_any_length_never_ends_a_chat(mode: str, minutes: int) -> None:
    policy = SessionResetPolicy.from_dict({"mode": mode, "idle_minutes": minutes})
    assert policy.idle_minutes == minutes
    assert reset_reason(policy, at("31T05:00"), at("31T06:00")) is None


@pytest.mark.parametrize("days", HUGE)
def test_no_chat_is_older_than_any_length(days: int) -> None:
    assert not is_prunable(at("01T00:00"), at("31T00:00"), days)
    assert moment_after(at("01T00:00"), days * 86_400) is None


def test_an_interrupted_reply_may_be_resumed_for_any_length() -> None:
    entry = SessionEntry("k", "s", at("01T00:00"), at("01T00:00"), resume_pending=True)
    policy = SessionResetPolicy(mode="idle")
    assert start_reason(entry, None, policy, at("31T00:00"), 1e300) is None
    assert is_fresh(entry, at("31T00:00"), 1e300)


def test_seconds_of_settings_suit_every_timer() -> None:
    found = read_running_settings({"agent": {"restart_drain_timeout": 1e300}}, lambda _: None)
    assert found.restart_drain_timeout_s == LARGEST < threading.TIMEOUT_MAX
    assert as_number("1e300", default=1.0) == LARGEST


def test_a_time_beyond_the_calendar_counts_as_now() -> None:
    clock = MovableClock()
    assert local_time(-1e11, clock) == clock.now()


def test_idle_minutes_have_a_limit() -> None:
    option = next(o for o in GATEWAY_OPTIONS if o.key == "session_reset.idle_minutes")
    assert option.check(52_560_000) == 52_560_000
    with pytest.raises(InvalidValueError) as caught:
        option.check(9_999_999_999)
    assert caught.value.hint == "Set a whole number from 1 to 52560000."
