"""The card of changed files that run automatically later: keep them, or revert them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.undo.undo_words import counted
from hermes_desktop.ui.widgets.centered_column import put_in_middle
from hermes_desktop.ui.widgets.flow_row import FlowRow
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12
from hermes_desktop.ui.words.visible_text import one_line

if TYPE_CHECKING:
    from hermes_desktop.services.sessions.session_changes import UnseenFiles
    from hermes_desktop.ui.widgets.theme import Theme

MOST_NAMED = 5


class RunsLaterCard(QWidget):
    """A sheet above the message field, shown while such files wait to be looked at.

    Signals:
        keep_wanted: Keep the files.
        put_back_wanted: Show the differences, to put files back.
    """

    keep_wanted = Signal(object)
    put_back_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.files: UnseenFiles | None = None
        self.title = heading_label()
        self.list = LeadingLabel()
        self.why = SecondaryLabel(
            theme, self.tr("Other programs run or follow them without asking. Review the changes.")
        )
        self.see = QPushButton(self.tr("Revert…"))
        self.keep = QPushButton(self.tr("Keep"))
        row = FlowRow()
        for button in (self.see, self.keep):
            button.setAutoDefault(False)
            row.add(button)
        column = QVBoxLayout()
        column.setSpacing(SPACE_8)
        words = QVBoxLayout()
        words.setSpacing(SPACE_4)
        for label in (self.title, self.list, self.why):
            label.setMinimumHeight(1)
            words.addWidget(label)
        column.addLayout(words)
        column.addWidget(row)
        put_in_middle(self, column, top=SPACE_12, bottom=SPACE_12)
        self.see.clicked.connect(lambda: self.put_back_wanted.emit(self.files))
        self.keep.clicked.connect(lambda: self.keep_wanted.emit(self.files))
        theme.changed.connect(self.update)
        self.hide()

    def show_files(self, files: UnseenFiles | None) -> None:
        """Show these files; None hides the card."""
        self.files = files
        if files is not None:
            count = len(files.run_by)
            noun = "file that runs" if count == 1 else "files that run"
            self.title.setText(f"Hermes changed {count:,} {noun} automatically later")
            self.list.setText("\n".join(_lines(files)))
            self.setAccessibleName(self.title.text())
            self.setAccessibleDescription(self.list.text())
        self.setVisible(files is not None)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette = self._theme.palette
        painter.fillRect(self.rect(), QColor(palette.raised))
        painter.fillRect(0, 0, self.width(), 2, QColor(palette.warning))
        painter.end()


def _lines(files: UnseenFiles) -> list[str]:
    lines = [f"{one_line(path, 100)} ({by})" for path, by in files.run_by.items()]
    more = len(lines) - MOST_NAMED
    return lines[:MOST_NAMED] + ([f"and {counted(more, 'more file')}"] if more > 0 else [])
