"""The strip above the message field that reports an automatic reset of the chat."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget
from typing_extensions import override

from hermes_desktop.core.events import SessionReset
from hermes_desktop.ui.widgets.centered_column import put_in_middle
from hermes_desktop.ui.widgets.resource_files import icon, icon_size, pixmap
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, Theme

_REMEMBERED = 50
_ICON = 18


class ResetStrip(QWidget):
    """A strip for the reset of the conversation on the page, shown until it is closed.

    Signals:
        previous_wanted: Continue the chat in the session before the reset; success is reported
            through :meth:`settle`.
        new_wanted: Show the session that started, by its id.
    """

    previous_wanted = Signal(SessionReset)
    new_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._resets: list[SessionReset] = []
        self._shown: SessionReset | None = None
        self._icon = QLabel()
        self.words = LeadingLabel()
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.previous = QPushButton(self.tr("Continue previous"), self)
        self.new = QPushButton(self.tr("Open the new session"), self)
        self.close_button = QToolButton()
        self.close_button.setAutoRaise(True)
        self.close_button.setIconSize(icon_size())
        self.close_button.setAccessibleName(self.tr("Dismiss"))
        self.close_button.setToolTip(self.tr("Close"))
        row = QHBoxLayout()
        row.setSpacing(SPACE_8)
        row.addWidget(self._icon)
        row.addWidget(self.words, 1)
        for button in (self.previous, self.new):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addWidget(self.close_button)
        put_in_middle(self, row, top=SPACE_8, bottom=SPACE_8)
        self.previous.clicked.connect(self._go_back)
        self.new.clicked.connect(self._go_on)
        self.close_button.clicked.connect(self._forget)
        theme.changed.connect(self._colour)
        self._colour()
        self.hide()

    def note(self, reset: SessionReset) -> None:
        """Store a reset; the next :meth:`show_for` may show it."""
        self._resets = [*self._resets, reset][-_REMEMBERED:]

    def show_for(self, ids: set[str]) -> None:
        """Show the latest reset of the conversation with these ids, if there was one."""
        found = (r for r in reversed(self._resets) if {r.old_session_id, r.new_session_id} & ids)
        self._shown = reset = next(found, None)
        self.setVisible(reset is not None)
        if reset is not None:
            self.words.setText(reset.text)
            self.setAccessibleName(reset.text)
            self.new.setVisible(reset.new_session_id not in ids)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.palette.separator))
        painter.drawLine(self.rect().topLeft(), self.rect().topRight())

    def settle(self, reset: SessionReset) -> None:
        """Remove a reset after the chat returned to its previous session."""
        self._resets = [each for each in self._resets if each is not reset]
        if self._shown is reset:
            self._forget()

    def _go_back(self) -> None:
        if self._shown is not None:
            self.previous_wanted.emit(self._shown)

    def _go_on(self) -> None:
        if self._shown is not None:
            self.new_wanted.emit(self._shown.new_session_id)

    def _forget(self) -> None:
        self._resets = [each for each in self._resets if each is not self._shown]
        self._shown = None
        self.hide()

    def _colour(self) -> None:
        palette, ratio = self._theme.palette, self.devicePixelRatioF()
        self._icon.setPixmap(pixmap("refresh", palette.secondary_text, _ICON, ratio))
        self.close_button.setIcon(icon("close", palette))
        self.update()
