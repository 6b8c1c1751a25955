"""The notes under a field: the origin of its value, problems, and conflicts with other changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from hermes_desktop.ui.settings.fields.field_text import (
    conflict_words,
    mine_words,
    origin_words,
    pending_words,
    value_words,
)
from hermes_desktop.ui.widgets.look import SMALL, scaled, tint
from hermes_desktop.ui.widgets.resource_files import pixmap
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8

if TYPE_CHECKING:
    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.ui.settings.saving.draft import Edit
    from hermes_desktop.ui.widgets.theme import Theme

_ICON = 16
_MOST = 32


class FieldNotes(QWidget):
    """The notes of one field, hidden while there are none.

    Args:
        theme: Colors.
        hermes: How ``hermes`` treats the setting; "" if it reads it as Hermes Desktop does.

    Signals:
        mine_wanted: In a conflict, the user keeps the edit.
        theirs_wanted: In a conflict, the user takes the value of the file.
    """

    mine_wanted = Signal()
    theirs_wanted = Signal()

    def __init__(self, theme: Theme, hermes: str = "") -> None:
        super().__init__()
        self._theme = theme
        self._hermes = hermes
        self._level = ""
        self._made: _Lines | None = None
        self._refused = ""
        self._refused_given: object = None
        self.hide()

    @property
    def origin(self) -> QLabel:
        """The label with the origin of the value."""
        return self._lines().origin

    @property
    def pending(self) -> QLabel:
        """The label with the unsaved change."""
        return self._lines().pending

    @property
    def trouble(self) -> QLabel:
        """The label with the problem."""
        return self._lines().trouble

    @property
    def mine(self) -> QPushButton:
        """In a conflict: the button that keeps the edit."""
        return self._lines().mine

    @property
    def theirs(self) -> QPushButton:
        """In a conflict: the button that takes the value of the file."""
        return self._lines().theirs

    @property
    def words(self) -> str:
        """The whole visible text, for screen readers."""
        if self._made is None:
            return ""
        labels = (self._made.trouble, self._made.pending, self._made.origin)
        return " ".join(label.text() for label in labels if not label.isHidden())

    def show_refusal(self, words: str, given: object) -> None:
        """Show why a value was rejected, until another one is filled in."""
        self._refused, self._refused_given = words, given

    def show_state(
        self, view: SettingView, edit: Edit | None, *, conflict: bool, locked: str, more: str = ""
    ) -> None:
        """Show the notes that apply to the state of a setting."""
        if edit is None or edit.given != self._refused_given:
            self._refused = ""
        origin = locked or ("" if view.problem else origin_words(view))
        origin = "\n".join(filter(None, (origin, more, self._hermes)))
        pending = "" if edit is None or conflict else pending_words(view, edit)
        self._level = "error" if edit is not None else "warning"
        trouble = self._trouble(view, edit, conflict=conflict)
        if self._made is None and not (origin or pending or trouble):
            return
        lines = self._lines()
        _say(lines.origin, origin)
        _say(lines.pending, pending)
        _say(lines.trouble, trouble)
        lines.sign.setVisible(bool(trouble))
        lines.choice.setVisible(conflict)
        self._colour()
        self.setVisible(bool(self.words))

    def _trouble(self, view: SettingView, edit: Edit | None, *, conflict: bool) -> str:
        if edit is None:
            return origin_words(view) if view.problem else ""
        if not conflict:
            return edit.problem or self._refused
        mine, theirs = mine_words(view, edit), value_words(view.option, view.value)
        self.mine.setText(self.tr("Keep “{value}”").format(value=mine[:_MOST]))
        self.theirs.setText(self.tr("Use “{value}”").format(value=theirs[:_MOST]))
        return conflict_words(view, edit)

    def _lines(self) -> _Lines:
        """Return the labels, created on first use: most settings need none."""
        if self._made is None:
            self._made = _Lines(self, self._theme)
            self._made.mine.clicked.connect(self.mine_wanted)
            self._made.theirs.clicked.connect(self.theirs_wanted)
            self._theme.changed.connect(self._colour)
        return self._made

    def _colour(self) -> None:
        lines, palette = self._lines(), self._theme.palette
        colour = palette.warning if self._level == "warning" else palette.error
        tint(lines.trouble, colour)
        tint(lines.pending, palette.accent)
        ratio = self.devicePixelRatioF()
        lines.sign.setPixmap(pixmap(self._level or "error", colour, _ICON, ratio))


class _Lines:
    """The widgets of the notes."""

    def __init__(self, parent: FieldNotes, theme: Theme) -> None:
        self.origin = SecondaryLabel(theme, parent=parent)
        self.pending = LeadingLabel(parent=parent)
        self.trouble = LeadingLabel(parent=parent)
        self.sign = QLabel(parent)
        self.mine = QPushButton(parent)
        self.theirs = QPushButton(parent)
        self.choice = QWidget(parent)
        for label in (self.origin, self.pending, self.trouble):
            label.setFont(scaled(label.font(), SMALL))
            label.hide()
        line = QHBoxLayout()
        line.setSpacing(SPACE_8)
        self.sign.setFixedHeight(max(_ICON, self.trouble.fontMetrics().height()))
        line.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.trouble, 1)
        choice = QHBoxLayout(self.choice)
        choice.setContentsMargins(0, SPACE_4, 0, 0)
        choice.setSpacing(SPACE_8)
        for button in (self.mine, self.theirs):
            button.setAutoDefault(False)
            choice.addWidget(button)
        choice.addStretch(1)
        self.sign.hide()
        self.choice.hide()
        column = QVBoxLayout(parent)
        column.setContentsMargins(0, SPACE_4, 0, 0)
        column.setSpacing(SPACE_4)
        column.addLayout(line)
        column.addWidget(self.choice)
        column.addWidget(self.pending)
        column.addWidget(self.origin)


def _say(label: QLabel, words: str) -> None:
    label.setText(words)
    label.setVisible(bool(words))
