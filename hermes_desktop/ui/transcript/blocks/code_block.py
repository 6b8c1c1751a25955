"""Code blocks: fixed font, language, copy button, horizontal scrolling, colors when idle."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtCore import QMargins, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QToolButton, QWidget
from typing_extensions import override

from hermes_desktop.ui.transcript.blocks.blocks import CodeBlock
from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.blocks.text_block import scrolls_the_transcript
from hermes_desktop.ui.widgets.highlight import LineColours
from hermes_desktop.ui.widgets.look import Look, tint
from hermes_desktop.ui.widgets.scroll_bars import scroll_bar_sheet
from hermes_desktop.ui.widgets.theme import RADIUS_BLOCK
from hermes_desktop.ui.words.visible_text import broken_lines, visible

LONGEST_LINE = 2_000
"""Maximum number of characters in a displayed line; the copy button gives the original lines."""
_LINES_PER_SLICE = 150
_COPIED_MS = 1_600
_PADDING = 10
_HEADER = 28


class CodeText(QPlainTextEdit):
    """A read-only code widget without vertical scrolling."""

    menu_wanted = Signal(QPoint)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        option = self.document().defaultTextOption()
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self.document().setDefaultTextOption(option)
        self.document().setDocumentMargin(0)
        self.setFont(look.code_font)
        ground = replace(look.palette, base=look.palette.code_background)
        self.horizontalScrollBar().setStyleSheet(scroll_bar_sheet(ground))
        self.setTabStopDistance(QFontMetricsF(look.code_font).horizontalAdvance(" ") * 4)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if scrolls_the_transcript(event):
            event.ignore()
        else:
            super().keyPressEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())

    def height_for(self, width: int, widest: float) -> int:
        """Return the pixel height of all lines, plus the scroll bar if the widest line needs it."""
        layout = self.document().documentLayout()
        line = layout.blockBoundingRect(self.document().firstBlock()).height()
        height = math.ceil(line * self.document().blockCount()) + 1
        wide = widest + 2 > width
        # Set explicitly; the automatic bar appears for a moment while the widget is resized.
        policy = Qt.ScrollBarPolicy
        self.setHorizontalScrollBarPolicy(
            policy.ScrollBarAlwaysOn if wide else policy.ScrollBarAlwaysOff
        )
        if wide:
            height += self.horizontalScrollBar().sizeHint().height()
        return height


class CodeSegment(HeightForWidthWidget):
    """One block of code. While it is still being written, text is only appended to it.

    Args:
        block: The block to show.
        look: Colors and fonts.
        parent: The parent widget.
        source: The text for the copy button, if that is more than what is shown.
    """

    def __init__(
        self, block: CodeBlock, look: Look, parent: QWidget | None = None, *, source: str = ""
    ) -> None:
        super().__init__(parent)
        self._look = look
        self.block = block
        self._source = source
        self._shown = ""
        self._widest = 0.0
        self._fitted: tuple[int, int] | None = None
        self._slices: Iterator[None] = iter(())
        self.text = CodeText(look, self)
        self.text.setAccessibleName(_spoken(block.language))
        self.setFocusProxy(self.text)
        self._caption = QWidget(self)
        self._language = QLabel(block.language or "text", self._caption)
        self._language.setTextFormat(Qt.TextFormat.PlainText)
        self._copy = QToolButton(self._caption)
        self._idle = QTimer(self, interval=0)
        self._idle.timeout.connect(self._paint_slice)
        self._copied = QTimer(self, interval=_COPIED_MS, singleShot=True)
        self._copied.timeout.connect(self._reset_copy)
        self._make_caption(look)
        self._write(block.text)

    def update_block(self, block: CodeBlock) -> bool:
        """Show a later state of the same block.

        Returns:
            False when it is not one: another language, or not a continuation of the text.
        """
        if block.language != self.block.language or block.indent != self.block.indent:
            return False
        if not block.text.startswith(self.block.text):
            return False
        added = block.text[len(self.block.text) :]
        self.block = block
        if added:
            self._write(added)
        return True

    @property
    def displayed(self) -> str:
        """The text in the widget, whose lines the colors refer to."""
        return self._shown

    def set_colours(self, lines: tuple[LineColours, ...]) -> None:
        """Color the text in slices while idle; () leaves it plain."""
        self._slices = self._colour(lines)
        self._idle.start()

    def copy_code(self) -> None:
        """Copy the stored code to the clipboard and confirm it for a moment."""
        QGuiApplication.clipboard().setText(self._source or self.block.text)
        self._copy.setText("Copied")
        self._copy.setAccessibleName("Code copied")
        self._copied.start()

    @override
    def fit(self, width: int) -> int:
        indent = min(self.block.indent * 22, width // 3)
        self._indent = indent
        inner = max(width - indent - 2 * _PADDING, 1)
        if self._fitted is None or self._fitted[0] != inner:
            self._fitted = (inner, self.text.height_for(inner, self._widest))
        height = self._fitted[1]
        self._caption.setGeometry(indent, 0, width - indent, _HEADER)
        self.text.setGeometry(indent + _PADDING, _HEADER, inner, height)
        return _HEADER + height + _PADDING

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._look.palette.code_background))
        painter.drawRoundedRect(
            self.rect().adjusted(self._indent, 0, 0, 0), RADIUS_BLOCK, RADIUS_BLOCK
        )
        painter.end()

    _indent = 0

    def _make_caption(self, look: Look) -> None:
        row = QHBoxLayout(self._caption)
        row.setContentsMargins(QMargins(_PADDING, 2, 4, 0))
        for widget in (self._language, self._copy):
            widget.setFont(look.caption_font)
            tint(widget, look.palette.secondary_text)
        row.addWidget(self._language)
        row.addStretch(1)
        row.addWidget(self._copy)
        self._copy.setAutoRaise(True)
        self._copy.setCursor(Qt.CursorShape.PointingHandCursor)
        self._copy.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._copy.clicked.connect(self.copy_code)
        self._reset_copy()

    def _reset_copy(self) -> None:
        self._copy.setText("Copy")
        self._copy.setToolTip("Copy this code")
        self._copy.setAccessibleName(f"Copy {_spoken(self.block.language)}")

    def _write(self, text: str) -> None:
        """Append text; existing text is not processed again."""
        self._fitted = None
        last_line = len(self._shown) - self._shown.rfind("\n") - 1
        shown = broken_lines(visible(text), LONGEST_LINE, used=last_line)
        self._shown += shown
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(shown)
        self._measure(self._shown[-len(shown) - LONGEST_LINE :] if shown else "")

    def _measure(self, text: str) -> None:
        """Update the widest line; lines that are certainly narrower are not measured."""
        metrics = QFontMetricsF(self.text.font())
        widest_sign = metrics.horizontalAdvance("W") * 2
        for line in text.split("\n"):
            if len(line) * widest_sign > self._widest:
                self._widest = max(self._widest, metrics.horizontalAdvance(line.expandtabs(4)))

    # ------------------------------------------------------------------------------- colors
    def _paint_slice(self) -> None:
        if next(self._slices, False) is False:
            self._idle.stop()

    def _colour(self, lines: tuple[LineColours, ...]) -> Iterator[None]:
        document = self.text.document()
        block = document.firstBlock()
        formats = {}
        for group in _batched(lines, _LINES_PER_SLICE):
            start = block.position()
            for line in group:
                if not block.isValid():
                    return
                ranges = []
                for column, length, kind in line:
                    if kind not in formats:
                        formats[kind] = QTextCharFormat()
                        formats[kind].setForeground(self._look.code_colour(kind))
                    ranges.append(_format_range(column, length, formats[kind]))
                block.layout().setFormats(ranges)
                block = block.next()
            end = block.position() if block.isValid() else document.characterCount()
            document.markContentsDirty(start, end - start)
            yield None


def _batched(lines: tuple[LineColours, ...], size: int) -> Iterator[tuple[LineColours, ...]]:
    iterator = iter(lines)
    while group := tuple(itertools.islice(iterator, size)):
        yield group


def _format_range(column: int, length: int, look: QTextCharFormat) -> QTextLayout.FormatRange:
    result = QTextLayout.FormatRange()
    result.start = column
    result.length = length
    result.format = look
    return result


def _spoken(language: str) -> str:
    return f"{language} code" if language else "code"
