"""The scroll area of the column: keeps the visible position when the content around it changes.

Its overlays are the button to the newest message, and the veil while a session is loaded.
"""

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QProgressBar, QPushButton, QScrollArea, QWidget
from typing_extensions import override

from hermes_desktop.ui.transcript.column import Column
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.theme import Theme

NEAR_END = 4
_NEAR_EDGE = 900


class TranscriptScroll(QScrollArea):
    """A scroll area for a :class:`Column` that sticks to the end while the end is visible.

    Signals:
        near_top: The beginning of the shown part is near.
        near_bottom: The end of the shown part is near.
        place_changed: The visible part moved, by the user or by a change of content.
    """

    near_top = Signal()
    near_bottom = Signal()
    place_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        make_slim(self, theme)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Transcript")
        self.column = Column()
        self.column.setBackgroundRole(QPalette.ColorRole.Base)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Base)
        self.setWidget(self.column)
        self.stick = True
        self._places: list[tuple[int, int]] = []
        self._moving = False
        self.column.set_nearest(lambda: self.verticalScrollBar().value())
        self.column.about_to_move.connect(self._remember)
        self.column.moved.connect(self._restore)
        bar = self.verticalScrollBar()
        bar.setSingleStep(24)
        bar.valueChanged.connect(self._scrolled)

    @property
    def at_end(self) -> bool:
        """Whether the end of the shown part is visible."""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - NEAR_END

    def to_end(self) -> None:
        """Go to the end and stay there while it grows."""
        self.stick = True
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def bring_into_view(self, widget: QWidget, y: int, height: int) -> None:
        """Scroll so that a part of a widget of the column is visible."""
        top = widget.mapTo(self.column, widget.rect().topLeft()).y() + y
        bar = self.verticalScrollBar()
        page = self.viewport().height()
        if top < bar.value() + 24 or top + height > bar.value() + page - 24:
            self.stick = False
            bar.setValue(top - page // 3)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Space is reserved for a hidden bar, so that no text moves when it appears.
        self.column.set_width(self.width() - self.verticalScrollBar().sizeHint().width())
        self._after_geometry()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._after_geometry()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        page = max(self.viewport().height() - 48, 24)
        keys = {
            Qt.Key.Key_Home: -bar.maximum(),
            Qt.Key.Key_End: bar.maximum(),
            Qt.Key.Key_PageUp: -page,
            Qt.Key.Key_PageDown: page,
            Qt.Key.Key_Space: page,
            Qt.Key.Key_Up: -bar.singleStep() * 2,
            Qt.Key.Key_Down: bar.singleStep() * 2,
        }
        step = keys.get(Qt.Key(event.key()))
        if step is None:
            event.ignore()
        else:
            bar.setValue(bar.value() + step)

    @override
    def ensureVisible(self, x: int, y: int, xmargin: int = 50, ymargin: int = 50) -> None:
        """Do nothing, because a text that takes the focus must not scroll the transcript."""

    # ------------------------------------------------------------------------------ anchor
    def _remember(self) -> None:
        """Record the screen positions of the visible items and of those below."""
        top = self.verticalScrollBar().value()
        items = self.column.items
        self._moving = True
        self._places = [(id(item.widget), item.y - top) for item in items if item.bottom > top]

    def _restore(self) -> None:
        """Restore the screen position of the first item that still exists."""
        bar = self.verticalScrollBar()
        if self.stick:
            bar.setValue(bar.maximum())
        else:
            positions = {id(item.widget): item.y for item in self.column.items}
            for key, offset in self._places:
                if key in positions:
                    bar.setValue(positions[key] - offset)
                    break
        self._moving = False
        self._check_edges()

    def _after_geometry(self) -> None:
        if self.stick:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())
        self._check_edges()

    def _scrolled(self) -> None:
        if not self._moving:
            self.stick = self.at_end
            self._check_edges()

    def _check_edges(self) -> None:
        bar = self.verticalScrollBar()
        if bar.value() < _NEAR_EDGE:
            self.near_top.emit()
        if bar.maximum() - bar.value() < _NEAR_EDGE:
            self.near_bottom.emit()
        self.place_changed.emit()


_MARGIN = 16
_LEAST = 4
"""Minimum height of an area that shows the button, as a multiple of the button's height."""
_LINE = 3


class JumpButton(QPushButton):
    """A button that is shown while the newest message is out of view."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("↓  Jump to latest", parent)
        self.setAccessibleName("Jump to the latest message")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()

    def place(self, area: QRect, *, shown: bool) -> None:
        """Place the button at the bottom center of an area; hide it if the area is too low."""
        size = self.sizeHint()
        left = area.center().x() - size.width() // 2
        top = area.bottom() - size.height() - _MARGIN
        fits = area.height() >= _LEAST * size.height()
        self.setGeometry(left, max(top, area.top()), size.width(), size.height())
        self.setVisible(shown and fits)
        self.raise_()


class Veil(QWidget):
    """A veil that grays what is below it, blocks input, and shows a progress line at the top."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._colour = QColor()
        self._greyed = False
        self.line = QProgressBar(self)
        self.line.setRange(0, 0)
        self.line.setTextVisible(False)
        self.line.setAccessibleName("Loading the session")
        self.line.hide()
        self.hide()
        over.installEventFilter(self)

    def set_state(self, *, greyed: bool, busy: bool, colour: str) -> None:
        """Set the state; the veil is hidden when neither applies."""
        self._colour = QColor(colour)
        self._colour.setAlphaF(0.55)
        self._greyed = greyed
        self.line.setVisible(busy)
        self.setVisible(greyed or busy)
        self._cover()
        self.raise_()
        self.update()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._cover()
        return False

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if self._greyed:
            painter = QPainter(self)
            painter.fillRect(self.rect(), self._colour)
            painter.end()

    def _cover(self) -> None:
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
            self.line.setGeometry(0, 0, self.width(), _LINE)
