"""``hermes-desktop insights``: usage of conversations, by model, platform, tool and day."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.state.maintenance.insights import insights as count_insights

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.state.maintenance.insights import Insights, Used

_MOST_DAYS = 3650
_ANY_LENGTH = 1_000_000


@click.command()
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_DAYS),
    default=30,
    show_default=True,
    help="Number of days to include.",
)
@click.option("--source", metavar="NAME", help="Only this source, such as cli or telegram.")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as a JSON object.")
@with_home
def insights(*, days: int, source: str | None, as_json: bool, paths: "HermesPaths") -> None:
    """Show the tokens, costs and tools of the last days.

    Costs that no provider reported are shown as unknown. Archived sessions and those of subagents
    are included.
    """
    with open_store(paths) as db:
        found = count_insights(db, days, now=time.time(), source=source)
    if as_json:
        output.write_json_object(_object(found))
        return
    from hermes_desktop.commands.insights_command import words

    heading, _, figures = words(found, _ANY_LENGTH).partition("\n")
    lines = [heading.replace("**", ""), *(each for each in figures.split("\n") if each != "```")]
    output.write("\n".join(lines) + "\n")


def _object(found: "Insights") -> dict[str, object]:
    return {
        "days": found.days_asked,
        "source": found.source,
        "since": found.since,
        "until": found.until,
        "user_messages": found.user_messages,
        "total": _used(found.total),
        "side_tokens": found.side_tokens,
        "models": [_used(each) for each in found.models],
        "platforms": [_used(each) for each in found.platforms],
        "tools": [{"name": name, "calls": calls} for name, calls in found.tools],
        "by_day": [_used(each) for each in found.days],
    }


def _used(used: "Used") -> dict[str, object]:
    """Return the figures of a group; an unknown price is null, not 0."""
    figures = {**asdict(used), "tokens": used.tokens}
    if used.unpriced and not used.cost_usd:
        figures["cost_usd"] = None
    return figures
