"""Many sessions at once, chosen by a filter. Blocking; any thread may call it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermes_desktop.core.errors import RefusedError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.stopping import CancelSignal, OnProgress, silent
from hermes_desktop.state.sessions.bulk_filters import DAY_S, Candidate, SessionFilter
from hermes_desktop.state.sessions.bulk_selection import Selection, Spared

PRUNE_AGE_S = 90 * DAY_S


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """What a bulk operation would touch; made by the query that then acts.

    Attributes:
        choice: The filter, with times instead of ages, so that it means the same later.
        candidates: The sessions, the oldest first.
        spared: What stays although one might expect otherwise.
        pinned: How many of the candidates are pinned.
    """

    choice: SessionFilter
    candidates: tuple[Candidate, ...]
    spared: Spared = field(default_factory=Spared)
    pinned: int = 0

    @classmethod
    def of(cls, choice: SessionFilter, found: Selection) -> "BulkPlan":
        """A plan for what a filter selects."""
        return cls(choice, found.candidates, found.spared, found.pinned)

    @property
    def by_source(self) -> Mapping[str, int]:
        """How many sessions of each source, the largest number first."""
        return dict(Counter(each.source for each in self.candidates).most_common())

    @property
    def messages(self) -> int:
        """How many messages, by the sessions' own counters."""
        return sum(each.message_count for each in self.candidates)


def plan_prune(
    db: SessionDB, choice: SessionFilter, *, now: float, include_archived: bool = False
) -> BulkPlan:
    """Look which ended sessions would go: without a condition those unused for 90 days.

    Pinned sessions stay unless ``choice.include_pinned`` is set. The age of a session counts from
    when it was started or used last; a conversation in several parts goes as a whole.

    Args:
        db: The store.
        choice: Conditions that must all hold.
        now: Epoch seconds.
        include_archived: Archived ones, too.
    """
    wanted = choice or replace(choice, idle_before=now - PRUNE_AGE_S)
    if not include_archived:
        wanted = replace(wanted, archived=False)
    return BulkPlan.of(wanted, db.selection(wanted))


def prune_for_good(
    db: SessionDB,
    plan: BulkPlan,
    sessions_dir: Path,
    *,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> int:
    """Delete without a copy what a plan selects, with the files of older releases. How many.

    Children of a deleted session become sessions of their own. ``SessionActions.prune`` is the
    one that can be undone. Once ``cancel`` is set, what is left stays.
    """
    return db.prune(plan.choice, sessions_dir, on_progress=on_progress, cancel=cancel)


def plan_archive(db: SessionDB, choice: SessionFilter) -> BulkPlan:
    """Look which ended sessions would be archived; pinned ones stay, as in :func:`plan_prune`.

    Raises:
        RefusedError: There is no condition: that would be every session.
    """
    if not choice:
        raise RefusedError(
            "Without a condition every session would be archived.",
            "",
            "Name sessions, or give a condition such as --older-than 30d or --source telegram.",
        )
    wanted = replace(choice, archived=False)
    return BulkPlan.of(wanted, db.selection(wanted, for_archive=True))


def archive(db: SessionDB, plan: BulkPlan) -> int:
    """Hide what a plan selects from the lists, with all parts of each. Returns how many."""
    return db.archive(plan.choice)
