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
from hermes_desktop.services.hosting.undone_words import short_name
from hermes_desktop.settings.config_file import read_config

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
