"""The lines under a field: where its value comes from, what is wrong, who else changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from hermes_desktop.ui.gateway.section_parts import LeadingLabel, QuietLabel
from hermes_desktop.ui.resource_files import pixmap
from hermes_desktop.ui.settings.field_words import (
    conflict_words,
    mine_words,
    origin_words,
    pending_words,
    value_words,
)
from hermes_desktop.ui.theme import SPACE_4, SPACE_8
from hermes_desktop.ui.transcript.look import SMALL, scaled, tint

if TYPE_CHECKING:
    from hermes_desktop.services.settings_reading import SettingView
    from hermes_desktop.ui.settings.draft import Edit
    from hermes_desktop.ui.theme import Theme

_ICON = 16
_MOST = 32


class FieldNotes(QWidget):
    """Nothing of it shows while there is nothing to say.

    Args:
        theme: Colours.
        hermes: What ``hermes`` makes of the setting; "" if it reads it as we do.

    Signals:
        mine_wanted: In a conflict, what was filled in here shall count.
        theirs_wanted: What stands in the file shall.
    """

    mine_wanted = Signal()
    theirs_wanted = Signal()

    def __init__(self, theme: Theme, hermes: str = "") -> None:
        super().__init__()
        self._theme = theme
        self._hermes = hermes
        self._level = ""
        self.origin = QuietLabel(theme)
        self.pending = LeadingLabel()
        self.trouble = LeadingLabel()
        self._sign = QLabel()
        self.mine = QPushButton()
        self.theirs = QPushButton()
        self._refused = ""
        self._refused_given: object = None
        self._arrange()
        self.mine.clicked.connect(self.mine_wanted)
        self.theirs.clicked.connect(self.theirs_wanted)
        theme.changed.connect(self._colour)

    @property
    def words(self) -> str:
        """Everything that shows, for who hears it."""
        labels = (self.trouble, self.pending, self.origin)
        return " ".join(label.text() for label in labels if not label.isHidden())

    def show_refusal(self, words: str, given: object) -> None:
        """Say why a value was not taken; that stays until another one is filled in."""
        self._refused, self._refused_given = words, given

    def show_state(
        self, view: SettingView, edit: Edit | None, *, conflict: bool, locked: str, more: str = ""
    ) -> None:
        """Say what there is to say about a setting."""
        if edit is None or edit.given != self._refused_given:
            self._refused = ""
        origin = locked or ("" if view.problem else origin_words(view))
        _say(self.origin, "\n".join(filter(None, (origin, more, self._hermes))))
        _say(self.pending, "" if edit is None or conflict else pending_words(view, edit))
        self._level = "error"
        if conflict and edit is not None:
            trouble = conflict_words(view, edit)
            mine, theirs = mine_words(view, edit), value_words(view.option, view.value)
            self.mine.setText(self.tr("Keep “{value}”").format(value=mine[:_MOST]))
            self.theirs.setText(self.tr("Take “{value}”").format(value=theirs[:_MOST]))
        elif edit is not None:
            trouble = edit.problem or self._refused
        else:
            trouble = origin_words(view) if view.problem else ""
            self._level = "warning"
        _say(self.trouble, trouble)
        self._sign.setVisible(bool(trouble))
        self._choice.setVisible(conflict)
        self._colour()
        self.setVisible(bool(self.words))

    def _colour(self) -> None:
        palette = self._theme.palette
        colour = palette.warning if self._level == "warning" else palette.error
        tint(self.trouble, colour)
        tint(self.pending, palette.accent)
        ratio = self.devicePixelRatioF()
        self._sign.setPixmap(pixmap(self._level or "error", colour, _ICON, ratio))

    def _arrange(self) -> None:
        for label in (self.origin, self.pending, self.trouble):
            label.setFont(scaled(label.font(), SMALL))
        line = QHBoxLayout()
        line.setSpacing(SPACE_8)
        line.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.trouble, 1)
        self._choice = QWidget()
        choice = QHBoxLayout(self._choice)
        choice.setContentsMargins(0, SPACE_4, 0, 0)
        choice.setSpacing(SPACE_8)
        for button in (self.mine, self.theirs):
            button.setAutoDefault(False)
            choice.addWidget(button)
        choice.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, SPACE_4, 0, 0)
        column.setSpacing(SPACE_4)
        column.addLayout(line)
        column.addWidget(self._choice)
        column.addWidget(self.pending)
        column.addWidget(self.origin)


def _say(label: QLabel, words: str) -> None:
    label.setText(words)
    label.setVisible(bool(words))
