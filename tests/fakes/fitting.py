"""A check that all text of a widget is readable: not cut off, not outside of its parent."""

import contextlib
from collections.abc import Iterator

from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QLabel,
    QPushButton,
    QScrollArea,
    QWidget,
)


@contextlib.contextmanager
def letters(factor: float) -> Iterator[None]:
    """Enlarge the font of all programs, as a user can; enter before creating widgets."""
    font = QApplication.font()
    larger = QApplication.font()
    larger.setPointSizeF(font.pointSizeF() * factor)
    QApplication.setFont(larger)
    try:
        yield
    finally:
        QApplication.setFont(font)


def cut_words(root: QWidget) -> list[str]:
    """Return texts that are only partly visible, each with the reason.

    Text that vertical scrolling reveals is not reported, only what lies beside a scroll area.
    """
    found = []
    for widget in root.findChildren(QWidget):
        if isinstance(widget, QLabel | QAbstractButton) and widget.isVisibleTo(root):
            why = _why_cut(widget) if widget.text() else ""
            why = why or _beside(widget, root)
            if why:
                found.append(f"{widget.text()}: {why}")
    return found


def _why_cut(widget: QLabel | QAbstractButton) -> str:
    if isinstance(widget, QLabel):
        if not widget.wordWrap():
            return "too narrow" if widget.sizeHint().width() > widget.width() else ""
        return "too low" if widget.heightForWidth(widget.width()) > widget.height() else ""
    if isinstance(widget, QPushButton | QCheckBox) and widget.width() < widget.sizeHint().width():
        return "too narrow"
    return ""


def _beside(widget: QWidget, root: QWidget) -> str:
    """Return a reason if the widget extends beyond its parent to the left, right or bottom."""
    parent = widget.parentWidget()
    while parent is not None and parent is not root:
        scrolls = isinstance(parent.parentWidget(), QScrollArea)
        if scrolls or parent.parentWidget() is root:
            left = widget.mapTo(parent, widget.rect().topLeft()).x()
            if left < 0 or left + widget.width() > parent.width():
                return "reaches out of sight"
            if scrolls:
                return ""
        elif widget.mapTo(parent, widget.rect().bottomLeft()).y() >= parent.height():
            return "reaches below what it stands in"
        parent = parent.parentWidget()
    return ""
