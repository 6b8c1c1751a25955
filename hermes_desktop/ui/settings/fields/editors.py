"""Editors by kind of setting: check box, text line, number with unit, choice, list of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QKeySequence, QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.text.capitals import capitalized
from hermes_desktop.ui.settings.fields.field_text import plain, unset_words
from hermes_desktop.ui.widgets.control_corrections import set_text_margins

if TYPE_CHECKING:
    from hermes_desktop.settings.options import Option

_STEPS = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)
_NUMBER_WIDTH = 96
_CHOICE_WIDTH = 220
_LIST_LINES = 3


class Editor(QObject):
    """The input widget of a field.

    Attributes:
        widget: The widget that takes the focus.
        wide: Whether it needs the whole width of the page.

    Signals:
        given: Carries the content.
        typed: Carries the content after a single keystroke.
    """

    given = Signal(object)
    typed = Signal(object)

    wide = False

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.widget = widget

    def show_given(self, given: Any) -> None:
        """Show a value without emitting a signal."""
        raise NotImplementedError


class YesNoEditor(Editor):
    """A check box."""

    def __init__(self, option: Option) -> None:
        del option
        self.box = QCheckBox()
        super().__init__(self.box)
        self.box.toggled.connect(self._toggled)

    @override
    def show_given(self, given: Any) -> None:
        with QSignalBlocker(self.box):
            self.box.setChecked(bool(given))

    def _toggled(self, on: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        self.given.emit(on)


class LineEditor(Editor):
    """A line of text, or a number."""

    def __init__(self, option: Option) -> None:
        self.line = SettingLineEdit(steps=option.kind in {"number", "whole_number"})
        super().__init__(self.line)
        self.wide = not self.line.steps
        if self.line.steps:
            self.line.setFixedWidth(_NUMBER_WIDTH)
            self.line.setAlignment(Qt.AlignmentFlag.AlignTrailing)
            self.line.setInputMethodHints(Qt.InputMethodHint.ImhFormattedNumbersOnly)
        if option.may_be_none or option.kind in {"text", "address"}:
            self.line.setPlaceholderText(self.tr("not set"))
        self.line.textEdited.connect(self._edited)

    @override
    def show_given(self, given: Any) -> None:
        if self.line.text() != given:
            self.line.setText(given)
            if not self.line.hasFocus():
                self.line.setCursorPosition(0)  # show the beginning of a long text

    def _edited(self, text: str) -> None:
        self.typed.emit(text)


class ChoiceEditor(Editor):
    """A choice of several values, each shown by its meaning."""

    def __init__(self, option: Option) -> None:
        self.box = NoWheelComboBox()
        super().__init__(self.box)
        self._words = list(option.choices or {})
        if option.may_be_none:
            self._words.insert(0, "")
        for word in self._words:
            meaning = (option.choices or {}).get(word, unset_words(option))
            self.box.addItem(capitalized(plain(meaning)) if meaning else word, word)
        longest = max(map(len, map(self.box.itemText, range(self.box.count()))), default=0)
        self.wide = longest > 30  # noqa: PLR2004 - what fits into the width of a choice
        self.box.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.box.setMinimumContentsLength(8)
        if not self.wide:
            self.box.setFixedWidth(_CHOICE_WIDTH)
        self.box.currentIndexChanged.connect(self._chosen)

    @override
    def show_given(self, given: Any) -> None:
        with QSignalBlocker(self.box):
            self.box.setCurrentIndex(self.box.findData(given))

    def _chosen(self, index: int) -> None:
        self.given.emit(self.box.itemData(index))


class TextsEditor(Editor):
    """Several texts, one on each line."""

    wide = True

    def __init__(self, option: Option) -> None:
        del option
        self.box = SettingTextEdit()
        super().__init__(self.box)
        self.box.setPlaceholderText(self.tr("one per line"))
        self.box.textChanged.connect(self._edited)

    @override
    def show_given(self, given: Any) -> None:
        if self._entries() != list(given):
            with QSignalBlocker(self.box):
                self.box.setPlainText("\n".join(given))

    def _edited(self) -> None:
        self.typed.emit(self._entries())

    def _entries(self) -> list[str]:
        lines = self.box.toPlainText().replace(",", "\n").split("\n")
        return [entry for line in lines if (entry := line.strip())]


class SettingLineEdit(QLineEdit):
    """A line edit that leaves undo to the page, and steps a number with Up and Down.

    Args:
        steps: Whether the line holds a number.
    """

    def __init__(self, *, steps: bool) -> None:
        super().__init__()
        self.steps = steps
        set_text_margins(self)

    @override
    def event(self, event: QEvent) -> bool:
        return False if _is_step_key(event) else super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()), 0)
        if self.steps and by and self._step(by):
            return
        super().keyPressEvent(event)

    def _step(self, by: int) -> bool:
        try:
            number = float(self.text())
        except ValueError:
            return False
        share = by if number == int(number) and "." not in self.text() else by * 0.05
        text = f"{number + share:.10g}"
        self.setText(text)
        self.textEdited.emit(text)
        return True


class SettingTextEdit(QPlainTextEdit):
    """A text edit of three lines that leaves undo and Tab to the page."""

    def __init__(self) -> None:
        super().__init__()
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        lines = QFontMetrics(self.font()).lineSpacing() * _LIST_LINES
        self.setFixedHeight(lines + 2 * self.frameWidth() + 10)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @override
    def event(self, event: QEvent) -> bool:
        return False if _is_step_key(event) else super().event(event)


class NoWheelComboBox(QComboBox):
    """A combo box that ignores the wheel, so that scrolling the page does not change it."""

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def make_editor(option: Option) -> Editor:
    """Return a new editor for the kind of the setting."""
    made: Editor = _KINDS[option.kind](option)
    return made


_KINDS: dict[str, type[Any]] = {
    "yes_no": YesNoEditor,
    "whole_number": LineEditor,
    "number": LineEditor,
    "text": LineEditor,
    "address": LineEditor,
    "choice": ChoiceEditor,
    "texts": TextsEditor,
}


def _is_step_key(event: QEvent) -> bool:
    """Return whether Qt offers undo or redo to this field; the page undoes across all fields."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    if any(event.matches(key) for key in _STEPS):
        event.ignore()
        return True
    return False
