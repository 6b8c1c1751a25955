"""What stands in the place of the message field where nothing may be written."""

from PySide6.QtCore import QMargins, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from hermes_desktop.ui.gateway.section_parts import LeadingLabel
from hermes_desktop.ui.theme import Theme
from hermes_desktop.ui.transcript.look import tint


class ReadOnlyBox(QWidget):
    """A reason, and the one way to go on.

    Signals:
        copy_wanted: Go on in a copy.
    """

    copy_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.words = LeadingLabel()
        self.copy = QPushButton(self.tr("Continue in a copy"), self)
        self.copy.setAutoDefault(False)
        self.copy.clicked.connect(self.copy_wanted)
        row = QHBoxLayout()
        row.addWidget(self.copy)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins(2, 4, 2, 4))
        column.addWidget(self.words)
        column.addLayout(row)
        theme.changed.connect(self._colour)
        self._colour()

    def show_reason(self, reason: str) -> None:
        """Say why."""
        self.words.setText(reason)
        self.copy.setAccessibleDescription(reason)

    def _colour(self) -> None:
        tint(self.words, self._theme.palette.secondary_text)
