"""A collapsible section for all sessions without messages: one line, or a short list."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.services.sessions.live_catalog import ListQuery, SessionPage
from hermes_desktop.ui.sessions.list_feed import ListFeed
from hermes_desktop.ui.sessions.session_delegate import row_height
from hermes_desktop.ui.sessions.session_list_model import SessionListModel
from hermes_desktop.ui.sessions.session_list_view import SessionListView
from hermes_desktop.ui.widgets.resource_files import icon, icon_size
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.day_words import words_for

_ROWS_OPEN = 4


class EmptySessionsSection(QWidget):
    """The line and, when expanded, the list below it. Reads nothing while collapsed.

    Args:
        feed: Requests sessions without messages.
    """

    rename_wanted = Signal(str, str)

    def __init__(
        self, feed: ListFeed, theme: Theme, clock: Clock, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._clock = clock
        self._count = 0
        self._open = False
        self.feed = feed
        self._later = feed.query
        self._model = SessionListModel(headings=False, parent=self)
        self._view = SessionListView(self._model, theme, name=self.tr("Sessions without messages"))
        self._line = QToolButton()
        self._arrange()
        self._line.clicked.connect(self.toggle)
        feed.page_ready.connect(self._show_page)
        self._model.more_wanted.connect(feed.more)
        self._model.rename_wanted.connect(self.rename_wanted)
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    @property
    def view(self) -> SessionListView:
        """The list; hidden while the section is collapsed."""
        return self._view

    @property
    def line(self) -> QToolButton:
        """The line that expands and collapses the section."""
        return self._line

    def show_count(self, count: int) -> None:
        """Show the number of sessions; without any, the section is hidden."""
        self._count = count
        self.setVisible(count > 0)
        self._draw()

    def toggle(self) -> None:
        """Expand or collapse the section."""
        self._open = not self._open
        if not self._open and self._view.hasFocus():
            self._line.setFocus()  # else Qt moves the focus to the next widget of the window
        self._view.setVisible(self._open)
        if self._open:
            self.feed.ask(self._later)
        self._draw()

    def ask(self, query: ListQuery, *, after_ms: int) -> None:
        """Apply the filter of the main list."""
        if self._open:
            self.feed.ask(query, after_ms=after_ms)
        else:
            self._later = query

    def refresh(self) -> None:
        """Refresh after the data changed."""
        if self._open:
            self.feed.refresh()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(self._theme.palette.separator))
        painter.drawLine(self.rect().topLeft(), self.rect().topRight())

    def _arrange(self) -> None:
        self._line.setAutoRaise(True)
        self._line.setIconSize(icon_size() * 0.8)
        self._line.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._line.setMinimumHeight(32)
        self._view.setFixedHeight(_ROWS_OPEN * row_height(self._view.font()))
        self._view.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 1, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._line)
        column.addWidget(self._view)

    def _draw(self) -> None:
        self._line.setIcon(
            icon("chevron-down" if self._open else "chevron-right", self._theme.palette)
        )
        noun = self.tr("session") if self._count == 1 else self.tr("sessions")
        state = self.tr("expanded") if self._open else self.tr("collapsed")
        self._line.setAccessibleDescription(state)
        self._line.setText(f"{self._count:,} {noun} " + self.tr("without messages"))

    def _show_page(self, page: SessionPage) -> None:
        self._view.show_rows(page.rows, words_for(self._clock.time()), total=page.total)
        rows = min(_ROWS_OPEN, max(1, len(page.rows)))
        self._view.setFixedHeight(rows * row_height(self._view.font()))
