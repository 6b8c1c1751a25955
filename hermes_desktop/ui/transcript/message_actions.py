"""The actions of a message: context menu, links, loading of the rest, coloring of code."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QTextEdit, QWidget

from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.parsing import (
    SHOWN_AT_FIRST,
    BackgroundCalls,
    CodeHighlighter,
    cut_at_line,
    parse_part,
)


class MessageActions(QObject):
    """Controller connected to the signals of every message widget of one view.

    Args:
        calls: Runs the parsing of more text and the coloring of code.
        parent: The view; menus open over it.
        last_prompt: Returns the row id of the newest stored message of the user.

    Signals:
        link_wanted: A link was clicked; holds its address.
        undo_wanted: Undo the turn of a message, and later ones; holds the message's row id.
    """

    link_wanted = Signal(str)
    undo_wanted = Signal(int)

    def __init__(
        self, calls: BackgroundCalls, parent: QWidget, last_prompt: Callable[[], int]
    ) -> None:
        super().__init__(parent)
        self._last_prompt = last_prompt
        self._over = parent
        self._calls = calls
        self._colouring = CodeHighlighter(calls, self)

    def connect_message(self, widget: MessageWidget) -> None:
        """Connect the signals of a new widget, before it is filled."""
        widget.link_wanted.connect(self.link_wanted)
        widget.code_shown.connect(self._colouring.colour)
        widget.menu_wanted.connect(partial(self.open_menu, widget))
        widget.more_wanted.connect(partial(self._show_more, widget))

    def open_menu(self, widget: MessageWidget, point: QPoint, text: QWidget) -> QMenu:
        """Show the context menu of a message at a global point."""
        menu = QMenu(self._over)
        copy = menu.addAction(self.tr("Copy"))
        copy.setEnabled(False)
        if isinstance(text, QTextEdit | QPlainTextEdit):
            copy.setEnabled(text.textCursor().hasSelection())
            copy.triggered.connect(text.copy)
        _add_copy(menu, self.tr("Copy message"), widget.plain)
        _add_copy(menu, self.tr("Copy as Markdown"), lambda: widget.source)
        self._add_undo(menu, widget)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(point)
        return menu

    def _add_undo(self, menu: QMenu, widget: MessageWidget) -> None:
        """Offer to undo the turn of a stored message that the model still gets."""
        entry = widget.entry
        if entry is None or entry.dim or widget.speaker == "system":
            return
        row = entry.message.id
        is_last = row >= self._last_prompt()
        menu.addSeparator()
        undo = menu.addAction(
            self.tr("Undo this turn…") if is_last else self.tr("Undo from here on…")
        )
        undo.triggered.connect(lambda: self.undo_wanted.emit(row))

    def _show_more(self, widget: MessageWidget) -> None:
        start, source, entry = widget.shown_characters, widget.source, widget.entry
        if entry is None:
            return
        end = cut_at_line(source, start, SHOWN_AT_FIRST)
        role = entry.message.role
        self._calls.run(
            lambda: parse_part(role, source[start:end]),
            lambda blocks: widget.show_more(blocks, end),
        )


def _add_copy(menu: QMenu, words: str, text: Callable[[], str]) -> None:
    menu.addAction(words).triggered.connect(lambda: QGuiApplication.clipboard().setText(text()))
