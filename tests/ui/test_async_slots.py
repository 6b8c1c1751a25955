"""Coroutines started by slots: failures become notices, dialogs are awaited without exec."""

import asyncio
import gc

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QDialog, QWidget

from hermes_desktop.core.errors import CancelledError, NotFoundError
from hermes_desktop.core.events import Notice
from hermes_desktop.ui.widgets.async_slots import AsyncSlots


@pytest.fixture
def notices(bus) -> list[Notice]:
    found: list[Notice] = []
    bus.subscribe(Notice, found.append)
    return found


async def _fail(error: Exception) -> None:
    raise error


@pytest.mark.asyncio
async def test_failure_with_words_becomes_one_notice(slots, notices) -> None:
    await slots.start(_fail(NotFoundError("It is gone.", "why", "do this")), doing="Opening")
    assert [(n.level, n.title, n.detail, n.hint) for n in notices] == [
        ("error", "It is gone.", "why", "do this")
    ]


@pytest.mark.asyncio
async def test_bug_is_logged_and_told(slots, notices, caplog) -> None:
    await slots.start(_fail(ZeroDivisionError("1/0")), doing="Renaming the session")
    assert notices[0].title == "Renaming the session failed."
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.asyncio
async def test_what_a_person_cancelled_is_no_error(slots, notices) -> None:
    await slots.start(_fail(CancelledError("Stopped.")), doing="Sending")
    assert notices == []


@pytest.mark.asyncio
async def test_other_tasks_go_on_while_a_dialog_is_open(qtbot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = QDialog(parent)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        for _ in range(20):
            await asyncio.sleep(0.005)
            ticks += 1
        dialog.accept()

    ticking = asyncio.ensure_future(tick())
    assert await AsyncSlots.ask(dialog) == QDialog.DialogCode.Accepted
    await ticking
    assert ticks == 20
    assert not dialog.isVisible()


@pytest.mark.asyncio
async def test_closed_or_deleted_dialog_counts_as_rejected(qtbot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    for end in (QDialog.close, QDialog.deleteLater):
        dialog = QDialog(parent)
        QTimer.singleShot(10, dialog, lambda dialog=dialog, end=end: end(dialog))
        assert await AsyncSlots.ask(dialog) == QDialog.DialogCode.Rejected


@pytest.mark.asyncio
async def test_what_is_cancelled_before_it_began_leaves_no_warning(slots, tasks) -> None:
    async def never_begins() -> None:
        raise AssertionError

    slots.start(never_begins(), doing="Reading")
    await tasks.cancel_all()
    gc.collect()
