"""A transcript on screen, and rows to put into it."""

from collections.abc import Callable, Iterator

import pytest
from pytestqt.qtbot import QtBot

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.services.sessions.transcript import TranscriptPage
from hermes_desktop.state.records.records import Message, SessionSummary
from hermes_desktop.ui.transcript.transcript_view import TranscriptView
from hermes_desktop.ui.widgets.theme import Theme

NOON = 1_795_867_200.0

Rows = Callable[..., list[Message]]
Show = Callable[[list[Message]], None]


@pytest.fixture
def workers() -> Iterator[WorkerThreads]:
    workers = WorkerThreads("ui-parse")
    yield workers
    workers.close()


@pytest.fixture
def view(qtbot: QtBot, theme: Theme, workers: WorkerThreads) -> TranscriptView:
    view = TranscriptView(theme, workers)
    qtbot.addWidget(view)
    view.resize(860, 640)
    view.show()
    qtbot.waitExposed(view)
    return view


@pytest.fixture
def row() -> Callable[..., Message]:
    def make(number: int, role: str = "user", content: str = "", **fields) -> Message:
        session_id = fields.pop("session_id", "s")
        text = content or f"Message {number}"
        return Message(number, session_id, role, text, NOON + number * 60, **fields)

    return make


@pytest.fixture
def rows(row: Callable[..., Message]) -> Rows:
    """Messages of both sides, ``first`` to ``last``."""

    def make(first: int, last: int) -> list[Message]:
        roles = ("user", "assistant")
        return [
            row(n, roles[n % 2], f"Message {n} says a few words.") for n in range(first, last + 1)
        ]

    return make


@pytest.fixture
def page() -> Callable[..., TranscriptPage]:
    def make(
        messages: list[Message], *, has_older: bool = False, has_newer: bool = False
    ) -> TranscriptPage:
        session = SessionSummary("s", "s", "cli", "Title", "", NOON, NOON)
        return TranscriptPage(session, tuple(messages), has_older, has_newer)

    return make


@pytest.fixture
def settle(qtbot: QtBot, view: TranscriptView) -> Callable[[], None]:
    """Wait until everything that should have a widget has one, in order and nothing else."""

    def complete() -> bool:
        shown = [entry.key for entry in view.window_of_entries.shown]
        items = [item.key for item in view.area.column.items]
        live = [item.key for item in view.live.items()] if view.window_of_entries.at_end else []
        stored = [key for key in items if key not in live]
        return stored == shown and [key for key in items if key in live] == live

    def wait() -> None:
        qtbot.waitUntil(complete, timeout=60_000)

    return wait


@pytest.fixture
def show(
    view: TranscriptView, page: Callable[..., TranscriptPage], settle: Callable[[], None]
) -> Show:
    """Open a conversation and wait until all of it stands."""

    def put(messages: list[Message], *, has_older: bool = False) -> None:
        view.set_page(page(messages, has_older=has_older))
        settle()

    return put
