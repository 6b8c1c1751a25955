"""Scheduled work that ``hermes`` expects of a gateway and that is not done here.

``hermes cron create`` and ``hermes kanban create`` say that a running gateway will run the work.
Here it is detected, and named to the user.
"""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from hermes_desktop.core.concurrency.periodic_look import PollingThread
from hermes_desktop.core.errors import ConfigError
from hermes_desktop.core.events import UndoneWork
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.scheduled_work import (
    ScheduledWork,
    scheduled_work,
    work_signature,
)
from hermes_desktop.settings.config_file import read_config

WHY_UNDONE = "`hermes` expects a running gateway to do this, but Hermes Desktop cannot do it yet."
UNDONE_HINT = "To have it done, stop the gateway here and start `hermes gateway run`."
_MOST_NAMED = 3
_LONGEST_NAME = 48


def undone_brief(undone: UndoneWork) -> str:
    """Return a short form such as ``2 jobs and 3 cards not run``, for a line with little room."""
    return f"{_counts(undone, 'job', 'card')} not run"


def undone_sentence(undone: UndoneWork) -> str:
    """Return a sentence that says what is not run, with some names."""
    jobs, cards = _counted(undone.jobs, "scheduled job"), _counted(undone.cards, "kanban card")
    boards = "board" if undone.boards == 1 else "boards"
    parts = []
    if undone.jobs:
        parts.append(f"{jobs} ({_named(undone.job_names, undone.jobs)})")
    if undone.boards:
        parts.append(f"{cards} ({boards} {_named(undone.board_names, undone.boards)})")
    return f"Not run here: {' and '.join(parts)}."


def undone_heading(undone: UndoneWork) -> str:
    """Return the same without names, as a heading above :func:`undone_lines`."""
    return f"Not run here: {_counts(undone, 'scheduled job', 'kanban card')}."


def undone_lines(undone: UndoneWork) -> tuple[str, ...]:
    """Return one line for each named item, and one for the rest."""
    jobs = [f"Scheduled job “{name}”" for name in undone.job_names]
    boards = [f"Cards of the kanban board “{name}”" for name in undone.board_names]
    if more := undone.jobs - len(jobs):
        jobs.append(f"{_counted(more, 'more scheduled job')}")
    if more := undone.boards - len(boards):
        boards.append(f"Cards of {_counted(more, 'more kanban board')}")
    return (*jobs, *boards)


def short_name(name: str) -> str:
    """Shorten a name chosen outside this program to one printable line."""
    letters = "".join(each if each.isprintable() else " " for each in name[: 4 * _LONGEST_NAME])
    line = " ".join(letters.split()) or "?"
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1].rstrip()}…"


def _counts(undone: UndoneWork, job: str, card: str) -> str:
    parts = []
    if undone.jobs:
        parts.append(_counted(undone.jobs, job))
    if undone.boards:
        parts.append(_counted(undone.cards, card))
    return " and ".join(parts)


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def _named(names: tuple[str, ...], count: int) -> str:
    shown = [f"“{name}”" for name in names[:_MOST_NAMED]]
    if more := count - len(shown):
        shown.append(f"{more:,} more")
    return ", ".join(shown)


LOOK_S = 3.0
_LISTED = 8


def read_work(paths: HermesPaths) -> ScheduledWork:
    """Read the work that the home expects of its gateway. Blocking.

    Raises:
        BlockingIOError: A board is being written to; try again later.
    """
    config: Mapping[str, Any] = {}  # the defaults, with which boards are worked on
    with contextlib.suppress(ConfigError):
        config = read_config(paths.config_yaml).data
    return scheduled_work(paths.home, config)


def undone_work(work: ScheduledWork) -> UndoneWork | None:
    """Return counts, and as many names as fit in a sentence; None when there is no work."""
    if not work:
        return None
    return UndoneWork(
        len(work.jobs),
        work.cards,
        tuple(map(short_name, work.jobs[:_LISTED])),
        tuple(map(short_name, work.boards[:_LISTED])),
        len(work.boards),
    )


class UndoneWorkWatch:
    """Reports undone work while other programs rely on this gateway. For one event loop.

    Args:
        paths: The home.
        tell: Called on the loop whenever the result changes; with None when nothing is left.
        every_s: Seconds between two checks, which stat a few files and read what changed.
    """

    def __init__(
        self,
        paths: HermesPaths,
        tell: Callable[[UndoneWork | None], None],
        *,
        every_s: float = LOOK_S,
    ) -> None:
        self._paths = paths
        self._tell = tell
        self._every_s = every_s
        self._look: PollingThread[UndoneWork | None] | None = None

    def follow(self, *, promised: bool) -> None:
        """Start watching, or stop and discard the result."""
        if promised == (self._look is not None):
            return
        if self._look is not None:
            self._look.stop()
            self._look = None
            self._tell(None)
        else:
            reader = _ChangedFiles(self._paths)
            self._look = PollingThread(
                "scheduled-work", reader.read, self._tell, first=None, every_s=self._every_s
            )
            self._look.start()


class _ChangedFiles:
    """Reads the files only when they changed. For one thread."""

    def __init__(self, paths: HermesPaths) -> None:
        self._paths = paths
        self._signature: tuple[object, ...] = ()
        self._found: UndoneWork | None = None

    def read(self) -> UndoneWork | None:
        signature = work_signature(self._paths.home)
        if signature != self._signature:
            self._found = undone_work(read_work(self._paths))
            self._signature = signature
        return self._found
