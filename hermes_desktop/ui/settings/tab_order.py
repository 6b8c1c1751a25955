"""The tab order of a page: as laid out, independent of when its parts were created."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLayout, QScrollArea, QStackedWidget, QWidget

from hermes_desktop.ui.widgets.flow_row import FlowRow

if TYPE_CHECKING:
    from collections.abc import Iterator


def order_tabs(root: QWidget) -> None:
    """Set the tab order of everything in a widget to the order of the layouts."""
    for before, after in pairwise(tab_stops(root)):
        QWidget.setTabOrder(before, after)


def focus_in(widget: QWidget) -> QWidget | None:
    """Return the widget that has the focus, or would have it if its window were in front."""
    return widget.focusWidget()


def tab_stops(widget: QWidget) -> Iterator[QWidget]:
    """Yield what Tab can reach in a widget, hidden or not, in the order of the layouts."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
        yield widget
    layout = widget.layout()
    if isinstance(widget, QStackedWidget):
        yield from _in(widget.currentWidget())
    elif isinstance(widget, QScrollArea):
        yield from _in(widget.widget())
    elif isinstance(widget, FlowRow):
        for each in widget.widgets:
            yield from tab_stops(each)
    elif layout is not None:
        yield from _in_layout(layout)


def _in(widget: QWidget | None) -> Iterator[QWidget]:
    if widget is not None:
        yield from tab_stops(widget)


def _in_layout(layout: QLayout) -> Iterator[QWidget]:
    for number in range(layout.count()):
        item = layout.itemAt(number)
        inner = None if item is None else item.layout()
        if inner is not None:
            yield from _in_layout(inner)
        elif item is not None:
            yield from _in(item.widget())
