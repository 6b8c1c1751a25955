"""Work that ``hermes`` expects of a running gateway and that this gateway does not do yet.

While a gateway identity is held, ``hermes`` reports that jobs will fire and cards will be
processed, so such a home is not hosted without a warning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_desktop.gateway.runtime_files.identity_files import read_json
from hermes_desktop.state.shared_tables.kanban_cards import open_cards

_JOBS = Path("cron", "jobs.json")


@dataclass(frozen=True, slots=True)
class ScheduledWork:
    """The work that would not run.

    Attributes:
        jobs: Names of enabled jobs.
        boards: Names of kanban boards with cards that are not done.
        cards: The number of those cards.
    """

    jobs: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()
    cards: int = 0

    def __bool__(self) -> bool:
        return bool(self.jobs or self.boards)


def scheduled_work(home: Path, config: Mapping[str, Any]) -> ScheduledWork:
    """Return the work a home expects of its gateway. Reads files: not on the event loop.

    Args:
        home: The home.
        config: Its ``config.yaml``; ``kanban.dispatch_in_gateway: false`` excludes boards.

    Raises:
        BlockingIOError: A board is being written to; try again later.
    """
    kanban = config.get("kanban")
    dispatched = not isinstance(kanban, Mapping) or kanban.get("dispatch_in_gateway", True)
    cards = {name: open_cards(file) for name, file in _boards(home)} if dispatched else {}
    boards = tuple(name for name, count in cards.items() if count)
    return ScheduledWork(_enabled_jobs(home), boards, sum(cards.values()))


def work_signature(home: Path) -> tuple[object, ...]:
    """Return a value that changes when :func:`scheduled_work` may; costs a few stat calls."""
    files = [home / "config.yaml", home / _JOBS]
    for _, board in _boards(home):
        files += [board, board.with_name(f"{board.name}-wal")]
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[object, ...]:
    """Return a file's stamp; an empty write-ahead log counts as absent (reading may leave one)."""
    try:
        found = file.stat()
    except OSError:
        return (file,)
    return (file, found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else (file,)


def _enabled_jobs(home: Path) -> tuple[str, ...]:
    data = read_json(home / _JOBS)
    jobs = data.get("jobs") if isinstance(data, Mapping) else data
    if not isinstance(jobs, list):
        return ()
    return tuple(
        str(job.get("name") or job.get("id") or "?")
        for job in jobs
        if isinstance(job, Mapping) and job.get("enabled", True) and job.get("state") != "completed"
    )


def _boards(home: Path) -> list[tuple[str, Path]]:
    """Return the boards, each a separate database; the default one is in the home itself."""
    boards = {"default": home / "kanban.db"}
    for file in sorted(home.glob("kanban/boards/*/kanban.db")):
        boards[file.parent.name] = file
    return [(name, file) for name, file in boards.items() if file.exists()]
