"""Expiry rules: whether a chat's session may continue and whether its entry may be dropped.

The decisions are pure functions. Times are local and without a zone, because the routing index
stores them so.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, SessionResetPolicy
from hermes_desktop.gateway.sessions.session_records import SessionEntry

PRUNE_INTERVAL_S = 3600.0
DAY_S = 86_400


def reset_reason(policy: SessionResetPolicy, updated_at: datetime, now: datetime) -> str | None:
    """Return why a chat has to start a new session.

    Args:
        policy: The policy of the chat.
        updated_at: When it was last used.
        now: The current time.

    Returns:
        ``idle`` or ``daily``; None when the session continues.
    """
    # Seconds are compared, because dates and time spans have limits that a setting may exceed.
    idle_s = (now - updated_at).total_seconds()
    if policy.mode in {"idle", "both"} and idle_s > policy.idle_minutes * 60:
        return "idle"
    if policy.mode in {"daily", "both"} and updated_at < _last_daily_start(policy.at_hour, now):
        return "daily"
    return None


def policy_reason(
    entry: SessionEntry, config: GatewayConfig, now: datetime, has_work: Callable[[str], bool]
) -> str | None:
    """Return why the reset policy of its chat ends a session; None when it continues.

    Args:
        entry: The chat.
        config: The source of the policies.
        now: The current time.
        has_work: Returns whether a chat has background work, which keeps its session.
    """
    policy = config.get_reset_policy(entry.platform, entry.chat_type)
    reason = reset_reason(policy, entry.updated_at, now)
    return None if reason is None or has_work(entry.session_key) else reason


def start_reason(
    entry: SessionEntry,
    policy_reason: str | None,
    policy: SessionResetPolicy,
    now: datetime,
    fresh_s: float,
) -> str | None:
    """Return why the next message of a chat starts a new session, considering its marks.

    Args:
        entry: The chat.
        policy_reason: The result of its reset policy (:func:`reset_reason`).
        policy: That policy.
        now: The current time.
        fresh_s: For how many seconds an interrupted reply may be resumed; 0 or less: always.

    Returns:
        ``suspended``, ``idle``, ``daily`` or ``resume_pending_expired``; None to continue.
    """
    if entry.suspended:
        return "suspended"
    if policy_reason is not None or not entry.resume_pending:
        return policy_reason
    if policy.mode == "none" or fresh_s <= 0:
        return None
    marked = entry.last_resume_marked_at or entry.updated_at
    return "resume_pending_expired" if (now - marked).total_seconds() > fresh_s else None


def _last_daily_start(at_hour: int, now: datetime) -> datetime:
    today = now.replace(hour=at_hour, minute=0, second=0, microsecond=0)
    return today - timedelta(days=1) if now < today else today


def is_prunable(updated_at: datetime, now: datetime, max_age_days: int) -> bool:
    """Return whether an entry has been inactive for longer than that many days."""
    return (now - updated_at).total_seconds() > max_age_days * DAY_S


def moment_after(start: datetime, seconds: float) -> datetime | None:
    """Return the moment so many seconds later; None when it is beyond the calendar."""
    try:
        return start + timedelta(seconds=seconds)
    except OverflowError:
        return None


def stale_keys(
    entries: Mapping[str, SessionEntry],
    now: datetime,
    max_age_days: int | None,
    has_work: Callable[[str], bool],
) -> list[str]:
    """Return the chats to drop: inactive for long and not protected.

    Args:
        entries: All chats by key.
        now: The current time.
        max_age_days: 0, less or None drop nothing.
        has_work: Returns whether a chat has background work.
    """
    if max_age_days is None or max_age_days <= 0:
        return []
    return [
        key
        for key, entry in entries.items()
        if is_prunable(entry.updated_at, now, max_age_days) and not _is_kept(entry, has_work)
    ]


def _is_kept(entry: SessionEntry, has_work: Callable[[str], bool]) -> bool:
    return entry.suspended or entry.platform is Platform.DESKTOP or has_work(entry.session_key)


def prune_due(now: float, last_pruned: float, interval_s: float = PRUNE_INTERVAL_S) -> bool:
    """Return whether pruning is due. With ``last_pruned`` 0 it always is.

    Args:
        now: Epoch seconds.
        last_pruned: Epoch seconds of the last pruning, 0.0 for never.
        interval_s: Seconds between two prunings.
    """
    return now - last_pruned > interval_s
