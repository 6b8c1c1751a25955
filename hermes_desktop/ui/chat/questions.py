"""The two questions that the page must ask before it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from hermes_desktop.ui.dialog_buttons import without_icons

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.services.desktop_chat import DesktopChat
    from hermes_desktop.state.records import SessionSummary
    from hermes_desktop.ui.async_slots import AsyncSlots


class LinkQuestion(QMessageBox):
    """Names the whole address before anything is opened."""

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
        without_icons(self)
        self.setDefaultButton(cancel)
        self.setEscapeButton(cancel)


class ResumeQuestion(QMessageBox):
    """Asks before writing into a session that another program may be using."""

    def __init__(self, question: str, detail: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setIcon(QMessageBox.Icon.Question)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(question)
        self.setInformativeText(detail)
        self.go_on = self.addButton(self.tr("Continue here"), QMessageBox.ButtonRole.AcceptRole)
        cancel = self.addButton(QMessageBox.StandardButton.Cancel)
        without_icons(self)
        self.setDefaultButton(cancel)
        self.setEscapeButton(cancel)

    @property
    def agreed(self) -> bool:
        """Whether the person wants to go on."""
        return self.clickedButton() is self.go_on


async def may_continue(
    chat: DesktopChat, slots: AsyncSlots, session: SessionSummary | None, parent: QWidget
) -> bool:
    """Whether a message may go to a session, asking the person if another program uses it.

    Args:
        chat: Knows about the session, and remembers the answer.
        slots: Shows the question.
        session: The session, None for one that has not begun.
        parent: The dialog's parent.
    """
    if session is None:
        return True
    check = await chat.check_resume(session)
    if not check.question:
        return True
    dialog = ResumeQuestion(check.question, check.detail, parent)
    try:
        await slots.ask(dialog)
        agreed = dialog.agreed
    finally:
        dialog.deleteLater()
    if agreed:
        chat.confirm_resume(session)
    return agreed


async def ask_to_open(
    slots: AsyncSlots, address: str, parent: QWidget, open_address: Callable[[str], object]
) -> None:
    """Show the whole address, and open or copy it if the person says so."""
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
    """An address whose every part is seen: it may break anywhere; a monstrous one is cut."""
    shown = address if len(address) <= limit else f"{address[:limit]}…"
    return "\n".join(shown[start : start + 72] for start in range(0, len(shown), 72))
