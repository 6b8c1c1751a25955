"""The find bar for the loaded part of the transcript."""

from collections.abc import Callable, Iterable, Iterator

import shiboken6
from PySide6.QtCore import QEvent, QMargins, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.widgets.centered_column import SIDE
from hermes_desktop.ui.widgets.resource_files import icon, icon_size
from hermes_desktop.ui.widgets.theme import Theme

TextWidget = QTextEdit | QPlainTextEdit
_MOST = 2_000


class FindBar(QWidget):
    """A search field, the number of hits, and buttons for next and previous.

    Args:
        texts: Returns the text widgets in order; called for each search.
        theme: Colors of the icons on the buttons.

    Signals:
        hit: The widget of the current hit; it must be scrolled into view.
        closed: The bar was closed.
    """

    hit = Signal(QWidget)
    closed = Signal()

    def __init__(
        self,
        texts: Callable[[], Iterable[TextWidget]],
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._texts = texts
        self._theme = theme
        self._hits: list[QTextCursor] = []
        self._widgets: list[TextWidget] = []
        self._current = -1
        self.line = QLineEdit(self)
        self.line.setPlaceholderText("Find in this session…")
        self.line.setAccessibleName("Find in this session")
        self.line.setClearButtonEnabled(True)
        self.count = QLabel(self)
        self.previous = self._button("Previous hit (Shift+Enter)", self.step_back)
        self.next = self._button("Next hit (Enter)", self.step)
        self.close_button = self._button("Close (Esc)", self.close_bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(QMargins(SIDE, 6, SIDE, 6))
        for widget in (self.line, self.count, self.previous, self.next, self.close_button):
            row.addWidget(widget, 1 if widget is self.line else 0)
        self.line.textChanged.connect(self.search)
        self.line.installEventFilter(self)
        theme.changed.connect(self._colour)
        self._colour()

    def open_bar(self) -> None:
        """Show the bar and focus it."""
        self.show()
        self.line.setFocus()
        self.line.selectAll()
        self.search()

    def close_bar(self) -> None:
        """Hide the bar; the last hit stays selected."""
        self.hide()
        self.closed.emit()

    def search(self) -> None:
        """Search for the typed text; the last hit, nearest to the newest message, is current."""
        self._hits, self._widgets = [], []
        wanted = self.line.text()
        if wanted.strip():
            for widget in self._texts():
                for cursor in _hits_in(widget, wanted):
                    self._hits.append(cursor)
                    self._widgets.append(widget)
                if len(self._hits) >= _MOST:
                    break
        self._current = len(self._hits)
        self.step_back()

    def step(self) -> None:
        """Go to the next hit, from the last one to the first."""
        self._go(self._current + 1)

    def step_back(self) -> None:
        """Go to the previous hit, from the first one to the last."""
        self._go(self._current - 1)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            (self.step_back if back else self.step)()
        else:
            super().keyPressEvent(event)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle Esc in the field: close the bar and nothing else in the window."""
        overrides = event.type() == QEvent.Type.ShortcutOverride
        if overrides and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()
            return True
        return False

    def _go(self, position: int) -> None:
        if not self._hits:
            self.count.setText("No hits" if self.line.text().strip() else "")
            return
        self._current = position % len(self._hits)
        more = "+" if len(self._hits) >= _MOST else ""
        self.count.setText(f"{self._current + 1} of {len(self._hits)}{more}")
        widget = self._widgets[self._current]
        if shiboken6.isValid(widget):
            widget.setTextCursor(self._hits[self._current])
            self.hit.emit(widget)

    def _button(self, words: str, action: Callable[[], None]) -> QToolButton:
        button = QToolButton(self)
        button.setIconSize(icon_size())
        button.setToolTip(words)
        button.setAccessibleName(words)
        button.setAutoRaise(True)
        button.clicked.connect(action)
        return button

    def _colour(self) -> None:
        palette = self._theme.palette
        self.previous.setIcon(icon("chevron-up", palette))
        self.next.setIcon(icon("chevron-down", palette))
        self.close_button.setIcon(icon("close", palette))


def _hits_in(widget: TextWidget, wanted: str) -> Iterator[QTextCursor]:
    document = widget.document()
    cursor = document.find(wanted, 0)
    while not cursor.isNull():
        yield cursor
        cursor = document.find(wanted, cursor)
