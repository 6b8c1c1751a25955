"""Lines under a field: an outcome with one action, and a wait with a Cancel button."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from hermes_desktop.ui.widgets.announcement import announce
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, Theme

if TYPE_CHECKING:
    from collections.abc import Callable

Level = Literal["ok", "info", "warning", "error"]
_ICON = 16
_SECOND_MS = 1000


class MessageLine(QWidget):
    """A short message with the icon of its level; hidden while there is none.

    Args:
        theme: Colors.

    Signals:
        acted: The button next to the text was pressed.
    """

    acted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._level: Level = "info"
        self._icon = QLabel()
        self._icon.setFixedSize(QSize(_ICON, max(_ICON + 2, self.fontMetrics().height())))
        self.words = LeadingLabel()
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = QPushButton(self)
        self.button.setAutoDefault(False)
        self.button.clicked.connect(self.acted)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_8)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.words, 1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        theme.changed.connect(self._colour)
        self.hide()

    @property
    def level(self) -> Level:
        """The level of the message."""
        return self._level

    @property
    def text(self) -> str:
        """The visible text; "" for none."""
        return self.words.text() if not self.isHidden() else ""

    def say(self, level: Level, words: str, *, action: str = "") -> None:
        """Show a message; "" hides the line.

        Args:
            level: Selects the icon.
            words: Plain text.
            action: Label of the button, "" for none.
        """
        news = bool(words) and words != self.text
        self._level = level
        self.words.setText(words)
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self._colour()
        self.setVisible(bool(words))
        if news:
            announce(self, words)

    def clear(self) -> None:
        """Hide the message."""
        self.say("info", "")

    def _colour(self) -> None:
        palette = self._theme.palette
        colour = {
            "ok": palette.ok,
            "info": palette.secondary_text,
            "warning": palette.warning,
            "error": palette.error,
        }[self._level]
        self._icon.setPixmap(pixmap(self._level, colour, _ICON, self.devicePixelRatioF()))
        tint(self.words, palette.error if self._level == "error" else palette.text)


class WaitLine(QWidget):
    """Shows what is waited for, and for how long already; hidden otherwise.

    Args:
        theme: Colors.

    Signals:
        given_up: The user cancelled the wait.
    """

    given_up = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._what = ""
        self._seconds = 0
        self.words = SecondaryLabel(theme)
        self.cancel = QPushButton(self.tr("Cancel"), self)
        self.cancel.setAutoDefault(False)
        self.cancel.clicked.connect(self.given_up)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_8)
        row.addWidget(self.words, 1)
        row.addWidget(self.cancel)
        self._timer = QTimer(self)
        self._timer.setInterval(_SECOND_MS)
        self._timer.timeout.connect(self._count)
        self.hide()

    @property
    def waiting(self) -> bool:
        """Whether a wait is in progress."""
        return bool(self._what)

    def begin(self, what: str) -> None:
        """Start a wait, described by a text such as "Asking Telegram"."""
        self._what, self._seconds = what, 0
        self._tell()
        self.show()
        self._timer.start()
        announce(self, what)

    def end(self) -> None:
        """End the wait."""
        self._what = ""
        self._timer.stop()
        self.hide()

    def _count(self) -> None:
        self._seconds += 1
        self._tell()

    def _tell(self) -> None:
        passed = f" {self._seconds} s" if self._seconds else ""
        self.words.setText(f"{self._what}…{passed}")


def small_button(words: str, do: Callable[[], object], parent: QWidget) -> QPushButton:
    """Return a button that Enter in another widget never presses."""
    button = QPushButton(words, parent)
    button.setAutoDefault(False)
    button.clicked.connect(lambda _: do())
    return button
