"""``hermes-desktop sessions search``: full-text search of messages."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.long_work import long_work
from hermes_desktop.cli.sessions.session_filters import Words
from hermes_desktop.cli.sessions.session_text import clock_time
from hermes_desktop.cli.store_access import open_store
from hermes_desktop.core.errors import CancelledError, UsageError
from hermes_desktop.state.search.search_records import SearchQuery

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.state.search.search_records import SearchHit

_MOST = 1_000_000
_PAGE = 20
_WORDS = Words()


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--source", type=_WORDS, metavar="NAME", help="Only sessions from this source.")
@click.option(
    "--role", type=_WORDS, metavar="NAME", help="Only messages of user, assistant or tool."
)
@click.option(
    "--archived/--not-archived",
    default=None,
    help="Only archived sessions, or only the others. [default: both]",
)
@click.option("--best", is_flag=True, help="Show the best match first instead of the newest.")
@click.option("--prefix", is_flag=True, help="Match beginnings of words.")
@click.option("--once", is_flag=True, help="Only the first hit in each session.")
@click.option(
    "--limit",
    type=click.IntRange(1, _MOST),
    default=50,
    show_default=True,
    metavar="N",
    help="Maximum number of hits.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")
@with_home
def search(  # noqa: PLR0913 - one argument an option
    *,
    words: tuple[str, ...],
    source: str | None,
    role: str | None,
    archived: bool | None,
    best: bool,
    prefix: bool,
    once: bool,
    limit: int,
    as_json: bool,
    paths: "HermesPaths",
) -> None:
    """Find messages, newest first.

    A message must contain all words. "A phrase", beginnings*, AND, OR and NOT work; put words that
    start with a dash after `--`. In a pipe, each hit is one line of tab-separated fields: session,
    time, role, source, title, words around the hit.
    """
    text = output.without_surrogates(" ".join(words))
    if not text.strip():
        raise UsageError("There is nothing to search for.", "", "Enter at least one word.")
    order: Literal["best", "newest"] = "best" if best else "newest"
    query = SearchQuery(
        text,
        order=order,
        sources=None if source is None else (source,),
        roles=None if role is None else (role,),
        archived=archived,
        limit=limit,
        page_size=_PAGE,
        prefix=prefix,
        one_per_conversation=once,
    )
    _run(paths, query, as_json=as_json)


def _run(paths: "HermesPaths", query: SearchQuery, *, as_json: bool) -> None:
    found: list[SearchHit] = []
    with open_store(paths) as db, long_work() as work:
        outcome = db.search(query, on_hits=found.extend if as_json else _show, cancel=work)
    if outcome.notice is not None:
        output.say(f"Note: {outcome.notice.text}")
    if outcome.cancelled:
        raise CancelledError("Stopped.", f"{outcome.hits:,} hits were found so far.")
    if as_json:
        output.write_json(map(_object, found))
    elif not outcome.hits:
        output.write("No messages found.\n")
    elif outcome.more and output.is_error_terminal():
        output.say(f"There are more hits. Use --limit {outcome.hits * 4} to see more.")


def _show(hits: Sequence["SearchHit"]) -> None:
    shape = _for_person if output.is_terminal() else _for_pipe
    output.write("".join(map(shape, hits)))
    output.flush()


def _for_pipe(hit: "SearchHit") -> str:
    fields = (hit.tip_id, clock_time(hit.timestamp), hit.role, hit.source, hit.title or "",
              hit.snippet)  # fmt: skip
    return "\t".join(map(output.one_line, fields)) + "\n"


def _for_person(hit: "SearchHit") -> str:
    facts = (hit.title or "Untitled session", hit.source, clock_time(hit.timestamp), hit.tip_id)
    who = hit.tool_name or hit.role
    return (
        output.one_line(" · ".join(facts)) + f"\n    {output.one_line(who)}: {_with_marks(hit)}\n\n"
    )


def _with_marks(hit: "SearchHit") -> str:
    pieces: list[str] = []
    at = 0
    for start, end in hit.marks:
        pieces += [_piece(hit.snippet[at:start]), output.bold(_piece(hit.snippet[start:end]))]
        at = end
    return "".join([*pieces, _piece(hit.snippet[at:])])


def _piece(text: str) -> str:
    """Sanitize a part of a line; blanks at its ends belong to the line."""
    return output.neutralise(text).replace("\n", " ").replace("\t", " ")


def _object(hit: "SearchHit") -> dict[str, Any]:
    return {**dataclasses.asdict(hit), "marks": [list(mark) for mark in hit.marks]}
