"""A history that cannot be opened is explained, and tried again on request."""

import asyncio
import threading

import pytest
from PySide6.QtWidgets import QApplication, QMessageBox

from hermes_desktop.core.errors import StateUnavailableError
from hermes_desktop.ui.start.open_history import open_or_explain


async def box_that_opens() -> QMessageBox:
    async with asyncio.timeout(60):
        while True:
            for widget in QApplication.topLevelWidgets():
                if isinstance(widget, QMessageBox) and widget.isVisible():
                    return widget
            await asyncio.sleep(0.01)


class Opening:
    """Fails so many times, then gives a value."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.threads: set[str] = set()

    def __call__(self) -> str:
        self.threads.add(threading.current_thread().name)
        if self.failures:
            self.failures -= 1
            raise StateUnavailableError("It cannot be opened.", "Its bytes are odd.", "Move it.")
        return "open"


@pytest.mark.asyncio
async def test_opens_on_a_thread_of_its_own() -> None:
    opening = Opening(0)
    assert await open_or_explain(opening) == "open"
    assert opening.threads == {"start-up-1"}


@pytest.mark.asyncio
async def test_says_what_why_and_what_to_do_and_tries_again() -> None:
    task = asyncio.ensure_future(open_or_explain(Opening(1)))
    box = await box_that_opens()
    assert box.text() == "It cannot be opened."
    assert box.informativeText() == "Its bytes are odd.\n\nMove it."
    box.button(QMessageBox.StandardButton.Retry).click()
    assert await task == "open"


@pytest.mark.asyncio
async def test_quitting_gives_nothing() -> None:
    task = asyncio.ensure_future(open_or_explain(Opening(9)))
    box = await box_that_opens()
    next(button for button in box.buttons() if button.text() == "Quit Hermes").click()
    assert await task is None


@pytest.mark.asyncio
async def test_a_cancelled_question_leaves_no_window() -> None:
    task = asyncio.ensure_future(open_or_explain(Opening(9)))
    await box_that_opens()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()]
