"""The preview of an undo: the files with their differences, and the messages that go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from hermes_desktop.ui.undo.undo_words import (
    KEPT_WORDS,
    about_messages,
    answer,
    counted,
    notes,
    question,
    speaker,
    step_words,
    without_text,
)
from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.widgets.difference_text import DifferenceText
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, SPACE_16, SPACE_24
from hermes_desktop.ui.words.visible_text import one_line, visible

if TYPE_CHECKING:
    from hermes_desktop.services.sessions.live_undo import TurnUndoPreview
    from hermes_desktop.services.sessions.undo_plan import Step
    from hermes_desktop.ui.widgets.theme import Theme

_SIZE = QSize(720, 560)
_SMALL = QSize(560, 220)
_SHARES = (200, 240)
MOST_ROWS = 1_000
_MOST_MESSAGES = 6
_STEP = Qt.ItemDataRole.UserRole


class UndoDialog(QDialog):
    """Shows what an undo would do. Open it with ``open()``; accepted means: do it.

    Files that somebody else changed since are only replaced where the user selects them.

    Args:
        preview: What would be done.
        theme: Colors.

    Signals:
        difference_wanted: The difference of a file is to be shown, with :meth:`show_difference`.
    """

    difference_wanted = Signal(object)

    def __init__(
        self, preview: TurnUndoPreview, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        plan = preview.plan
        self._takes_messages = bool(plan.message_id)
        self._steps = [each for each in plan.files.steps if each.state != "as-before"]
        self.setWindowTitle(self.tr("Undo"))
        self.tree = QTreeWidget()
        self.difference = DifferenceText("", theme)
        self._shown: Step | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_16)
        column.setSpacing(SPACE_12)
        column.addWidget(heading_label(question(plan), share=1.1))
        column.addWidget(LeadingLabel(about_messages(preview)))
        self._add_messages(column, preview)
        for note in notes(plan):
            label = LeadingLabel(visible(note))
            tint(label, theme.palette.warning if self._steps else theme.palette.secondary_text)
            column.addWidget(label)
        if self._steps:
            column.addWidget(self._files(), 1)
        else:
            for unused in (self.tree, self.difference):
                unused.setParent(self)
                unused.hide()
            column.addStretch(1)
        column.addWidget(SecondaryLabel(theme, KEPT_WORDS))
        column.addSpacing(SPACE_8)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.undo_button = self.buttons.addButton(
            answer(plan), QDialogButtonBox.ButtonRole.AcceptRole
        )
        self.undo_button.setDefault(True)
        remove_icons(self.buttons)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column.addWidget(self.buttons)
        self.resize(_SIZE if self._steps else _SMALL)
        self._fill()
        self._follow_choice()
        self.undo_button.setFocus()

    def show_first(self) -> None:
        """Select the first file, whose difference is then wanted."""
        items = self._items()
        files = (each for each in items if not each.data(0, _STEP).is_folder)
        first = next(files, items[0] if items else None)
        if first is not None:
            self.tree.setCurrentItem(first)

    @property
    def chosen(self) -> frozenset[Step]:
        """The files that are to be put back."""
        shown = {id(each) for each in self._steps[:MOST_ROWS]}
        found = {each for each in self._steps if id(each) not in shown and each.state == "ready"}
        for item in self._items():
            if item.checkState(0) == Qt.CheckState.Checked:
                found.add(item.data(0, _STEP))
        return frozenset(found)

    def show_difference(self, step: Step, difference: str) -> None:
        """Show what would change in a file; one that is no longer selected is ignored."""
        if step != self._shown:
            return
        self.difference.show_difference(difference or without_text(step))

    # ------------------------------------------------------------------------------- parts

    def _add_messages(self, column: QVBoxLayout, preview: TurnUndoPreview) -> None:
        """Show the beginnings of the messages that go, besides the first one."""
        said = [
            each for each in preview.messages[1:] if each.content.strip() and each.role != "tool"
        ]
        if not said or not preview.plan.message_id:
            return
        lines = [f"{speaker(each.role)}: {one_line(each.content, 90)}" for each in said]
        more = len(lines) - _MOST_MESSAGES
        shown = lines[:_MOST_MESSAGES] + ([self.tr("and more")] if more > 0 else [])
        column.addWidget(SecondaryLabel(self._theme, "\n".join(shown)))

    def _files(self) -> QWidget:
        tree = self.tree
        tree.setColumnCount(2)
        tree.setHeaderLabels([self.tr("File"), self.tr("What happens to it")])
        tree.setRootIsDecorated(False)
        tree.setUniformRowHeights(True)
        tree.setAllColumnsShowFocus(True)
        tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        tree.setAccessibleName(self.tr("Files"))
        tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        tree.header().setStretchLastSection(False)
        make_slim(tree, self._theme)
        tree.currentItemChanged.connect(self._select)
        tree.itemChanged.connect(self._follow_choice)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(tree)
        splitter.addWidget(self.difference)
        splitter.setSizes(_SHARES)
        return splitter

    def _fill(self) -> None:
        palette = self._theme.palette
        for step in self._steps[:MOST_ROWS]:
            item = QTreeWidgetItem([one_line(step.shown, 300), step_words(step)])
            item.setToolTip(0, visible(step.shown))
            item.setData(0, _STEP, step)
            flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            colour = palette.secondary_text if step.state == "ready" else palette.warning
            item.setForeground(1, QColor(colour))
            if step.state != "not-kept":
                flags |= Qt.ItemFlag.ItemIsUserCheckable
                checked = step.state == "ready"
                item.setCheckState(0, Qt.CheckState.Checked if checked else Qt.CheckState.Unchecked)
            item.setFlags(flags)
            self.tree.addTopLevelItem(item)
        more = len(self._steps) - MOST_ROWS
        if more > 0:
            rest = QTreeWidgetItem([self.tr("and {} more").format(counted(more, "file")), ""])
            rest.setFlags(Qt.ItemFlag.NoItemFlags)
            self.tree.addTopLevelItem(rest)

    def _items(self) -> list[QTreeWidgetItem]:
        count = min(self.tree.topLevelItemCount(), len(self._steps), MOST_ROWS)
        items = (self.tree.topLevelItem(row) for row in range(count))
        return [each for each in items if each is not None]

    def _select(self, item: QTreeWidgetItem | None, _before: QTreeWidgetItem | None) -> None:
        step = item.data(0, _STEP) if item is not None else None
        self._shown = step
        if step is not None:
            self.difference_wanted.emit(step)

    def _follow_choice(self, *_: object) -> None:
        """Without a message to remove, at least one file has to be selected."""
        self.undo_button.setEnabled(self._takes_messages or bool(self.chosen))
