"""The Help dialog with the keyboard shortcuts."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QKeySequence, QPalette
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLabel, QVBoxLayout, QWidget

from hermes_desktop import __version__
from hermes_desktop.ui.shell.key_map import KEYS
from hermes_desktop.ui.widgets.dialog_buttons import remove_icons
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_16, SPACE_24


class KeysDialog(QDialog):
    """Lists every shortcut of the window. Opened with ``open()``; Esc closes it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keys"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_24)
        grid.setVerticalSpacing(SPACE_8)
        for row, key in enumerate(KEYS):
            sequence = QKeySequence(key.sequence)
            name = QLabel(sequence.toString(QKeySequence.SequenceFormat.NativeText))
            font = QFont(name.font())
            font.setWeight(QFont.Weight.DemiBold)
            name.setFont(font)
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(QLabel(key.words), row, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        remove_icons(buttons)
        buttons.rejected.connect(self.reject)
        version = QLabel(f"Hermes Desktop {__version__}")
        quiet = version.palette()
        quiet.setColor(QPalette.ColorRole.WindowText, quiet.placeholderText().color())
        version.setPalette(quiet)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_16)
        column.setSpacing(SPACE_16)
        column.addLayout(grid)
        column.addWidget(version, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(buttons)
