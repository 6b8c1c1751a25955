"""The confirmation before a link is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from hermes_desktop.ui.widgets.control_corrections import remove_icons

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.ui.widgets.async_slots import AsyncSlots


class LinkQuestion(QMessageBox):
    """A dialog that shows the whole address before anything is opened."""

    def __init__(self, address: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setIcon(QMessageBox.Icon.Question)
        self.setTextFormat(Qt.TextFormat.PlainText)
        mail = address.lower().startswith("mailto:")
        self.setText(self.tr("Write to this address?") if mail else self.tr("Open this address?"))
        self.setInformativeText(breakable(address))
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        words = self.tr("Open the mail program") if mail else self.tr("Open in the browser")
        self.open_button = self.addButton(words, QMessageBox.ButtonRole.AcceptRole)
        self.copy_button = self.addButton(
            self.tr("Copy the address"), QMessageBox.ButtonRole.ActionRole
        )
        cancel = self.addButton(QMessageBox.StandardButton.Cancel)
        remove_icons(self)
        self.setDefaultButton(cancel)
        self.setEscapeButton(cancel)


async def ask_to_open(
    slots: AsyncSlots, address: str, parent: QWidget, open_address: Callable[[str], object]
) -> None:
    """Show the whole address, and open or copy it if the user chooses so."""
    dialog = LinkQuestion(address, parent)
    try:
        await slots.ask(dialog)
        chosen = dialog.clickedButton()
        if chosen is dialog.open_button:
            open_address(address)
        elif chosen is dialog.copy_button:
            QGuiApplication.clipboard().setText(address)
    finally:
        dialog.deleteLater()


def breakable(address: str, limit: int = 2_000) -> str:
    """Split an address into lines so that all of it is visible; cut it at ``limit`` characters."""
    shown = address if len(address) <= limit else f"{address[:limit]}…"
    return "\n".join(shown[start : start + 72] for start in range(0, len(shown), 72))
