"""The question before quitting while changes of settings are unsaved."""

from __future__ import annotations

from typing import Literal

from PySide6.QtWidgets import QMessageBox, QWidget

from hermes_desktop.ui.widgets.dialog_buttons import remove_icons

Answer = Literal["save", "leave", "neither"]


class UnsavedChangesDialog(QMessageBox):
    """A message box: save and quit, quit without saving, or cancel. Opened with ``open()``.

    Args:
        parent: The window.
        count: How many changes are pending.
    """

    def __init__(self, parent: QWidget, count: int) -> None:
        super().__init__(parent)
        self.setIcon(QMessageBox.Icon.Question)
        words = self.tr("1 change to the settings is not saved.")
        lost = self.tr("If you quit without saving, it is lost.")
        if count != 1:
            words = self.tr("{n} changes to the settings are not saved.").format(n=count)
            lost = self.tr("If you quit without saving, they are lost.")
        self.setText(words)
        self.setInformativeText(lost)
        self.save = self.addButton(self.tr("Save and quit"), QMessageBox.ButtonRole.AcceptRole)
        self.leave = self.addButton(
            self.tr("Quit without saving"), QMessageBox.ButtonRole.DestructiveRole
        )
        self.setEscapeButton(self.addButton(QMessageBox.StandardButton.Cancel))
        remove_icons(self)
        self.setDefaultButton(self.save)

    @property
    def answer(self) -> Answer:
        """The answer that belongs to the clicked button."""
        clicked = self.clickedButton()
        if clicked is self.save:
            return "save"
        return "leave" if clicked is self.leave else "neither"
