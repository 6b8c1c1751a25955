"""When old sessions are deleted by themselves, as a person sets it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes_desktop.settings.options import Effect, Option

_SECTION = "Stored sessions"


@dataclass(frozen=True, slots=True)
class UpkeepSettings:
    """``sessions.*`` of config.yaml.

    Attributes:
        auto_prune: Whether old sessions are deleted at all.
        retention_days: How old they must be, counted from their beginning; open ones stay.
        vacuum: Whether the file is made smaller afterwards.
        min_interval_hours: How long after the last time, by whichever program.
    """

    auto_prune: bool = False
    retention_days: float = 90.0
    vacuum: bool = True
    min_interval_hours: float = 24.0

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any]) -> "UpkeepSettings":
        """Read them. Where anything makes no sense, nothing is deleted; never raises."""
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
    return isinstance(value, int | float) and not isinstance(value, bool)


_DEFAULT = UpkeepSettings()
HISTORY_OPTIONS: tuple[Option, ...] = (
    Option(
        key="sessions.auto_prune",
        label="Delete old sessions by itself",
        help="Sessions that began long ago and have ended are deleted, a minute after the start.",
        section=_SECTION,
        kind="yes_no",
        default=_DEFAULT.auto_prune,
        effect=Effect.NEXT_START,
        consequence="They are gone with all their messages, and not in the trash. `hermes` does "
        "the same at its start.",
    ),
    Option(
        key="sessions.retention_days",
        label="How old (days)",
        help="How long ago a session must have begun to be deleted so. One that has not ended "
        "stays.",
        section=_SECTION,
        kind="whole_number",
        default=int(_DEFAULT.retention_days),
        low=1,
        high=36_500,
        effect=Effect.NEXT_START,
    ),
    Option(
        key="sessions.min_interval_hours",
        label="Not more often than every (hours)",
        help="How long after the last time, by whichever program, it is done again.",
        section=_SECTION,
        kind="whole_number",
        default=int(_DEFAULT.min_interval_hours),
        low=0,
        high=8_760,
        effect=Effect.NEXT_START,
    ),
    Option(
        key="sessions.vacuum_after_prune",
        label="Make the file smaller afterwards",
        help="The room that deleted sessions took is given back to the disk.",
        section=_SECTION,
        kind="yes_no",
        default=_DEFAULT.vacuum,
        effect=Effect.NEXT_START,
    ),
)
