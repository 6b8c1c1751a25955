"""``hermes-desktop sessions trash``: deleted sessions that can be restored.

Trash items are selected by numbers, ranges of numbers, session ids, or conditions.
"""

import dataclasses
import functools
import itertools
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, per_source, with_consent
from hermes_desktop.cli.long_work import long_work
from hermes_desktop.cli.output import Column, as_text, counted, first_rows, size
from hermes_desktop.cli.sessions.session_filters import MomentParam, Words
from hermes_desktop.cli.sessions.session_text import clock_time
from hermes_desktop.cli.store_access import open_actions
from hermes_desktop.core.errors import AmbiguousError, CancelledError, NotFoundError, UsageError

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.state.trash.trash_restore import Restored
    from hermes_desktop.state.trash.trash_table import TrashItem

Command = TypeVar("Command", bound=Callable[..., Any])

_NUMBER_RANGE = re.compile(r"(\d+)-(\d+)")
_SEE_TRASH = "See `hermes-desktop sessions trash list`."


@dataclass(frozen=True, slots=True)
class TrashFilter:
    """Conditions that must all hold; a filter without conditions is false.

    Attributes:
        source: The session's source, exactly.
        title: A part of its title, in any case.
        reason: How it got there, ``deleted`` or ``pruned``.
        before: Deleted before this time, epoch seconds.
        after: Deleted at this time or later.
    """

    source: str | None = None
    title: str | None = None
    reason: str | None = None
    before: float | None = None
    after: float | None = None

    def __bool__(self) -> bool:
        given = (self.source, self.title, self.reason, self.before, self.after)
        return any(each is not None for each in given)

    def fits(self, item: "TrashItem") -> bool:
        """Return whether all conditions hold for an item."""
        return (
            self.source in {None, item.source}
            and self.reason in {None, item.reason}
            and (self.title is None or self.title.casefold() in (item.title or "").casefold())
            and (self.before is None or item.deleted_at < self.before)
            and (self.after is None or item.deleted_at >= self.after)
        )


def with_trash_filter(command: Command) -> Command:
    """Add the options of a :class:`TrashFilter` to a command and call it with ``choice``."""

    @click.option(
        "--source", type=Words(), metavar="NAME", help="From this source, such as telegram."
    )
    @click.option("--title", type=Words(), metavar="TEXT", help="Title contains this text.")
    @click.option(
        "--reason", type=click.Choice(["deleted", "pruned"]), help="How it got into the trash."
    )
    @click.option(
        "--older-than",
        type=MomentParam(),
        metavar="AGE",
        help="Deleted at least this long ago: 30m, 5h, 2d, 1w, days.",
    )
    @click.option(
        "--newer-than", type=MomentParam(), metavar="AGE", help="Deleted within this time."
    )
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        source: str | None,
        title: str | None,
        reason: str | None,
        older_than: float | None,
        newer_than: float | None,
        **kwargs: Any,
    ) -> Any:
        choice = TrashFilter(source, title, reason, older_than, newer_than)
        return command(*args, choice=choice, **kwargs)

    return wrapped  # type: ignore[return-value]  # the decorator adds keywords


def named(items: Sequence["TrashItem"], wanted: str) -> list["TrashItem"]:
    """Return the items that a command-line argument names.

    Raises:
        NotFoundError: There is none.
        AmbiguousError: A session was deleted more than once and must be named by number.
    """
    text = wanted.strip()
    fitting = [item for item in items if str(item.trash_id) == text]
    fitting = fitting or [item for item in items if item.root_id == text]
    if len(fitting) > 1:
        numbers = ", ".join(str(item.trash_id) for item in fitting)
        raise AmbiguousError(
            f"The trash holds “{text}” more than once.", "", f"Give one of the numbers {numbers}."
        )
    edges = _NUMBER_RANGE.fullmatch(text)
    if not fitting and edges is not None:
        low, high = int(edges[1]), int(edges[2])
        fitting = [item for item in items if low <= item.trash_id <= high]
    if not fitting:
        raise NotFoundError(f"“{text}” is not in the trash.", "", _SEE_TRASH)
    return fitting


def as_ranges(numbers: Collection[int]) -> str:
    """Format numbers as :func:`named` accepts them, consecutive ones as a range: ``1 4-9``."""
    return " ".join(_ranges(sorted(numbers)))


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    for _, group in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        row = [number for _, number in group]
        yield str(row[0]) if len(row) == 1 else f"{row[0]}-{row[-1]}"


_COLUMNS = (
    Column("Trash ID", right=True),
    Column("Deleted"),
    Column("Source"),
    Column("Sessions", right=True, optional=True),
    Column("Messages", right=True, optional=True),
    Column("Session"),
    Column("Title", gives_way=True),
)


@click.group()
def trash() -> None:
    """List and restore sessions deleted in the last 30 days."""


@trash.command("list")
@with_trash_filter
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")
@with_home
def list_items(*, choice: TrashFilter, as_json: bool, paths: "HermesPaths") -> None:
    """List the trash, latest first.

    In a pipe: trash ID, time, source, number of sessions, number of messages, first session, title.
    """
    with open_actions(paths, write=False) as (actions, _):
        actions.tidy_trash()
        there = actions.trash()
    items = [item for item in there if choice.fits(item)]
    if as_json:
        output.write_json(map(dataclasses.asdict, items))
    elif not items:
        output.write("Nothing in the trash matches.\n" if there else "The trash is empty.\n")
    else:
        output.write(as_text(_COLUMNS, _rows(items)))


