"""Selection of trash items: numbers, ranges of numbers, session ids, conditions."""

import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_desktop.cli.sessions.session_filters import MomentParam, Words
from hermes_desktop.core.errors import AmbiguousError, NotFoundError

if TYPE_CHECKING:
    from hermes_desktop.state.trash.trash_table import TrashItem

Command = TypeVar("Command", bound=Callable[..., Any])

_RANGE = re.compile(r"(\d+)-(\d+)")
_LOOK = "See `hermes-desktop sessions trash list`."


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
    edges = _RANGE.fullmatch(text)
    if not fitting and edges is not None:
        low, high = int(edges[1]), int(edges[2])
        fitting = [item for item in items if low <= item.trash_id <= high]
    if not fitting:
        raise NotFoundError(f"“{text}” is not in the trash.", "", _LOOK)
    return fitting


def as_ranges(numbers: Collection[int]) -> str:
    """Format numbers as :func:`named` accepts them, consecutive ones as a range: ``1 4-9``."""
    return " ".join(_ranges(sorted(numbers)))


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    for _, group in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        row = [number for _, number in group]
        yield str(row[0]) if len(row) == 1 else f"{row[0]}-{row[-1]}"
