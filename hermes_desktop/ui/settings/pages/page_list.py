"""The list of pages on the left, with a dot for pages with unsaved changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)
from typing_extensions import override

from hermes_desktop.ui.widgets.resource_files import ICON_SIZE, pixmap
from hermes_desktop.ui.widgets.row_painting import paint_ground
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtWidgets import QWidget

    from hermes_desktop.ui.settings.page_table import PageEntry
    from hermes_desktop.ui.widgets.theme import Theme

NAME_ROLE = int(Qt.ItemDataRole.UserRole)
ICON_ROLE = NAME_ROLE + 1
COUNT_ROLE = NAME_ROLE + 2
_LEAST_ROW = 36
_DOT = 8


class PageList(QListWidget):
    """A list of the pages; selecting one shows it.

    Signals:
        page_wanted: Carries the name of the page.
    """

    page_wanted = Signal(str)

    def __init__(
        self, entries: Iterable[PageEntry], theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Settings pages"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setMouseTracking(True)
        self.setItemDelegate(_PageDelegate(theme, self))
        self.viewport().setBackgroundRole(QPalette.ColorRole.Window)
        for entry in entries:
            item = QListWidgetItem(entry.title, self)
            item.setData(NAME_ROLE, entry.name)
            item.setData(ICON_ROLE, entry.icon)
            item.setToolTip(entry.about)
        theme.changed.connect(self.viewport().update)
        self.currentItemChanged.connect(self._chosen)
        self.itemActivated.connect(self._chosen)
        self.itemClicked.connect(self._chosen)

    def show_as_open(self, name: str) -> None:
        """Mark a page as the visible one without emitting a signal."""
        with QSignalBlocker(self):
            for item in self._items():
                if item.data(NAME_ROLE) == name:
                    self.setCurrentItem(item)
        self.viewport().update()

    def show_counts(self, counts: dict[str, int]) -> None:
        """Show how many changes of each page are unsaved."""
        for item in self._items():
            count = counts.get(item.data(NAME_ROLE), 0)
            item.setData(COUNT_ROLE, count)
            words = f"{count} change{'' if count == 1 else 's'} not saved" if count else ""
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, words)

    def least_width(self) -> int:
        """Return the width at which no name is cut off."""
        metrics = self.fontMetrics()
        words = max(metrics.horizontalAdvance(item.text()) for item in self._items())
        return SPACE_8 + ICON_SIZE + SPACE_8 + words + SPACE_8 + _DOT + SPACE_8 + 1

    @override
    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), _row_height(self.font()) * self.count())

    def _items(self) -> list[QListWidgetItem]:
        return [self.item(row) for row in range(self.count())]

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.page_wanted.emit(item.data(NAME_ROLE))


class _PageDelegate(QStyledItemDelegate):
    """Paints icon, name and dot; the selected page on the background of the selection."""

    def __init__(self, theme: Theme, parent: QListWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._list = parent

    @override
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(0, _row_height(option.font))

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        by_key = bool(_state(option) & QStyle.StateFlag.State_KeyboardFocusChange)
        paint_ground(painter, option, self._theme.palette, focused=by_key and self._list.hasFocus())
        self._paint_words(painter, option, index, option.rect.adjusted(0, 1, 0, -1))
        painter.restore()

    def _paint_words(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
        rect: QRect,
    ) -> None:
        palette = self._theme.palette
        direction: Qt.LayoutDirection = option.direction
        inner = rect.adjusted(SPACE_8, 0, -SPACE_8, 0)
        icon_place = QRect(inner.left(), 0, ICON_SIZE, ICON_SIZE)
        icon_place.moveTop(rect.center().y() - ICON_SIZE // 2)
        icon_place = QStyle.visualRect(direction, rect, icon_place)
        ratio = self._list.devicePixelRatioF()
        painter.drawPixmap(
            icon_place, pixmap(index.data(ICON_ROLE), palette.secondary_text, ICON_SIZE, ratio)
        )
        words = inner.adjusted(ICON_SIZE + SPACE_8, 0, -(_DOT + SPACE_8), 0)
        words = QStyle.visualRect(direction, rect, words)
        painter.setPen(QColor(palette.text))
        metrics = option.fontMetrics
        text = metrics.elidedText(
            index.data(Qt.ItemDataRole.DisplayRole), Qt.TextElideMode.ElideRight, words.width()
        )
        align = QStyle.visualAlignment(direction, Qt.AlignmentFlag.AlignLeft)
        painter.drawText(words, int(align | Qt.AlignmentFlag.AlignVCenter), text)
        if index.data(COUNT_ROLE):
            dot = QRect(inner.right() - _DOT, 0, _DOT, _DOT)
            dot.moveTop(rect.center().y() - _DOT // 2)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.accent))
            painter.drawEllipse(QStyle.visualRect(direction, rect, dot))


def _row_height(font: QFont) -> int:
    return max(_LEAST_ROW, QFontMetrics(font).height() + SPACE_8)


def _state(option: QStyleOptionViewItem) -> QStyle.StateFlag:
    return option.state


LIST_WIDTH = 200
NARROW_WIDTH = 152 + SPACE_12
