"""Opening the history at start-up, with a dialog if that fails."""

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtWidgets import QMessageBox

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.control_corrections import remove_icons

T = TypeVar("T")


async def open_or_explain(build: Callable[[], T]) -> T | None:
    """Run a blocking builder on a worker thread; on failure, ask whether to try again.

    Args:
        build: Raises :class:`HermesError` on failure.

    Returns:
        The result, or None if the user chose to quit.
    """
    worker = WorkerThreads("start-up")
    try:
        while True:
            try:
                return await worker.run(build)
            except HermesError as error:
                if not await _ask_again(error):
                    return None
    finally:
        worker.close()


async def _ask_again(error: HermesError) -> bool:
    box = failure_box(error)
    try:
        await AsyncSlots.ask(box)
        return box.clickedButton() is box.button(QMessageBox.StandardButton.Retry)
    finally:
        box.deleteLater()


def failure_box(error: HermesError) -> QMessageBox:
    """Return a message box with an error's title, detail and hint, and buttons to retry or quit."""
    box = QMessageBox()
    box.setWindowTitle(box.tr("Hermes"))
    box.setIcon(QMessageBox.Icon.Warning)
    box.setText(error.title)
    box.setInformativeText("\n\n".join(part for part in (error.detail, error.hint) if part))
    again = box.addButton(QMessageBox.StandardButton.Retry)
    box.addButton(box.tr("Quit Hermes"), QMessageBox.ButtonRole.RejectRole)
    remove_icons(box)
    box.setDefaultButton(again)
    return box