@trash.command()
@click.argument("wanted", nargs=-1, metavar="[ID|FROM-TO]...")
@with_trash_filter
@with_consent
@with_home
def restore(
    *, wanted: tuple[str, ...], choice: TrashFilter, consent: Consent, paths: "HermesPaths"
) -> None:
    """Restore deleted sessions as they were.

    Restores the sessions you name, or all that match the conditions. ID is the number that `trash
    list` shows, or the session ID that it shows; 3-7 means all numbers from 3 to 7.
    """
    if wanted and choice:
        raise click.UsageError("Use either IDs or conditions, not both.")
    with open_actions(paths) as (actions, _):
        there = actions.trash()
        if not wanted and not choice:
            raise _nothing_named(there, as_json=consent.as_json)
        words = map(output.without_surrogates, wanted)
        items = [item for each in words for item in named(there, each)]
        items = items or [item for item in there if choice and choice.fits(item)]
        items = list(dict.fromkeys(items))
        if not _agreed(items, consent, asks=bool(choice)):
            return
        with long_work() as work:
            ids = [item.trash_id for item in items]
            done = actions.restore(ids, on_progress=work.on_progress, cancel=work)
    _tell(done, as_json=consent.as_json)
    if len(done) < len(items):
        left = counted(len(items) - len(done), "session")
        raise CancelledError("Stopped.", f"Still in the trash: {left}.")


def _nothing_named(there: Sequence["TrashItem"], *, as_json: bool) -> UsageError:
    """Show what can be restored, and return the error that says how."""
    if not there:
        return UsageError("There is nothing to restore.", "The trash is empty.")
    if not as_json:
        output.write(as_text(_COLUMNS, _rows(there)))
    example = f"hermes-desktop sessions trash restore {there[0].trash_id}"
    return UsageError(
        "Name the sessions to restore.", "", f"Use a trash ID, for example `{example}`."
    )


def _agreed(items: Sequence["TrashItem"], consent: Consent, *, asks: bool) -> bool:
    """Show what would be restored and ask, unless items were named; False: do nothing."""
    if not items:
        output.write("[]\n" if consent.as_json else "Nothing in the trash matches.\n")
        return False
    if not asks and not consent.dry_run:
        return True
    preview = first_rows(_COLUMNS, _rows(items))
    preview += per_source(Counter(item.source for item in items)) + "\n"
    agreed = consent.obtain(preview, f"Restore {counted(len(items), 'session')}?")
    if not agreed and consent.as_json:
        output.write_json(map(dataclasses.asdict, items))
    return agreed


def _tell(done: Sequence["Restored"], *, as_json: bool) -> None:
    if as_json:
        output.write_json(
            {
                "trash_id": each.trash_id,
                "id": each.root_id,
                "session_ids": dict(each.session_ids),
                "retitled": dict(each.retitled),
            }
            for each in done
        )
        return
    for each in done:
        output.write(output.one_line(f"Restored session {each.root_id}.") + "\n")
        moved = {old: new for old, new in each.session_ids.items() if old != new}
        for old, new in moved.items():
            output.say(f"Note: the ID {old} is taken; the session is now {new}.")
        for session_id, title in each.retitled.items():
            output.say(f"Note: the title was taken; session {session_id} is now called “{title}”.")


@trash.command()
@click.option(
    "--older-than",
    type=MomentParam(),
    metavar="AGE",
    help="Deleted at least this long ago: 5h, 2d, 1w, days.",
)
@with_consent
@with_home
def empty(*, older_than: float | None, consent: Consent, paths: "HermesPaths") -> None:
    """Permanently delete the sessions in the trash."""
    with open_actions(paths) as (actions, _):
        actions.tidy_trash()
        there = actions.trash()
        # A point in time and not "everything": sessions deleted while we ask are not included.
        latest = max((item.deleted_at for item in there), default=0.0)
        edge = math.nextafter(max(time.time(), latest), math.inf)
        edge = edge if older_than is None else older_than
        items = [item for item in there if item.deleted_at < edge]
        if not items:
            output.write("[]\n" if consent.as_json else "There is nothing to delete.\n")
            return
        counts = per_source(Counter(item.source for item in items))
        total = sum(item.bytes for item in items)
        preview = (
            first_rows(_COLUMNS, _rows(items)) + f"{counts}\n{size(total)}; this cannot be undone\n"
        )
        question = f"Permanently delete {counted(len(items), 'session')}?"
        if consent.obtain(preview, question):
            actions.empty_trash(older_than=edge)
    if consent.as_json:
        output.write_json(map(dataclasses.asdict, items))
    elif not consent.dry_run:
        output.write(f"Permanently deleted {counts}.\n")


def _rows(items: Sequence["TrashItem"]) -> list[tuple[Any, ...]]:
    return [
        (
            item.trash_id,
            clock_time(item.deleted_at),
            item.source,
            item.session_count,
            item.message_count,
            item.root_id,
            item.title or "",
        )
        for item in items
    ]
