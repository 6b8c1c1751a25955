"""The centered column of the messages, at most 760 pixels wide, and how content is put into it."""

from PySide6.QtCore import QMargins
from PySide6.QtWidgets import QHBoxLayout, QLayout, QWidget

MAX_WIDTH = 760
SIDE = 24
SCROLL_BAR = 12
"""Width of the transcript's scroll bar, so that content below it aligns with the messages."""
_ALL = 1_000


def put_in_middle(owner: QWidget, content: QLayout, *, top: int, bottom: int) -> QWidget:
    """Put content into the centered column of a widget that is as wide as the page.

    Args:
        owner: Has no layout yet.
        content: The content of the column.
        top: Pixels above it.
        bottom: Pixels below it.

    Returns:
        The widget that holds the content.
    """
    holder = QWidget(owner)
    content.setContentsMargins(QMargins())
    holder.setLayout(content)
    holder.setMaximumWidth(MAX_WIDTH)
    outer = QHBoxLayout(owner)
    outer.setContentsMargins(QMargins(SIDE, top, SIDE + SCROLL_BAR, bottom))
    outer.setSpacing(0)
    outer.addStretch(1)
    outer.addWidget(holder, _ALL)
    outer.addStretch(1)
    return holder
