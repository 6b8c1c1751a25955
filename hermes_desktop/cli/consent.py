"""Confirmation before a change: a preview, a question, ``--yes``, ``--dry-run``, ``--json``."""

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.output import counted
from hermes_desktop.core.errors import CancelledError, RefusedError

Command = TypeVar("Command", bound=Callable[..., Any])

_NOTHING_DONE = "Nothing was changed."


@dataclass(frozen=True, slots=True)
class Consent:
    """The confirmation options given on the command line.

    Attributes:
        yes: Do it without asking.
        dry_run: Only show what would be done.
        as_json: The result is one JSON array; everything else goes to standard error.
    """

    yes: bool
    dry_run: bool
    as_json: bool

    def obtain(self, preview: str, question: str) -> bool:
        """Show what would be done and ask for confirmation.

        Args:
            preview: Whole lines, already sanitized.
            question: Without the choice of answers.

        Returns:
            False for a dry run: then nothing may be done.

        Raises:
            CancelledError: The answer was no, or there was none.
            RefusedError: There is no terminal to ask on.
        """
        if self.dry_run:
            if not self.as_json:
                output.write(preview)
            return False
        if self.yes:
            return True
        if not (output.is_input_terminal() and output.is_error_terminal()):
            raise RefusedError(
                "Confirmation is required, but there is no terminal to ask on.",
                _NOTHING_DONE,
                "Preview the change with --dry-run, then add --yes.",
            )
        if self.as_json:
            output.say(preview.rstrip("\n"))
        else:
            output.write(preview)
            output.flush()
        if not _answer(question):
            raise CancelledError("Cancelled.", _NOTHING_DONE)
        return True


def with_consent(command: Command) -> Command:
    """Add ``--yes``, ``--dry-run`` and ``--json`` to a command and call it with ``consent``."""

    @click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
    @click.option(
        "--dry-run", is_flag=True, help="Show what would happen without changing anything."
    )
    @click.option(
        "--json", "as_json", is_flag=True, help="Print the affected items as a JSON array."
    )
    @functools.wraps(command)
    def wrapped(*args: Any, yes: bool, dry_run: bool, as_json: bool, **kwargs: Any) -> Any:
        return command(*args, consent=Consent(yes, dry_run, as_json), **kwargs)

    return wrapped  # type: ignore[return-value]  # the decorator adds a keyword


def per_source(counts: Mapping[str, int], noun: str = "session") -> str:
    """Return one line such as ``3 sessions: telegram 2, cli 1``."""
    each = ", ".join(f"{output.one_line(source)} {count}" for source, count in counts.items())
    total = counted(sum(counts.values()), noun)
    return f"{total}: {each}" if each else total


def _answer(question: str) -> bool:
    output.ask(f"{question} [y/N] ")
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        output.say("")  # end of input: the cursor is still behind the question
    return line.strip().lower() in {"y", "yes"}
