"""Settings for the automatic deletion of old sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes_desktop.settings.options import Option, setting, settings_of

_SECTION = "Stored sessions"


@dataclass(frozen=True, slots=True)
class UpkeepSettings:
    """The settings ``sessions.*`` of config.yaml.

    Attributes:
        auto_prune: Whether old sessions are deleted at all.
        retention_days: How long sessions must be unused; open ones stay.
        min_interval_hours: The minimum time since the last deletion, by whichever program.
        vacuum: Whether the file is compacted afterwards.
    """

    auto_prune: bool = setting(
        "sessions.auto_prune",
        default=False,
        title="Delete old sessions automatically",
        help="Deletes ended sessions that were not used for a long time. This happens a minute "
        "after the start and then regularly, while the gateway of this home runs here. Pinned "
        "sessions are kept.",
        section=_SECTION,
        consequence="They are deleted with all their messages and do not go to the trash. "
        "`hermes` 0.19 does the same when it starts, but counts from the start "
        "of a session and does not know the pins of Hermes Desktop.",
    )
    retention_days: float = setting(
        "sessions.retention_days",
        90,
        title="Unused for (days)",
        help="How long a session must be unused before it is deleted automatically. Sessions "
        "that have not ended are kept.",
        section=_SECTION,
        minimum=1,
        maximum=36_500,
    )
    min_interval_hours: float = setting(
        "sessions.min_interval_hours",
        24,
        title="At most every (hours)",
        help="The shortest time between two automatic deletions by any program.",
        section=_SECTION,
        minimum=0,
        maximum=8_760,
    )
    vacuum: bool = setting(
        "sessions.vacuum_after_prune",
        default=True,
        title="Compact the file afterwards",
        help="Returns the space of deleted sessions to the disk.",
        section=_SECTION,
    )

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any]) -> "UpkeepSettings":
        """Parse the settings. If any is invalid, nothing is deleted; never raises."""
        usual, section = cls(), config.get("sessions")
        if not isinstance(section, Mapping):
            return usual
        days = section.get("retention_days", usual.retention_days)
        hours = section.get("min_interval_hours", usual.min_interval_hours)
        if not _is_number(days) or days < 1 or not _is_number(hours):
            return usual
        return cls(
            auto_prune=section.get("auto_prune") is True,
            retention_days=float(days),
            vacuum=section.get("vacuum_after_prune") is not False,
            min_interval_hours=float(hours),
        )


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _MOST  # also False for NaN


_MOST = 1e6
HISTORY_OPTIONS: tuple[Option, ...] = tuple(settings_of(UpkeepSettings).values())
