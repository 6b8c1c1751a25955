"""Preview of what would be forgotten or deleted, and when, under changed settings.

The counts come from the functions that act: ``gateway.session_expiry`` for chats of the gateway,
the store's own selection for stored sessions. Nothing is changed.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import CancelledError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, SessionResetPolicy
from hermes_desktop.gateway.sessions.session_expiry import (
    DAY_S,
    moment_after,
    policy_reason,
    stale_keys,
)
from hermes_desktop.gateway.sessions.session_records import SessionEntry
from hermes_desktop.gateway.sessions.session_routing import RoutingFiles
from hermes_desktop.services.assembly.history_upkeep import LastPrune, last_prune
from hermes_desktop.services.settings.history_options import UpkeepSettings
from hermes_desktop.services.settings.settings_repository import PreviewedSettings
from hermes_desktop.state import SessionDB
from hermes_desktop.state.sessions.bulk_selection import SparedCounts

FRESH_S = 10.0
"""Seconds during which chats are counted again without being re-read."""

_CHECK_EVERY = 500
_Entries = Mapping[str, SessionEntry]


@dataclass(frozen=True, slots=True)
class ChatName:
    """One chat, for use in a sentence.

    Attributes:
        label: Its name, else that of the sender, else its id.
        platform: As stored; "" when unknown.
        silent_since: Local time of its last message.
    """

    label: str
    platform: str
    silent_since: datetime


@dataclass(frozen=True, slots=True)
class ExpiringChats:
    """Chats whose session the gateway would forget at its next sweep.

    Attributes:
        days: The limit; 0: never.
        chats: The number of chats.
        count: The number of those that would be forgotten.
        oldest: The one of those that has been silent longest.
        next: When the next one of the others would be due if it stays silent; None: never.
    """

    days: int
    chats: int
    count: int
    oldest: ChatName | None = None
    next: datetime | None = None


@dataclass(frozen=True, slots=True)
class ResetRulePreview:
    """The effect of one rule about new sessions on the chats it applies to.

    Attributes:
        kind: The rule's scope: all chats, those of a type, or those of a platform.
        name: The name of the type or platform.
        policy: The rule.
        chats: The number of chats it applies to.
        idle: The number that start a new session with their next message because of the idle time.
        daily: The number that do so because the hour has passed.
        next: When the next one of the others would start a new session if it stays silent.
    """

    kind: Literal["all", "type", "platform"]
    name: str
    policy: SessionResetPolicy
    chats: int
    idle: int = 0
    daily: int = 0
    next: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeletedSessionsPreview:
    """Stored sessions that would be deleted permanently.

    Attributes:
        on: Whether automatic deletion is switched on.
        days: The number of days for which they must be unused.
        sessions: The number of stored sessions.
        count: The number of those that would be deleted.
        spared: The number of old sessions that stay nevertheless, and why.
        oldest: The start of the oldest one to be deleted, epoch seconds.
        not_before: When old sessions are deleted next, epoch seconds; 0: as soon as possible.
        last: The last deletion.
    """

    on: bool
    days: float
    sessions: int
    count: int
    oldest: float | None = None
    not_before: float = 0.0
    spared: SparedCounts = field(default_factory=SparedCounts)
    last: LastPrune = field(default_factory=LastPrune)


@dataclass(frozen=True, slots=True)
class RetentionCounts:
    """Everything that would be forgotten or deleted."""

    chats: ExpiringChats
    rules: tuple[ResetRulePreview, ...]
    stored: DeletedSessionsPreview


class RetentionPreview:
    """Computes the preview on a separate thread. Called on the event loop.

    Args:
        paths: The home.
        db: Conversations and the routing table.
        clock: The clock.
        has_work: Returns whether a chat has background work here, as far as that is known.
    """

    def __init__(
        self,
        paths: HermesPaths,
        db: SessionDB,
        clock: Clock,
        has_work: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._paths = paths
        self._db = db
        self._clock = clock
        self._has_work = has_work
        self._worker = WorkerThreads("settings-preview")
        self._entries: tuple[float, Path, _Entries] | None = None

    async def count(self, wished: PreviewedSettings) -> RetentionCounts:
        """Compute the counts for settings as they would be.

        Cancelling also ends the computation itself at the next opportunity.

        Raises:
            HermesError: The history cannot be read now.
        """
        stop = threading.Event()
        try:
            return await self._worker.run(self.count_now, wished, stop)
        except BaseException:
            stop.set()
            raise

    def count_now(
        self, wished: PreviewedSettings, stop: threading.Event | None = None
    ) -> RetentionCounts:
        """Compute the same, blocking.

        Raises:
            CancelledError: ``stop`` was set.
            HermesError: The history cannot be read now.
        """
        stop = stop or threading.Event()
        config = wished.gateway
        entries = self._chats(config.sessions_dir or self._paths.sessions_dir)
        now = self._clock.now()
        chats = self._forgotten(entries, now, config.session_store_max_age_days)
        _go_on(stop)
        rules = tuple(self._rules(entries, config, now, stop))
        return RetentionCounts(chats, rules, self._stored(wished, stop))

    def close(self) -> None:
        """Stop the worker; never waits."""
        self._worker.close()

    def _chats(self, folder: Path) -> _Entries:
        """Re-read the chats only after a while, as the counts are updated with each key typed."""
        now = self._clock.monotonic()
        if self._entries is None or now - self._entries[0] > FRESH_S or self._entries[1] != folder:
            self._entries = (now, folder, RoutingFiles(folder).look(self._db))
        return self._entries[2]

    def _forgotten(self, entries: _Entries, now: datetime, days: int) -> ExpiringChats:
        stale = stale_keys(entries, now, days, self._has_work)
        gone = [entries[key] for key in stale]
        oldest = min(gone, key=lambda entry: entry.updated_at, default=None)
        known = frozenset(stale)
        left = [entry for key, entry in entries.items() if key not in known]
        coming = self._next_forgotten(left, now, days) if days > 0 else None
        return ExpiringChats(
            days, len(entries), len(stale), None if oldest is None else _named(oldest), coming
        )

    def _next_forgotten(
        self, left: Sequence[SessionEntry], now: datetime, days: int
    ) -> datetime | None:
        """Return when the next chat is due, by the same function evaluated at that time."""
        for entry in sorted(left, key=lambda each: each.updated_at):
            due = moment_after(entry.updated_at, days * DAY_S + 1)
            if due is not None and due > now and stale_keys({"": entry}, due, days, self._has_work):
                return due
        return None

    def _rules(
        self, entries: _Entries, config: GatewayConfig, now: datetime, stop: threading.Event
    ) -> list[ResetRulePreview]:
        found: dict[tuple[Literal["all", "type", "platform"], str], list[SessionEntry]] = {}
        found[("all", "")] = []
        for entry in entries.values():
            if not entry.is_foreign:
                found.setdefault(_rule_of(entry, config), []).append(entry)
        return [
            self._outlook(kind, name, under, config, now, stop)
            for (kind, name), under in found.items()
        ]

    def _outlook(
        self,
        kind: Literal["all", "type", "platform"],
        name: str,
        under: Sequence[SessionEntry],
        config: GatewayConfig,
        now: datetime,
        stop: threading.Event,
    ) -> ResetRulePreview:
        counts = {"idle": 0, "daily": 0}
        coming: datetime | None = None
        for number, entry in enumerate(under):
            if not number % _CHECK_EVERY:
                _go_on(stop)
            reason = policy_reason(entry, config, now, self._has_work)
            if reason is not None:
                counts[reason] += 1
                continue
            due = self._next_reset(entry, config, now)
            coming = due if coming is None or (due is not None and due < coming) else coming
        policy = _policy_of(kind, name, config)
        return ResetRulePreview(kind, name, policy, len(under), **counts, next=coming)

    def _next_reset(
        self, entry: SessionEntry, config: GatewayConfig, now: datetime
    ) -> datetime | None:
        """Return when a silent chat would start a new session: when the policy first says so."""
        policy = config.get_reset_policy(entry.platform, entry.chat_type)
        hour = now.replace(hour=policy.at_hour, minute=0, second=0, microsecond=0)
        moments = (
            moment_after(entry.updated_at, policy.idle_minutes * 60 + 1),
            hour if hour > now else hour + timedelta(days=1),
        )
        for moment in sorted(filter(None, moments)):
            if moment > now and policy_reason(entry, config, moment, self._has_work):
                return moment
        return None

    def _stored(self, wished: PreviewedSettings, stop: threading.Event) -> DeletedSessionsPreview:
        _go_on(stop)
        upkeep = UpkeepSettings.from_mapping(wished.config)
        total = self._db.session_count()
        _go_on(stop)
        found = self._db.prune_selection(upkeep.retention_days)
        return DeletedSessionsPreview(
            on=upkeep.auto_prune,
            days=upkeep.retention_days,
            sessions=total,
            count=len(found.candidates),
            oldest=found.candidates[0].started_at if found.candidates else None,
            not_before=self._db.auto_prune_due_at(upkeep.min_interval_hours),
            spared=found.spared,
            last=last_prune(self._db),
        )


def _rule_of(
    entry: SessionEntry, config: GatewayConfig
) -> tuple[Literal["all", "type", "platform"], str]:
    """Find the rule as ``GatewayConfig.get_reset_policy`` does: the platform's, else the type's."""
    if entry.platform is not None and entry.platform in config.reset_by_platform:
        return "platform", entry.platform.value
    if entry.chat_type in config.reset_by_type:
        return "type", entry.chat_type
    return "all", ""


def _policy_of(kind: str, name: str, config: GatewayConfig) -> SessionResetPolicy:
    if kind == "platform":
        return config.get_reset_policy(Platform(name), "")
    return config.get_reset_policy(None, name)


def _named(entry: SessionEntry) -> ChatName:
    origin = entry.origin
    label = entry.display_name or ""
    if origin is not None:
        label = label or origin.chat_name or origin.user_name or origin.chat_id
    platform = entry.platform.value if entry.platform is not None else ""
    return ChatName(label or entry.session_key, platform, entry.updated_at)


def _go_on(stop: threading.Event) -> None:
    if stop.is_set():
        raise CancelledError("Counting was stopped.")
