"""The notice strip above the page: a message, one action and a close button. Never modal."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.events import Notice, NoticeCleared
from hermes_desktop.ui.widgets.resource_files import icon, icon_size, pixmap
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, Palette, Theme, mix

STAYS_MS = {"info": 8000, "ok": 5000, "warning": 0, "error": 0}
"""Milliseconds for which a notice is shown; 0 means until it is closed or cleared."""
OFFERS_MS = 15_000
"""Minimum milliseconds for which a notice with an action is shown."""

_LEVEL_WORDS = {"info": "Note", "ok": "Done", "warning": "Warning", "error": "Error"}


class NoticeStrip(QWidget):
    """A strip that shows one notice at a time, the newest of the most serious ones first.

    Signals:
        closed: The key of a notice that the user closed, or its title when it has none.
        acted: The key of a notice whose action was chosen.
    """

    closed = Signal(str)
    acted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._notices: list[Notice] = []
        self._icon = QLabel()
        self._title = LeadingLabel()
        self._title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._action = QPushButton()
        self._action.setAutoDefault(False)
        self._more = QPushButton(self.tr("Details…"), self)
        self._more.setCheckable(True)
        self._more.setAutoDefault(False)
        self._close = QToolButton()
        self._close.setAutoRaise(True)
        self._close.setIconSize(icon_size())
        self._close.setAccessibleName(self.tr("Dismiss"))
        self._close.setToolTip(self.tr("Close"))
        self._details = LeadingLabel()
        self._details.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._expiry = QTimer(self)
        self._expiry.setSingleShot(True)
        self._arrange()
        self._more.toggled.connect(self._details.setVisible)
        self._close.clicked.connect(self.close_current)
        self._action.clicked.connect(self.act)
        self._expiry.timeout.connect(self.close_current)
        theme.changed.connect(self._draw)
        self.hide()

    @property
    def current(self) -> Notice | None:
        """The notice that is shown."""
        return self._notices[-1] if self._notices else None

    def show_notice(self, notice: Notice) -> None:
        """Show a notice; it replaces one with the same key."""
        if notice.key:
            self._notices = [n for n in self._notices if n.key != notice.key]
        elif notice in self._notices:
            self._notices.remove(notice)
        self._notices.append(notice)
        self._notices.sort(key=lambda n: n.level == "error")
        self._draw()

    def clear(self, cleared: NoticeCleared) -> None:
        """Remove the notice whose cause is resolved."""
        self._notices = [n for n in self._notices if n.key != cleared.key]
        self._draw()

    def close_current(self) -> None:
        """Close the notice that is shown and show the one before it, if there is one."""
        if self._notices:
            notice = self._notices.pop()
            self.closed.emit(notice.key or notice.title)
        self._draw()

    def act(self) -> None:
        """Close the notice that is shown and run its action."""
        notice = self.current
        if notice is not None and notice.action:
            self.close_current()
            self.acted.emit(notice.key)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        notice = self.current
        if notice is None:
            return
        paint_strip(self, self._theme.palette, notice.level)

    def _arrange(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(SPACE_8)
        line.addWidget(self._icon)
        line.addWidget(self._title, 1)
        line.addWidget(self._more)
        line.insertWidget(2, self._action)
        line.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_12, SPACE_8, SPACE_8, SPACE_8)
        column.setSpacing(SPACE_8)
        column.addLayout(line)
        indent = QHBoxLayout()
        indent.setContentsMargins(icon_size().width() + SPACE_8, 0, SPACE_12, 0)
        indent.addWidget(self._details)
        column.addLayout(indent)
        self._details.hide()

    def _draw(self) -> None:
        notice = self.current
        self.setVisible(notice is not None)
        self._expiry.stop()
        if notice is None:
            return
        palette = self._theme.palette
        self._icon.setPixmap(
            pixmap(
                notice.level,
                level_colour(palette, notice.level),
                icon_size().width(),
                self.devicePixelRatioF(),
            )
        )
        self._close.setIcon(icon("close", palette))
        self._title.setText(notice.title)
        self.setAccessibleName(f"{_LEVEL_WORDS[notice.level]}: {notice.title}")
        details = "\n".join(part for part in (notice.detail, notice.hint) if part)
        self._details.setText(details)
        self._action.setText(notice.action)
        self._action.setVisible(bool(notice.action))
        self._more.setVisible(bool(details))
        self._more.setChecked(False)
        stays = STAYS_MS[notice.level]
        if stays:
            self._expiry.start(max(stays, OFFERS_MS) if notice.action else stays)
        self.update()


def level_colour(palette: Palette, level: str) -> str:
    """Return the color of a notice's icon."""
    colours = {"warning": palette.warning, "error": palette.error, "ok": palette.ok}
    return colours.get(level, palette.accent)


def paint_strip(widget: QWidget, palette: Palette, level: str) -> None:
    """Paint the background of a strip: the tint of its level, and a line at the bottom."""
    painter = QPainter(widget)
    painter.fillRect(widget.rect(), strip_colour(palette, level))
    painter.setPen(QPen(palette.separator))
    painter.drawLine(widget.rect().bottomLeft(), widget.rect().bottomRight())


def strip_colour(palette: Palette, level: str) -> str:
    """Return a notice's background: its color at 10 % over the base, for ordinary text."""
    return mix(level_colour(palette, level), palette.base, 0.10)
