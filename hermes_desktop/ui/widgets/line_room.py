"""Margins at both ends of a line edit, so that the cursor does not touch the first letter."""

from PySide6.QtCore import QMargins
from PySide6.QtWidgets import QLineEdit

_ROOM = QMargins(2, 0, 2, 0)
"""Added to what the style leaves; lists and combo boxes begin at the same position."""


def set_text_margins(line: QLineEdit) -> None:
    """Align the text of a line edit with that of other kinds of fields."""
    line.setTextMargins(_ROOM)
