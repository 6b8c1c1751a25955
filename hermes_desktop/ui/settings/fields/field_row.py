"""One setting on a page: label, description, editor and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QFont, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLabel,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.settings.fields.editors import Editor, YesNoEditor, make_editor
from hermes_desktop.ui.settings.fields.field_notes import FieldNotes
from hermes_desktop.ui.settings.fields.field_text import (
    given_of,
    help_parts,
    ignored_words,
    label_parts,
    lock_reason,
    plain,
    range_words,
    twice_words,
    value_words,
)
from hermes_desktop.ui.widgets.resource_files import icon
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, SPACE_16

if TYPE_CHECKING:
    from collections.abc import Collection

    from PySide6.QtGui import QResizeEvent

    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.ui.settings.saving.draft import Draft
    from hermes_desktop.ui.widgets.theme import Theme

_STACKED_BELOW = 430
_BAR = 3
_UNIT_WIDTH = 54


class FieldRow(QWidget):
    """A row that shows the draft of one setting and passes edits to it.

    Args:
        view: The setting as it is now.
        draft: Receives the edits.
        theme: Colors.
        first: Whether the row is the first of its block, without a line above.
        said: Texts that are already shown above or below, and are not repeated here.
    """

    def __init__(
        self,
        view: SettingView,
        draft: Draft,
        theme: Theme,
        *,
        first: bool,
        said: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.option = view.option
        self._draft = draft
        self._theme = theme
        self._first = first
        self._locked = ""
        self._differs = False
        parts = label_parts(self.option)
        self.label = LeadingLabel(parts.what)
        line, rest = help_parts(self.option, said)
        self.about = SecondaryLabel(theme, line, parent=self)
        self.more = SecondaryLabel(theme, rest, parent=self)
        self.explain = QToolButton(self)
        self.unit: SecondaryLabel | None = None
        if self.option.kind in {"number", "whole_number"}:
            self.unit = SecondaryLabel(theme, parts.unit)
            self.unit.setWordWrap(False)
            self.unit.setMinimumWidth(_UNIT_WIDTH)
        self.editor: Editor = make_editor(self.option)
        self.reset = QToolButton()
        hint = self.option.unknown_to_hermes
        self.notes = FieldNotes(theme, "" if hint in said else plain(hint))
        self._arrange()
        self._name_things(parts.who)
        self._connect()
        self.refresh()

    @property
    def key(self) -> str:
        """The key of the setting."""
        return self.option.key

    def set_locked(self, reason: str) -> None:
        """Disable the field for the given reason; "" enables it again."""
        self._locked = reason
        self.refresh()

    def refresh(self) -> None:
        """Show the current state of the draft."""
        view, edit = self._draft.views[self.key], self._draft.edits.get(self.key)
        shown = given_of(self.option, view.value) if edit is None else edit.given
        if edit is not None and edit.unset:
            shown = given_of(self.option, self.option.default)
        self.editor.show_given(shown)
        reason = self._locked or lock_reason(view)
        self.editor.widget.setEnabled(not reason)
        self._show_reset(locked=bool(reason))
        conflict = self._draft.in_conflict(self.key)
        twice = twice_words(*self._draft.other_lines(self.key))
        more = "\n".join(filter(None, (twice, ignored_words(view))))
        self.notes.show_state(view, edit, conflict=conflict, locked=lock_reason(view), more=more)
        self._tell(edit is not None)
        self.update()

    def focus(self) -> None:
        """Put the focus on the field."""
        target = self.editor.widget if self.editor.widget.isEnabled() else self
        target.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _show_reset(self, *, locked: bool) -> None:
        option, view, edit = (
            self.option,
            self._draft.views[self.key],
            self._draft.edits.get(self.key),
        )
        now = view.stored if view.overridden or view.problem else view.value
        wanted = now if edit is None else edit.value
        differs = (view.is_set or edit is not None) and not (edit is not None and edit.unset)
        differs = differs and (bool(view.problem) or wanted != option.default)
        words = self.tr("Reset to default: {value}").format(
            value=value_words(option, option.default)
        )
        self.reset.setToolTip(words)
        self.reset.setAccessibleName(f"{self.label.text()}: {words}")
        self.reset.setVisible(differs and not locked)
        self._mark(view.value != option.default if edit is None else differs)

    def _mark(self, differs: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Emphasize the label of a setting that is not at its default."""
        self._differs = differs
        font = self.label.font()
        weight = QFont.Weight.DemiBold if differs else QFont.Weight.Normal
        if font.weight() != weight:
            font.setWeight(weight)
            self.label.setFont(font)

    def _tell(self, pending: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Set the accessible description, for screen readers."""
        state = self.tr("Not saved yet.") if pending else ""
        unit = "" if self.unit is None else self.unit.text()
        default = value_words(self.option, self.option.default)
        changed = self.tr("The default is {value}.").format(value=default)
        words = (
            self.about.text(),
            self.more.text(),
            unit,
            range_words(self.option),
            changed if self._differs else "",
            state,
            plain(self._locked),
        )
        self.editor.widget.setAccessibleDescription(
            " ".join(filter(None, (*words, self.notes.words)))
        )

    def _connect(self) -> None:
        self.editor.given.connect(self._given)
        self.editor.typed.connect(self._typed)
        self.editor.widget.installEventFilter(self)
        self.reset.clicked.connect(self._reset)
        self.explain.toggled.connect(self.more.setVisible)
        self.notes.mine_wanted.connect(lambda: self._draft.resolve_with_edit(self.key))
        self.notes.theirs_wanted.connect(lambda: self._draft.drop(self.key))
        self._theme.changed.connect(self._colour)
        self._colour()

    def _given(self, given: object) -> None:
        self._draft.give(self.key, given)

    def _typed(self, given: object) -> None:
        self._draft.give(self.key, given, typing=True)

    def _reset(self) -> None:
        self._draft.reset(self.key)
        self.focus()  # the reset button that had the focus is hidden

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut:
            self._draft.end_typing()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            shift = event.modifiers() == Qt.KeyboardModifier.ShiftModifier
            if shift and event.key() == Qt.Key.Key_F1 and self.more.text():
                self.explain.toggle()
                return True
        return super().eventFilter(watched, event)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Treat a click on the label as a click on the field."""
        on_label = self.label.rect().contains(self.label.mapFrom(self, event.position().toPoint()))
        if on_label and self.editor.widget.isEnabled():
            self.editor.widget.setFocus(Qt.FocusReason.MouseFocusReason)
            if isinstance(self.editor, YesNoEditor):
                self.editor.box.click()
        super().mousePressEvent(event)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self.editor.wide and not isinstance(self.editor, YesNoEditor):
            stacked = self.width() < _STACKED_BELOW
            direction = QBoxLayout.Direction
            self._head.setDirection(direction.TopToBottom if stacked else direction.LeftToRight)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        if not self._first:
            painter.setPen(QColor(palette.separator))
            painter.drawLine(SPACE_16, 0, self.width() - SPACE_16, 0)
        if self.key in self._draft.edits:
            faulty = self._draft.edits[self.key].problem or self._draft.in_conflict(self.key)
            colour = QColor(palette.error if faulty else palette.accent)
            x = self.width() - _BAR if self.isRightToLeft() else 0
            painter.fillRect(x, SPACE_8, _BAR, self.height() - 2 * SPACE_8, colour)

    def _name_things(self, who: str) -> None:
        name = ": ".join(filter(None, (who, self.label.text())))
        self.setAccessibleName(name)
        self.editor.widget.setAccessibleName(name)
        self.label.setBuddy(self.editor.widget)
        self.label.setToolTip(
            "\n".join(
                (
                    self.key,
                    self.tr("Default: {value}").format(
                        value=value_words(self.option, self.option.default)
                    ),
                )
            )
        )
        more = self.tr("More about “{name}”").format(name=name)
        self.explain.setToolTip(f"{more} (Shift+F1)")
        self.explain.setAccessibleName(more)
        if words := range_words(self.option):
            self.editor.widget.setToolTip(words)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def _colour(self) -> None:
        self.reset.setIcon(icon("reset", self._theme.palette))
        self.update()

    def _arrange(self) -> None:
        self.reset.setAutoRaise(True)
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        control = QHBoxLayout()
        control.setSpacing(SPACE_8)
        self._head = QHBoxLayout()
        self._head.setSpacing(SPACE_12)
        self._head.addWidget(self.label, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_16, SPACE_12, SPACE_16, SPACE_12)
        column.setSpacing(SPACE_4)
        column.addLayout(self._head)
        if self.about.text():
            column.addLayout(self._help())
            column.addWidget(self.more)
        self.more.hide()
        self.explain.setVisible(bool(self.more.text()))
        if self.editor.wide:
            control.addWidget(self.editor.widget, 1)
            column.addSpacing(SPACE_4)
            column.addLayout(control)
        else:
            control.addWidget(self.editor.widget)
            if self.unit is not None:
                control.addWidget(self.unit)
            self._head.addLayout(control)
        control.addWidget(self.reset)
        column.addWidget(self.notes)

    def _help(self) -> QHBoxLayout:
        """Return the line of help, with a button that opens the rest where there is more."""
        line = QHBoxLayout()
        line.setSpacing(SPACE_8)
        line.addWidget(self.about, 1)
        if self.more.text():
            self.explain.setText("?")
            self.explain.setCheckable(True)
            self.explain.setAutoRaise(True)
            # Tab goes from field to field; Shift+F1 in the field does the same.
            self.explain.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            line.addWidget(self.explain, 0, Qt.AlignmentFlag.AlignTop)
        return line


def heading(text: str) -> QLabel:
    """Return the title label of a block."""
    label = LeadingLabel(text)
    font = label.font()
    font.setWeight(font.Weight.DemiBold)
    label.setFont(font)
    return label
