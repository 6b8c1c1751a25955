"""The table of secrets: quiet rows of one height, sorted by a click on a heading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.gateway.leading_text import draw_text
from hermes_desktop.ui.resource_files import pixmap
from hermes_desktop.ui.scroll_bars import make_slim
from hermes_desktop.ui.settings.secrets.secret_model import (
    LABEL,
    STATE,
    USED_BY,
    VIEW_ROLE,
    WHERE,
    Index,
)
from hermes_desktop.ui.settings.secrets.secret_words import QUIET_STATES
from hermes_desktop.ui.theme import SPACE_4, SPACE_8, SPACE_12, Theme

if TYPE_CHECKING:
    from PySide6.QtCore import QAbstractItemModel
    from PySide6.QtGui import QResizeEvent

_ROW = 32
_ARROW = 14
_MOST_ROWS = 10
_LEAST_LABEL = 120
_LEAST_USED = 76


class SecretTable(QTableView):
    """One row is chosen at a time.

    Signals:
        chosen: Another row, or none: its view or None.
    """

    chosen = Signal(object)

    def __init__(self, model: QAbstractItemModel, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Secrets"))
        self.setHorizontalHeader(_Header(theme, self))
        self.setModel(model)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setItemDelegate(_Delegate(theme, self))
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW)
        self.setSortingEnabled(True)
        self.sortByColumn(LABEL, Qt.SortOrder.AscendingOrder)
        make_slim(self, theme)
        self.selectionModel().currentRowChanged.connect(self._tell)
        for signal in (model.modelReset, model.layoutChanged, model.dataChanged):
            signal.connect(self.fit)

    def choose(self, row: int) -> None:
        """Choose a row of what is shown; one that is not there chooses none."""
        index = self.model().index(row, LABEL)
        self.setCurrentIndex(index)
        if index.isValid():
            self.scrollTo(index)

    def fit(self) -> None:
        """Be as high as the rows, and give each column what its words need."""
        rows = min(max(1, self.model().rowCount()), _MOST_ROWS)
        self.setFixedHeight(rows * _ROW + self.horizontalHeader().sizeHint().height() + 2)
        left = self.viewport().width()
        state, used = self._wanted_width(STATE), self._wanted_width(USED_BY)
        label = max(_LEAST_LABEL, self._wanted_width(LABEL))
        where = self._wanted_width(WHERE)
        self.setColumnHidden(USED_BY, left - state - where - _LEAST_LABEL < _LEAST_USED)
        if not self.isColumnHidden(USED_BY):
            left -= used
        over = max(0, label + where + state - left)
        cut = min(over, max(0, label - _LEAST_LABEL))
        for column, width in ((LABEL, label - cut), (WHERE, where - (over - cut)), (STATE, state)):
            self.setColumnWidth(column, max(width, 48))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def _wanted_width(self, column: int) -> int:
        model, metrics = self.model(), self.fontMetrics()
        words = [str(model.index(row, column).data() or "") for row in range(model.rowCount())]
        widest = max((metrics.horizontalAdvance(each) for each in words), default=0)
        heading = str(model.headerData(column, Qt.Orientation.Horizontal) or "")
        least = metrics.horizontalAdvance(heading) + _ARROW
        return max(widest, least) + SPACE_8 + SPACE_12

    def _tell(self, current: QModelIndex, _: QModelIndex) -> None:
        self.chosen.emit(current.data(VIEW_ROLE) if current.isValid() else None)


class _Header(QHeaderView):
    """Quiet words above a hairline; the sorted column has an arrow."""

    def __init__(self, theme: Theme, parent: QTableView) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setStretchLastSection(True)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        theme.changed.connect(self.viewport().update)

    @override
    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        palette, direction = self._theme.palette, self.layoutDirection()
        painter.save()
        painter.fillRect(rect, QColor(palette.base))
        painter.setPen(QColor(palette.separator))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.setPen(QColor(palette.secondary_text))
        words = str(self.model().headerData(logicalIndex, Qt.Orientation.Horizontal) or "")
        draw_text(painter, _inside(rect, direction, SPACE_8, SPACE_4), words, direction)
        if logicalIndex == self.sortIndicatorSection() and self.isSortIndicatorShown():
            up = self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
            left = SPACE_8 + painter.fontMetrics().horizontalAdvance(words) + 2
            top = (rect.height() - _ARROW) // 2
            place = QRect(rect.left() + left, rect.top() + top, _ARROW, _ARROW)
            ratio = float(painter.device().devicePixelRatioF())
            drawing = pixmap(
                "chevron-up" if up else "chevron-down", palette.secondary_text, _ARROW, ratio
            )
            painter.drawPixmap(QStyle.visualRect(direction, rect, place), drawing)
        painter.restore()


class _Delegate(QStyledItemDelegate):
    """The first column in the colour of text, the others quieter; trouble in that of warnings."""

    def __init__(self, theme: Theme, parent: QTableView) -> None:
        super().__init__(parent)
        self._theme = theme

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, _ROW)

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        palette = self._theme.palette
        state: QStyle.StateFlag = option.state
        selected = bool(state & QStyle.StateFlag.State_Selected)
        painter.save()
        if selected:
            painter.fillRect(option.rect, QColor(palette.selection))
        if index.column() == LABEL and selected and option.widget.hasFocus():
            bar = QRect(option.rect.left(), option.rect.top() + 6, 3, _ROW - 12)
            painter.fillRect(QStyle.visualRect(option.direction, option.rect, bar), palette.accent)
        words = str(index.data() or "")
        colour = palette.text if index.column() == LABEL else palette.secondary_text
        if index.column() == STATE and words not in QUIET_STATES:
            colour = palette.warning
        painter.setPen(QColor(colour))
        painter.setFont(option.font)
        place = _inside(option.rect, option.direction, SPACE_8, SPACE_4)
        draw_text(painter, place, words, option.direction)
        painter.restore()


def _inside(rect: QRect, direction: Qt.LayoutDirection, leading: int, trailing: int) -> QRect:
    """A place with room at its edges."""
    return QStyle.visualRect(direction, rect, rect.adjusted(leading, 0, -trailing, 0))
