"""What is asked when the window is closed on a desktop that shows no tray icons."""

from typing import Literal

from PySide6.QtWidgets import QMessageBox, QWidget


class ClosingQuestion(QMessageBox):
    """Keep running, quit, or neither. Opened with ``open()``."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setIcon(QMessageBox.Icon.Question)
        self.setText(self.tr("Keep Hermes running without its window?"))
        self.setInformativeText(
            self.tr(
                "This desktop shows no tray icons. If it keeps running, it stays in the task bar,"
                " minimised, and starting Hermes again brings it back."
            )
        )
        self._keep = self.addButton(self.tr("Keep running"), QMessageBox.ButtonRole.AcceptRole)
        self._quit = self.addButton(self.tr("Quit Hermes"), QMessageBox.ButtonRole.DestructiveRole)
        self.setEscapeButton(self.addButton(QMessageBox.StandardButton.Cancel))
        self.setDefaultButton(self._keep)

    @property
    def answer(self) -> Literal["keep", "quit", "neither"]:
        """What was clicked."""
        clicked = self.clickedButton()
        if clicked is self._keep:
            return "keep"
        return "quit" if clicked is self._quit else "neither"
