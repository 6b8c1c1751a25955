"""May a chat's conversation go on, and may its entry be dropped? Decisions over plain values.

Times are local and without a zone, because the routing index stores them so.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, SessionResetPolicy
from hermes_desktop.gateway.sessions.session_records import SessionEntry

PRUNE_INTERVAL_S = 3600.0


def reset_reason(policy: SessionResetPolicy, updated_at: datetime, now: datetime) -> str | None:
    """Why a chat has to start afresh.

    Args:
        policy: The policy of the chat.
        updated_at: When it was last used.
        now: The present.

    Returns:
        ``idle`` or ``daily``, None when the conversation goes on.
    """
    if policy.mode in {"idle", "both"} and now > updated_at + timedelta(
        minutes=policy.idle_minutes
    ):
        return "idle"
    if policy.mode in {"daily", "both"} and updated_at < _last_daily_start(policy.at_hour, now):
        return "daily"
    return None


def policy_reason(
    entry: SessionEntry, config: GatewayConfig, now: datetime, has_work: Callable[[str], bool]
) -> str | None:
    """Why the reset policy of its chat ends a conversation; None when it goes on.

    Args:
        entry: The chat.
        config: Holds the policies.
        now: The present.
        has_work: Whether a chat has background work, which keeps its conversation.
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
    """Why the next message of a chat starts afresh, its marks included.

    Args:
        entry: The chat.
        policy_reason: What its reset policy says (:func:`reset_reason`).
        policy: That policy.
        now: The present.
        fresh_s: For how many seconds an interrupted reply may be taken up again; 0 or less: always.

    Returns:
        ``suspended``, ``idle``, ``daily`` or ``resume_pending_expired``; None to go on.
    """
    if entry.suspended:
        return "suspended"
    if policy_reason is not None or not entry.resume_pending:
        return policy_reason
    if policy.mode == "none" or fresh_s <= 0:
        return None
    marked = entry.last_resume_marked_at or entry.updated_at
    return "resume_pending_expired" if now - marked > timedelta(seconds=fresh_s) else None


def _last_daily_start(at_hour: int, now: datetime) -> datetime:
    today = now.replace(hour=at_hour, minute=0, second=0, microsecond=0)
    return today - timedelta(days=1) if now < today else today


def is_prunable(updated_at: datetime, now: datetime, max_age_days: int) -> bool:
    """Whether an entry has been silent for longer than that many days."""
    return updated_at < now - timedelta(days=max_age_days)


def stale_keys(
    entries: Mapping[str, SessionEntry],
    now: datetime,
    max_age_days: int | None,
    has_work: Callable[[str], bool],
) -> list[str]:
    """Chats that are forgotten now: silent for long, and nothing keeps them.

    Args:
        entries: All chats by key.
        now: The present.
        max_age_days: 0, less or None forget nobody.
        has_work: Whether a chat has background work.
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
    """Whether it is time to prune again. A first look, with ``last_pruned`` 0, always is.

    Args:
        now: Epoch seconds.
        last_pruned: Epoch seconds of the last look, 0.0 for never.
        interval_s: Seconds between two looks.
    """
    return now - last_pruned > interval_s
