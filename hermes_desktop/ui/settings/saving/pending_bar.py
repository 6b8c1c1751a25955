"""The bar at the bottom: the number of unsaved changes, and buttons to preview, discard or save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget
from typing_extensions import override

from hermes_desktop.ui.settings.tab_order import focus_in
from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_16

if TYPE_CHECKING:
    from hermes_desktop.ui.widgets.theme import Theme

_WIDE = 560


class PendingBar(QWidget):
    """A bar that is visible while changes are pending.

    Signals:
        difference_wanted: Preview what would be written.
        discard_wanted: Drop all changes.
        save_wanted: Save all changes.
        focus_given_up: One of the buttons has the focus and is about to be hidden or disabled.
    """

    focus_given_up = Signal()
    difference_wanted = Signal()
    discard_wanted = Signal()
    save_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.words = LeadingLabel()
        self.difference = QPushButton(self.tr("See the difference…"))
        self.difference.setAccessibleName(self.tr("See the difference"))
        self.discard = QPushButton(self.tr("Discard"))
        self.save = QPushButton(self.tr("Save"))
        self.save.setToolTip(self.tr("Save (Ctrl+S)"))
        self.discard.setToolTip(self.tr("Discard these changes; Ctrl+Z restores them"))
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_16, SPACE_8, SPACE_16, SPACE_8)
        row.setSpacing(SPACE_8)
        row.addWidget(self.words, 1)
        for button in (self.difference, self.discard, self.save):
            button.setAutoDefault(False)
            row.addWidget(button)
        self.difference.clicked.connect(self.difference_wanted)
        self.discard.clicked.connect(self.discard_wanted)
        self.save.clicked.connect(self.save_wanted)
        theme.changed.connect(self.update)
        self.hide()

    def show_count(self, count: int, faulty: int, tokens: int = 0) -> None:
        """Show how many changes there are, and how many of them cannot be saved yet.

        Args:
            count: All changes.
            faulty: Those that cannot be saved yet.
            tokens: Those that go into the keyring.
        """
        changes = count - tokens
        found = []
        if changes or not tokens:
            one = changes == 1
            found.append(self.tr("1 change") if one else self.tr("{n} changes").format(n=changes))
        if tokens:
            one = tokens == 1
            found.append(self.tr("1 token") if one else self.tr("{n} tokens").format(n=tokens))
        words = " · ".join(found)
        if faulty:
            words += self.tr(" · {n} to correct first").format(n=faulty)
        self.words.setText(words)
        if not count:
            self._give_focus_up()
        self.setVisible(count > 0)

    def set_busy(self, busy: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Disable the buttons while a save is in progress."""
        if busy:
            self._give_focus_up()
        for button in (self.difference, self.discard, self.save):
            button.setEnabled(not busy)

    def _give_focus_up(self) -> None:
        """Signal the loss of focus, which Qt would otherwise move to the next widget, the rail."""
        focused = focus_in(self.window())
        if focused is not None and self.isAncestorOf(focused):
            self.focus_given_up.emit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width() >= _WIDE
        self.difference.setText(self.tr("See the difference…") if wide else self.tr("Difference…"))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(palette.user_block))
        painter.setPen(QColor(palette.separator))
        painter.drawLine(self.rect().topLeft(), self.rect().topRight())
