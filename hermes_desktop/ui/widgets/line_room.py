"""Room at both ends of a line that is typed into: the cursor stands beside the first letter."""

from PySide6.QtCore import QMargins
from PySide6.QtWidgets import QLineEdit

_ROOM = QMargins(2, 0, 2, 0)
"""Beside what the style leaves; lists and choices begin there, too."""


def give_room(line: QLineEdit) -> None:
    """Let the text of a line begin where that of fields of other kinds does."""
    line.setTextMargins(_ROOM)
