"""User-facing texts about scheduled work that is not run here.

They are separate from the code that finds the work: ``gateway status`` must not load the store.
"""

from hermes_desktop.core.events import UndoneWork

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
