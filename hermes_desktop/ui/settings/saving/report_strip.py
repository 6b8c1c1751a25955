"""The strip above a settings page: the outcome of a change, and the actions that it allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.widgets.announcement import announce
from hermes_desktop.ui.widgets.notice_presenter import level_colour, paint_strip
from hermes_desktop.ui.widgets.resource_files import icon, icon_size, pixmap
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, SPACE_16

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtGui import QPaintEvent

    from hermes_desktop.ui.widgets.theme import Theme


class ReportStrip(QWidget):
    """A notice with buttons, hidden while there is nothing to report.

    Signals:
        acted: Carries the name of the button that was pressed.
    """

    acted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._level = "ok"
        self._sign = QLabel()
        self.title = LeadingLabel()
        self.details = LeadingLabel()
        self.buttons: dict[str, QPushButton] = {}
        self.close_button = QToolButton()
        self._kept: tuple[str, str, tuple[str, ...]] | None = None
        self._arrange()
        self.close_button.clicked.connect(self.clear)
        theme.changed.connect(self._colour)
        self.hide()

    @property
    def words(self) -> str:
        """The whole text of the strip."""
        return "\n".join(filter(None, (self.title.text(), self.details.text())))

    @property
    def can_close(self) -> bool:
        """Whether a notice is visible that the user can close."""
        return self.isVisible() and not self.close_button.isHidden()

    def keep(self, level: str, title: str, details: Sequence[str]) -> None:
        """Show a permanent notice: it cannot be closed, and returns after others are closed."""
        self._kept = (level, title, tuple(details))
        self.tell(*self._kept)

    def tell(
        self,
        level: str,
        title: str,
        details: Sequence[str] = (),
        actions: Mapping[str, str] | None = None,
    ) -> None:
        """Replace the notice.

        Args:
            level: Level of the notice: ``ok``, ``info``, ``warning`` or ``error``.
            title: One sentence.
            details: Further sentences, one line each.
            actions: Labels of buttons, by the name that ``acted`` carries.
        """
        self._level = level
        self.close_button.setVisible((level, title, tuple(details)) != self._kept)
        self.title.setText(title)
        self.details.setText("\n".join(filter(None, details)))
        self.details.setVisible(bool(self.details.text()))
        for name in [*self.buttons]:
            self.drop_action(name)
        for name, words in (actions or {}).items():
            self._add_button(name, words)
        self._colour()
        self.show()
        self.setAccessibleName(self.words)
        announce(self, self.words)

    def drop_action(self, name: str) -> None:
        """Remove a button."""
        button = self.buttons.pop(name, None)
        if button is not None:
            button.hide()
            button.deleteLater()

    def clear(self) -> None:
        """Close the notice; a permanent one stays or returns."""
        if self._kept is None:
            self.hide()
        elif not self.close_button.isHidden():
            self.tell(*self._kept)

    def _add_button(self, name: str, words: str) -> None:
        button = QPushButton(words)
        button.setAutoDefault(False)
        button.clicked.connect(lambda: self.acted.emit(name))
        self._row.insertWidget(self._row.count() - 1, button, 0, Qt.AlignmentFlag.AlignTop)
        self.buttons[name] = button

    def _colour(self) -> None:
        palette = self._theme.palette
        size = icon_size().width()
        colour = level_colour(palette, self._level)
        self._sign.setPixmap(pixmap(self._level, colour, size, self.devicePixelRatioF()))
        self.close_button.setIcon(icon("close", palette))
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        paint_strip(self, self._theme.palette, self._level)

    def _arrange(self) -> None:
        selectable = (
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.details.setTextInteractionFlags(selectable)
        self.close_button.setAutoRaise(True)
        self.close_button.setIconSize(icon_size())
        self.close_button.setAccessibleName(self.tr("Dismiss"))
        self.close_button.setToolTip(self.tr("Close"))
        words = QVBoxLayout()
        words.setSpacing(SPACE_4)
        words.addWidget(self.title)
        words.addWidget(self.details)
        top = Qt.AlignmentFlag.AlignTop
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(SPACE_16, SPACE_8, SPACE_12, SPACE_8)
        self._row.setSpacing(SPACE_8)
        self._row.addWidget(self._sign, 0, top)
        self._row.addLayout(words, 1)
        self._row.addWidget(self.close_button, 0, top)
