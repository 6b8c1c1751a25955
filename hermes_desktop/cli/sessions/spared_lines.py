"""Preview lines about the sessions that a bulk command spares."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hermes_desktop.cli.rows import counted

if TYPE_CHECKING:
    from hermes_desktop.services.sessions.bulk_sessions import BulkPlan


def spared_lines(plan: "BulkPlan") -> str:
    """Return lines about pinned sessions and those used more recently than they seem, if any."""
    return "".join(f"{line}\n" for line in _lines(plan))


def _lines(plan: "BulkPlan") -> Iterator[str]:
    spared = plan.spared
    if plan.pinned:
        yield f"{plan.pinned:,} of them {_are(plan.pinned)} pinned."
    if spared.pinned:
        sessions = counted(spared.pinned, "pinned session")
        yield f"Spared: {sessions}. Add --include-pinned to include {_them(spared.pinned)}."
    if spared.parts:
        parts = counted(spared.parts, "earlier part")
        yield f"Spared: {parts} of conversations that go on in a session that stays."
    if spared.used_since:
        sessions = counted(spared.used_since, "session")
        yield f"Spared: {sessions} started before that time but used later."
    if plan.choice.idle_before is not None and (plan.candidates or spared.used_since):
        yield "Age counts from the last use. `hermes` 0.19 counts from the start."
    if spared.pinned or plan.pinned:
        yield "`hermes` 0.19 does not know which sessions are pinned."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"
