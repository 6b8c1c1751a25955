"""The box that replaces the message field in read-only sessions."""

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QApplication, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import Theme


class ReadOnlyBox(QWidget):
    """A reason, and the one way to continue: a copy, or a command for another program.

    Signals:
        copy_wanted: Continue in a copy.
    """

    copy_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.words = LeadingLabel()
        self.command = LeadingLabel()
        self.command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.command.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.copy = QPushButton(self.tr("Continue in a copy"), self)
        self.copy.clicked.connect(self.copy_wanted)
        self.copy_command = QPushButton(self.tr("Copy the command"), self)
        self.copy_command.clicked.connect(self._copy_command)
        row = QHBoxLayout()
        for button in (self.copy, self.copy_command):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins(2, 4, 2, 4))
        for widget in (self.words, self.command):
            column.addWidget(widget)
        column.addLayout(row)
        theme.changed.connect(self._colour)
        self._colour()
        self.show_reason("")

    @property
    def button(self) -> QPushButton:
        """The button that continues."""
        return self.copy_command if self.command.text() else self.copy

    def show_reason(self, reason: str, command: str = "") -> None:
        """Show the reason.

        Args:
            reason: The reason as display text.
            command: The command that continues in another program; "" if a copy does.
        """
        self.words.setText(reason)
        if command != self.command.text():
            self.copy_command.setText(self.tr("Copy the command"))
        self.command.setText(command)
        self.command.setVisible(bool(command))
        self.copy.setVisible(not command)
        self.copy_command.setVisible(bool(command))
        self.button.setAccessibleDescription(f"{reason} {command}".strip())

    def _copy_command(self) -> None:
        QApplication.clipboard().setText(self.command.text())
        self.copy_command.setText(self.tr("Copied"))

    def _colour(self) -> None:
        tint(self.words, self._theme.palette.secondary_text)
