"""The part of a request sheet that scrolls, with the name of the session on top."""

from PySide6.QtCore import QEvent, QMargins, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, Theme
from hermes_desktop.ui.words.visible_text import visible

_LEAST_LINES = 2


class _Content(QWidget):
    """Content that shrinks to its minimum height before the area around it scrolls."""

    @override
    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return layout.totalMinimumHeightForWidth(width) if layout is not None else -1


class RequestArea(QScrollArea):
    """A frameless area for the long content of a sheet, so that its buttons stay in view.

    It is as high as its content, or less.

    Attributes:
        body: Holds the content.
        column: The layout of the content.
        session: The title of the request's session, hidden while that is unknown.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.body = _Content()
        self.column = QVBoxLayout(self.body)
        self.session = LeadingLabel()
        self.session.setMinimumHeight(1)  # otherwise the area assumes two lines and scrolls
        self.column.addWidget(self.session)
        self.setWidget(self.body)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.body.setAutoFillBackground(False)
        make_slim(self, theme, ground="raised")
        self.verticalScrollBar().rangeChanged.connect(self._keep_bar_free)
        self._keep_bar_free()

    def show_session(self, title: str) -> None:
        """Show the title of the session; "" hides the line."""
        self.session.setText(self.tr("Session: {}").format(visible(title)) if title else "")
        self.session.setVisible(bool(title))
        self.updateGeometry()

    @override
    def sizeHint(self) -> QSize:
        width = max(self.viewport().width(), 200)
        return QSize(super().sizeHint().width(), self.column.totalHeightForWidth(width) + 2)

    @override
    def minimumSizeHint(self) -> QSize:
        least = _LEAST_LINES * self.fontMetrics().lineSpacing() + 2 * SPACE_8
        return QSize(160, min(least, self.sizeHint().height()))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()  # its height depends on its width

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        handled = super().eventFilter(watched, event)
        if watched is self.body and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return handled

    def _keep_bar_free(self) -> None:
        """Leave a gap before a visible scroll bar; without a bar the content has no gap."""
        room = SPACE_8 if self.verticalScrollBar().maximum() else 0
        left = self.isRightToLeft()
        self.column.setContentsMargins(QMargins(room * left, 0, room * (not left), SPACE_4))
