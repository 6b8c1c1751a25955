"""The two questions that the page must ask before it goes on."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QMessageBox, QWidget


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
        self.setDefaultButton(cancel)
        self.setEscapeButton(cancel)

    def chosen(self) -> QAbstractButton:
        """The button that was clicked."""
        return self.clickedButton()


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
        self.setDefaultButton(cancel)
        self.setEscapeButton(cancel)

    @property
    def agreed(self) -> bool:
        """Whether the person wants to go on."""
        return self.clickedButton() is self.go_on


def breakable(address: str, limit: int = 2_000) -> str:
    """An address whose every part is seen: it may break anywhere; a monstrous one is cut."""
    shown = address if len(address) <= limit else f"{address[:limit]}…"
    return "\n".join(shown[start : start + 72] for start in range(0, len(shown), 72))
