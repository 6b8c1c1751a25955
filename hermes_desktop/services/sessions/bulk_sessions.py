"""Operations on many sessions chosen by a filter. Blocking; may be called on any thread."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, silent
from hermes_desktop.state.sessions.bulk_selection import (
    DAY_S,
    Candidate,
    Selection,
    SessionFilter,
    SparedCounts,
)

PRUNE_AGE_S = 90 * DAY_S


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """The sessions a bulk operation affects, found by the same query that the operation uses.

    Attributes:
        choice: The filter, with times instead of ages, so that it selects the same sessions later.
        candidates: The sessions, the oldest first.
        spared: Sessions that stay although the user might expect them to be selected.
        pinned: The number of pinned candidates.
    """

    choice: SessionFilter
    candidates: tuple[Candidate, ...]
    spared: SparedCounts = field(default_factory=SparedCounts)
    pinned: int = 0

    @classmethod
    def of(cls, choice: SessionFilter, found: Selection) -> "BulkPlan":
        """Return a plan for the sessions that a filter selects."""
        return cls(choice, found.candidates, found.spared, found.pinned)

    @property
    def by_source(self) -> Mapping[str, int]:
        """The number of sessions of each source, the largest number first."""
        return dict(Counter(each.source for each in self.candidates).most_common())

    @property
    def messages(self) -> int:
        """The number of messages, by the sessions' own counters."""
        return sum(each.message_count for each in self.candidates)


def plan_prune(
    db: SessionDB, choice: SessionFilter, *, now: float, include_archived: bool = False
) -> BulkPlan:
    """Find the ended sessions to prune; without a condition, those unused for 90 days.

    Pinned sessions stay unless ``choice.include_pinned`` is set. The age of a session counts from
    its start or last use, whichever is later; a conversation in several parts is pruned as a whole.

    Args:
        db: The store.
        choice: Conditions that must all hold.
        now: Epoch seconds.
        include_archived: Whether archived sessions are included.
    """
    wanted = choice or replace(choice, idle_before=now - PRUNE_AGE_S)
    if not include_archived:
        wanted = replace(wanted, archived=False)
    return BulkPlan.of(wanted, db.selection(wanted))


def prune_permanently(
    db: SessionDB,
    plan: BulkPlan,
    sessions_dir: Path,
    *,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> int:
    """Delete the planned sessions and files of older releases without a copy. Returns the count.

    Children of a deleted session become independent sessions. ``SessionActions.prune`` is the
    variant that can be undone. Once ``cancel`` is set, the remaining sessions stay.
    """
    return db.prune(plan.choice, sessions_dir, on_progress=on_progress, cancel=cancel)


def plan_archive(db: SessionDB, choice: SessionFilter) -> BulkPlan:
    """Find the ended sessions to archive; pinned ones stay, as in :func:`plan_prune`.

    Raises:
        RefusedError: There is no condition, which would select every session.
    """
    if not choice:
        raise RefusedError(
            "Without a condition, every session would be archived.",
            "",
            "Name sessions, or give a condition such as --older-than 30d or --source telegram.",
        )
    wanted = replace(choice, archived=False)
    return BulkPlan.of(wanted, db.selection(wanted, for_archive=True))


def archive(db: SessionDB, plan: BulkPlan) -> int:
    """Hide the planned sessions, with all their parts, from the lists. Returns the count."""
    return db.archive(plan.choice)
