"""A difference between two texts as read-only text, in the colors of the theme."""

from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.theme import Palette, Theme, fixed_font
from hermes_desktop.ui.words.visible_text import broken_lines, visible

_LONGEST_LINE = 1_000


class DifferenceText(QPlainTextEdit):
    """The difference as read-only text; added and removed lines in the colors of the theme.

    Args:
        difference: The output of ``difflib.unified_diff``.
        theme: Colors.
    """

    def __init__(self, difference: str, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setFont(fixed_font())
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName(self.tr("Difference"))
        make_slim(self, theme)
        self.show_difference(difference)

    def show_difference(self, difference: str) -> None:
        """Show another difference, from its beginning. Control characters are made visible."""
        self.clear()
        cursor = QTextCursor(self.document())
        for number, line in enumerate(difference.split("\n") if difference else ()):
            if number:
                cursor.insertBlock()
            text = broken_lines(visible(line).replace("\n", "␤"), _LONGEST_LINE)
            cursor.insertText(text, _format(line, self._theme.palette))
        self.moveCursor(QTextCursor.MoveOperation.Start)


def _format(line: str, palette: Palette) -> QTextCharFormat:
    colours = {"+": palette.ok, "-": palette.error, "@": palette.secondary_text}
    if line.startswith(("+++", "---")):
        colour = palette.secondary_text
    else:
        colour = colours.get(line[:1], palette.text)
    result = QTextCharFormat()
    result.setForeground(QColor(colour))
    return result
