"""The rail at the left edge, one button for each page, with Help at the bottom; and its pages."""

from functools import partial

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QStackedWidget, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.theme import RADIUS_BLOCK, SPACE_4, SPACE_12, Theme

RAIL_WIDTH = 48
_BUTTON = 40
_ICON = 22
_DOT = 10


class RailButton(QToolButton):
    """A flat button with an icon, highlighted while its page is visible."""

    def __init__(
        self, icon_name: str, words: str, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._icon_name = icon_name
        self._theme = theme
        self._by_key = False
        self._words = words
        self._needs = ""
        self.setAccessibleName(words)
        self.setToolTip(words)
        self.setFixedSize(QSize(_BUTTON, _BUTTON))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        theme.changed.connect(self.update)

    @property
    def needs(self) -> str:
        """What on the page needs attention, "" for nothing."""
        return self._needs

    def show_need(self, words: str) -> None:
        """Mark the button with a dot and show the reason; "" removes the dot."""
        self._needs = words
        self.setToolTip("\n".join(filter(None, (self._words, words))))
        self.setAccessibleDescription(words)
        self.update()

    @override
    def nextCheckState(self) -> None:
        """Keep the button checked when it is clicked again, so that one page is always open."""
        if self.isCheckable():
            self.setChecked(True)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus ring for the keyboard only, not when the window opens with this focus."""
        self._by_key = event.reason() in (
            Qt.FocusReason.TabFocusReason,
            Qt.FocusReason.BacktabFocusReason,
        )
        super().focusInEvent(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        ground = self.rect().adjusted(2, 2, -2, -2)
        if self.isChecked() or self.underMouse() or self.isDown():
            painter.setBrush(QColor(palette.selection if self.isChecked() else palette.separator))
            painter.drawRoundedRect(ground, RADIUS_BLOCK, RADIUS_BLOCK)
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(QColor(palette.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(ground, RADIUS_BLOCK, RADIUS_BLOCK)
        active = self.isChecked() or self.underMouse()
        colour = palette.text if active else palette.secondary_text
        target = QRect(0, 0, _ICON, _ICON)
        target.moveCenter(self.rect().center())
        painter.drawPixmap(target, pixmap(self._icon_name, colour, _ICON, self.devicePixelRatioF()))
        if self._needs:
            self._paint_dot(painter, target)

    def _paint_dot(self, painter: QPainter, icon_place: QRect) -> None:
        """Paint the dot at the upper outer corner of the icon, with a rim to set it off."""
        palette = self._theme.palette
        left = icon_place.left() - 2 if self.isRightToLeft() else icon_place.right() - _DOT + 3
        painter.setPen(QPen(QColor(palette.window), 2))
        painter.setBrush(QColor(palette.warning))
        painter.drawEllipse(left, icon_place.top() - 2, _DOT, _DOT)


class Rail(QWidget):
    """The buttons of the window's pages.

    Signals:
        sessions_wanted: Show the sessions page.
        platforms_wanted: Show the platforms page.
        settings_wanted: Show the settings page.
        help_wanted: Show the list of keys.
    """

    sessions_wanted = Signal()
    platforms_wanted = Signal()
    settings_wanted = Signal()
    help_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedWidth(RAIL_WIDTH)
        self.setAccessibleName(self.tr("Pages"))
        self._mark = QLabel()
        self._mark.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._mark.setFixedSize(_BUTTON, _BUTTON)
        self.sessions_button = RailButton("sessions", self.tr("Sessions (Ctrl+1)"), theme)
        self.sessions_button.setCheckable(True)
        self.sessions_button.setChecked(True)
        self.platforms_button = RailButton("platforms", self.tr("Platforms (Ctrl+4)"), theme)
        self.platforms_button.setCheckable(True)
        self.settings_button = RailButton("settings", self.tr("Settings (Ctrl+,)"), theme)
        self.settings_button.setCheckable(True)
        self.help_button = RailButton("help", self.tr("Keyboard shortcuts and help (F1)"), theme)
        # No exclusive group: Tab reaches only the checked button of one.
        self._pages = (self.sessions_button, self.platforms_button, self.settings_button)
        for button in self._pages:
            button.toggled.connect(partial(self._chosen, button))
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_4, SPACE_4, SPACE_4, SPACE_12)
        column.setSpacing(SPACE_4)
        column.addWidget(self._mark)
        column.addWidget(self.sessions_button)
        column.addWidget(self.platforms_button)
        column.addStretch(1)
        column.addWidget(self.settings_button)
        column.addWidget(self.help_button)
        self.sessions_button.clicked.connect(self.sessions_wanted)
        self.platforms_button.clicked.connect(self.platforms_wanted)
        self.settings_button.clicked.connect(self.settings_wanted)
        self.help_button.clicked.connect(self.help_wanted)
        theme.changed.connect(self._colour)
        self._colour()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.palette.separator))
        x = self.rect().left() if self.isRightToLeft() else self.rect().right()
        painter.drawLine(x, self.rect().top(), x, self.rect().bottom())

    def _chosen(self, button: RailButton, on: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        """Uncheck the other buttons: one page is open at a time."""
        for other in self._pages:
            if on and other is not button:
                other.setChecked(False)

    def _colour(self) -> None:
        self._mark.setPixmap(
            pixmap("mark", self._theme.palette.accent, 26, self.devicePixelRatioF())
        )


class WindowPages(QStackedWidget):
    """Shows a page and updates the rail.

    Args:
        rail: Its buttons follow the visible page.
        sessions: List and conversation.
        platforms: The gateway and its platforms.
    """

    def __init__(self, rail: Rail, sessions: QWidget, platforms: QWidget) -> None:
        super().__init__()
        self._rail = rail
        self._sessions = sessions
        self._platforms = platforms
        self.addWidget(sessions)
        self.addWidget(platforms)

    @property
    def rail(self) -> Rail:
        """The rail with the buttons of the pages."""
        return self._rail

    @property
    def on_sessions(self) -> bool:
        """Whether the sessions page is visible; session shortcuts have no effect elsewhere."""
        return self.currentWidget() is self._sessions

    def show_sessions(self) -> None:
        """Show the list and the conversation."""
        self.setCurrentWidget(self._sessions)
        self._rail.sessions_button.setChecked(True)

    def show_platforms(self) -> None:
        """Show the gateway and its platforms."""
        self.setCurrentWidget(self._platforms)
        self._rail.platforms_button.setChecked(True)

    def show_settings(self, settings: QWidget) -> None:
        """Show the settings page, which is created and passed in when it is first opened."""
        if self.indexOf(settings) < 0:
            self.addWidget(settings)
        self.setCurrentWidget(settings)
        self._rail.settings_button.setChecked(True)
