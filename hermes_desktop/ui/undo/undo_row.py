"""The row below the last reply whose turn changed files: a button to undo it, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QMargins, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from hermes_desktop.ui.undo.undo_words import changed_words
from hermes_desktop.ui.widgets.look import SMALL, scaled, tint
from hermes_desktop.ui.widgets.section_parts import ElidedLabel
from hermes_desktop.ui.widgets.theme import SPACE_8

if TYPE_CHECKING:
    from hermes_desktop.services.sessions.session_changes import ChangedByTurn
    from hermes_desktop.ui.widgets.theme import Theme


class UndoRow(QWidget):
    """A line with a small button, in the margin below the last message.

    Attributes:
        turn: The turn that the button undoes; None where there is none.

    Signals:
        undo_wanted: Undo the turn; carries the row of its first message.
    """

    undo_wanted = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._last_row = 0
        self.turn: ChangedByTurn | None = None
        self.words = ElidedLabel()
        self.button = QPushButton(self.tr("Undo…"))
        self.button.setAutoDefault(False)
        self.button.setToolTip(self.tr("Shows the changes before anything is undone"))
        row = QHBoxLayout(self)
        row.setContentsMargins(QMargins())
        row.setSpacing(SPACE_8)
        row.addWidget(self.button)
        row.addWidget(self.words, 1)
        for each in (self.words, self.button):
            each.setFont(scaled(self.font(), SMALL))
        self.button.clicked.connect(self._undo)
        theme.changed.connect(self._dress)
        self._dress()
        self.hide()

    def show_turn(self, turn: ChangedByTurn | None) -> None:
        """Offer to undo a turn, once its last message is the last one of the view."""
        self.turn = turn
        if turn is not None:
            words = changed_words(turn)
            self.words.setText(words)
            self.button.setAccessibleName(self.tr("Undo this turn. {}").format(words))
        self._follow()

    def follow_end(self, last_row: int) -> None:
        """Follow the row id of the last message in view; 0: the end is not shown, or open."""
        self._last_row = last_row
        self._follow()

    def _follow(self) -> None:
        turn = self.turn
        self.setVisible(turn is not None and turn.last_id == self._last_row)

    def _undo(self) -> None:
        if self.turn is not None:
            self.undo_wanted.emit(self.turn.message_id)

    def _dress(self) -> None:
        tint(self.words, self._theme.palette.secondary_text)
