"""Options that select the sessions of a bulk command, and the format of ages and times."""

import functools
import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_desktop.cli import output
from hermes_desktop.state.sessions.bulk_selection import DAY_S, SessionFilter

if TYPE_CHECKING:
    _FloatType = click.ParamType[float]
    _TextType = click.ParamType[str]
    _CountType = click.ParamType[int]
    _AnyType = click.ParamType[Any]
else:  # releases before 8.4 have no type parameter
    _FloatType = _TextType = _CountType = _AnyType = click.ParamType

Command = TypeVar("Command", bound=Callable[..., Any])

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([mhdw]?)", re.IGNORECASE)
_UNITS = {"m": 60.0, "h": 3600.0, "d": DAY_S, "": DAY_S, "w": 7 * DAY_S}
_GREATEST = 2**63 - 1


class MomentParam(_FloatType):
    """A time in the past: an age (30m, 5h, 2d, 1w, a bare number of days) or an ISO time.

    An ISO time without a zone is local. The value is epoch seconds.
    """

    name = "age or time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the value; a usage error if that is not possible."""
        text = str(value).strip()
        age = _AGE.fullmatch(text)
        if age is not None:
            moment = time.time() - float(age[1]) * _UNITS[age[2].lower()]
            if math.isfinite(moment):
                return moment
        try:
            return datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail(
                f"“{output.one_line(text)}” is neither an age such as 30m, 5h, 2d or 1w "
                "nor a time such as 2026-07-05 14:30.",
                param,
                ctx,
            )


class Words(_TextType):
    """A non-empty text: an empty one would match every session."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Accept the value; a usage error if it is blank."""
        text = output.without_surrogates(str(value))
        if not text.strip():
            self.fail("it must not be empty.", param, ctx)
        return text


class Count(_CountType):
    """A count, up to the greatest number of SQLite, which would be useless on a help page."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the value; a usage error if it is not a number."""
        return int(click.IntRange(0, _GREATEST).convert(value, param, ctx))


class Dollars(_FloatType):
    """An amount of money; must be finite."""

    name = "amount"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the value; a usage error if it is not an amount."""
        amount = float(click.FloatRange(0).convert(value, param, ctx))
        if not math.isfinite(amount):
            self.fail(f"{amount} is not an amount.", param, ctx)
        return amount


_MOMENT, _WORDS, _NUMBER, _DOLLARS = MomentParam(), Words(), Count(), Dollars()

_OPTIONS: tuple[tuple[str, str, _AnyType, str, str], ...] = (
    ("--older-than", "older_than", _MOMENT, "AGE", "Unused for this long: 30m, 5h, 2d, 1w, days."),
    ("--newer-than", "newer_than", _MOMENT, "AGE", "Started within this time."),
    ("--before", "before", _MOMENT, "TIME", "Started before this time, such as 2026-07-05."),
    ("--after", "after", _MOMENT, "TIME", "Started at this time or later."),
    ("--source", "source", _WORDS, "NAME", "From this source, such as telegram."),
    ("--title", "title_like", _WORDS, "TEXT", "Title contains this text."),
    ("--model", "model_like", _WORDS, "TEXT", "Model name contains this text."),
    ("--branch", "branch_like", _WORDS, "TEXT", "Git branch contains this text."),
    ("--end-reason", "end_reason", _WORDS, "WORD", "Ended for this reason."),
    ("--provider", "provider", _WORDS, "NAME", "Billed through this provider."),
    ("--user", "user_id", _WORDS, "ID", "From this user of a platform."),
    ("--chat-id", "chat_id", _WORDS, "ID", "In this chat of a platform."),
    ("--chat-type", "chat_type", _WORDS, "WORD", "In this kind of chat, such as dm or group."),
    ("--cwd", "cwd_prefix", _WORDS, "FOLDER", "Worked in this folder or below it."),
    ("--min-messages", "min_messages", _NUMBER, "N", "At least N messages."),
    ("--max-messages", "max_messages", _NUMBER, "N", "At most N messages."),
    ("--min-tokens", "min_tokens", _NUMBER, "N", "At least N tokens, input and output."),
    ("--max-tokens", "max_tokens", _NUMBER, "N", "At most N tokens, input and output."),
    ("--min-cost", "min_cost", _DOLLARS, "USD", "Cost at least this much, if known."),
    ("--max-cost", "max_cost", _DOLLARS, "USD", "Cost at most this much; unknown counts as 0."),
    ("--min-tool-calls", "min_tool_calls", _NUMBER, "N", "At least N tool calls."),
    ("--max-tool-calls", "max_tool_calls", _NUMBER, "N", "At most N tool calls."),
)


def with_filter(command: Command) -> Command:
    """Add the options of a filter to a command and call it with ``choice``, a SessionFilter.

    All conditions must hold. Without an option the filter is empty (and false).
    """

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for _, name, *_ in _OPTIONS}
        return command(*args, choice=_filter(given), **kwargs)

    decorated: Any = wrapped
    for flag, name, kind, metavar, words in reversed(_OPTIONS):
        decorated = click.option(flag, name, type=kind, metavar=metavar, help=words)(decorated)
    return decorated  # type: ignore[no-any-return]  # the decorators keep it a function


def with_pinned(command: Command) -> Command:
    """Add ``--include-pinned`` to a command with a filter; alone, it is not a condition."""

    @click.option("--include-pinned", is_flag=True, help="Include pinned sessions.")
    @functools.wraps(command)
    def wrapped(*args: Any, choice: SessionFilter, include_pinned: bool, **kwargs: Any) -> Any:
        return command(*args, choice=replace(choice, include_pinned=include_pinned), **kwargs)

    return wrapped  # type: ignore[return-value]  # the decorator adds a keyword


def _filter(given: dict[str, Any]) -> SessionFilter:
    idle_before, started_before = given.pop("older_than"), given.pop("before")
    earliest = [m for m in (given.pop("newer_than"), given.pop("after")) if m is not None]
    if given["cwd_prefix"] is not None:
        given["cwd_prefix"] = _folder(given["cwd_prefix"])
    return SessionFilter(
        idle_before=idle_before,
        started_before=started_before,
        started_after=max(earliest, default=None),
        **given,
    )


def _folder(text: str) -> str:
    """Return a folder in the form sessions name it: absolute. Foreign absolute paths stay as is."""
    if text.startswith((".", "~")):
        return os.path.abspath(os.path.expanduser(text))  # noqa: PTH100, PTH111 - text in, text out
    return text
