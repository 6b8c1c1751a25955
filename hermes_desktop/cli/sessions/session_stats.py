"""``hermes-desktop sessions stats``: statistics of the store."""

from typing import TYPE_CHECKING

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.home_option import with_home
from hermes_desktop.cli.rows import Column, as_text, size
from hermes_desktop.cli.sessions.session_text import clock_time
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.state.maintenance import statistics

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.state.maintenance.statistics import StoreFigures

_COLUMNS = (Column("Source"), Column("Sessions", right=True), Column("Messages", right=True))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON array: the whole, then sources.")
@with_home
def stats(*, as_json: bool, paths: "HermesPaths") -> None:
    """Count sessions and messages, in all and by source.

    Archived sessions, parts of compressed sessions and sessions of subagents count as sessions.
    """
    with open_store(paths) as db:
        found = db.read(statistics.figures)
        bytes_used = db.db_path.stat().st_size
    if as_json:
        output.write_json(_objects(found, bytes_used))
        return
    output.write(_text(found, bytes_used))
    if found.sources:
        rows = [(each.source, each.sessions, each.messages) for each in found.sources]
        output.write("\n" + as_text(_COLUMNS, rows))


def _text(found: "StoreFigures", bytes_used: int) -> str:
    lines = [f"Sessions: {found.sessions:,}", f"Archived: {found.archived:,} of them"]
    lines.append(f"Messages: {found.messages:,}")
    lines.append(f"Tokens: {found.input_tokens:,} in, {found.output_tokens:,} out")
    lines.append(f"Size: {size(bytes_used)}")
    if found.first_started is not None and found.last_started is not None:
        first, last = clock_time(found.first_started), clock_time(found.last_started)
        lines.append(f"Begun: {first} to {last}")
    return "\n".join(lines) + "\n"


def _objects(found: "StoreFigures", bytes_used: int) -> list[dict[str, object]]:
    whole: dict[str, object] = {
        "source": None,
        "sessions": found.sessions,
        "archived": found.archived,
        "messages": found.messages,
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
        "first_started": found.first_started,
        "last_started": found.last_started,
        "bytes": bytes_used,
    }
    each = [{"source": s.source, "sessions": s.sessions, "messages": s.messages}
            for s in found.sources]  # fmt: skip
    return [whole, *each]
