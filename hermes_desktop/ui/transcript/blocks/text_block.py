"""Selectable text widgets: one for paragraphs, headings, lists and quotes, one for tables."""

import math

from PySide6.QtCore import QPoint, QRectF, QSizeF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QTextBlock,
    QTextCursor,
    QTextDocument,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QScrollArea, QTextBrowser, QWidget
from typing_extensions import override

from hermes_desktop.ui.transcript.blocks.blocks import RuleBlock, TableBlock, TextBlock
from hermes_desktop.ui.transcript.blocks.document_writer import (
    QUOTE_PROPERTY,
    QUOTE_STEP,
    RULE_PROPERTY,
    DocumentWriter,
)
from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.widgets.look import Look

_SCROLL_KEYS = frozenset(
    {
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_PageDown,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
        Qt.Key.Key_Space,
    }
)


_BAR = 3.0
"""Width of the line next to a quote."""
_KEYPAD = Qt.KeyboardModifier.KeypadModifier


def scrolls_the_transcript(event: QKeyEvent) -> bool:
    """Return whether a key scrolls the whole transcript, so that a text in it must ignore it."""
    return event.key() in _SCROLL_KEYS and not event.modifiers() & ~_KEYPAD


class SelectableText(QTextBrowser):
    """Rich text without its own scroll bars; it opens and loads nothing.

    Attributes:
        caret: Whether the caret of a growing text is painted at the end.
        has_lines: Whether there are quotes or rules, whose lines are painted here.

    Signals:
        menu_wanted: The user requested the context menu, at a global point.
        link_wanted: The user clicked a link; holds its address.
    """

    menu_wanted = Signal(QPoint)
    link_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setLineWrapMode(QTextBrowser.LineWrapMode.FixedPixelWidth)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.viewport().setAutoFillBackground(False)
        self.setOpenLinks(False)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.anchorClicked.connect(self._link_clicked)
        self.caret = False
        self.has_lines = False
        self.line_colour = QColor()
        self.caret_colour = QColor()

    @override
    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Load nothing, whatever a document requests."""
        return None

    def lay_out(self, document: QTextDocument, width: int) -> QSizeF:
        """Show a document, wrapped to a width in pixels, and return its size.

        The given width applies whatever the widget's current width is. It is set before a new
        document, which then is laid out only once.
        """
        self.setLineWrapColumnOrWidth(width)
        if self.document() is not document:
            self.setDocument(document)
        return document.size()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
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

    @override
    def scrollContentsBy(self, _dx: int, _dy: int) -> None:
        """Do not scroll, because the whole text is always visible."""

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not (self.has_lines or self.caret):
            return  # a long table has thousands of blocks, one for each cell
        painter = QPainter(self.viewport())
        layout = self.document().documentLayout()
        block = self.document().firstBlock()
        while self.has_lines and block.isValid():
            place = layout.blockBoundingRect(block)
            if place.top() > event.rect().bottom():
                break
            self._paint_block(painter, block, place)
            block = block.next()
        if self.caret:
            self._paint_caret(painter)
        painter.end()

    def _paint_block(self, painter: QPainter, block: QTextBlock, place: QRectF) -> None:
        layout = block.blockFormat()
        depth = layout.property(QUOTE_PROPERTY)
        for step in range(depth if isinstance(depth, int) else 0):
            top = place.top() - (layout.topMargin() if _quoted(block.previous()) > step else 0)
            left = 2.0 + QUOTE_STEP * step
            if block.textDirection() == Qt.LayoutDirection.RightToLeft:
                left = self.viewport().width() - left - _BAR
            bar = QRectF(left, top, _BAR, place.bottom() - top)
            painter.fillRect(bar, self.line_colour)
        if layout.property(RULE_PROPERTY):
            painter.fillRect(
                QRectF(0, place.center().y(), self.viewport().width(), 1), self.line_colour
            )

    def _paint_caret(self, painter: QPainter) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        place = self.cursorRect(cursor)
        right_to_left = cursor.block().textDirection() == Qt.LayoutDirection.RightToLeft
        x = place.left() - 5 if right_to_left else place.left() + 3
        painter.fillRect(QRectF(x, place.top() + 2, 2, place.height() - 4), self.caret_colour)

    def _link_clicked(self, url: QUrl) -> None:
        self.link_wanted.emit(url.toString())


def _quoted(block: QTextBlock) -> int:
    depth = block.blockFormat().property(QUOTE_PROPERTY) if block.isValid() else 0
    return depth if isinstance(depth, int) else 0


class TextSegment(HeightForWidthWidget):
    """A run of paragraphs in one selectable text."""

    def __init__(self, look: Look, colour: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = SelectableText(self)
        self.text.line_colour = QColor(look.palette.separator)
        self.text.caret_colour = QColor(look.palette.accent)
        self.setFocusProxy(self.text)
        # Written before it has a layout; with one, each block would be laid out separately.
        self._document = QTextDocument(self)
        self._writer = DocumentWriter(self._document, look, colour)
        self._fitted: tuple[int, int] | None = None
        self.length = 0

    def append(self, block: TextBlock | RuleBlock) -> int:
        """Append a block and return the position for :meth:`truncate`."""
        self._fitted = None
        if isinstance(block, TextBlock):
            self.length += sum(len(span.text) for span in block.spans)
            if any(span.link for span in block.spans):
                self.text.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if block.quote or isinstance(block, RuleBlock):
            self.text.has_lines = True
        return self._writer.append(block)

    def truncate(self, position: int) -> None:
        """Remove the blocks from a position on."""
        self._fitted = None
        self._writer.truncate(position)
        self.length = self._document.characterCount()

    def set_caret(self, shown: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Show or hide the caret at the end of a growing text."""
        if self.text.caret != shown:
            self.text.caret = shown
            self.text.viewport().update()

    @override
    def fit(self, width: int) -> int:
        if self._fitted is None or self._fitted[0] != width:
            size = self.text.lay_out(self._document, width)
            self._fitted = (width, math.ceil(size.height()))
        self.text.setGeometry(0, 0, width, self._fitted[1])
        return self._fitted[1]


class TableSegment(HeightForWidthWidget):
    """One table; scrolls horizontally where it is wider than the column."""

    def __init__(
        self, table: TableBlock, look: Look, colour: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.text = SelectableText()
        self.text.setWordWrapMode(QTextOption.WrapMode.WordWrap)
        self._frame = HorizontalScroll(self.text, self)
        self.setFocusProxy(self.text)
        self._document = QTextDocument(self)
        DocumentWriter(self._document, look, colour).write_table(table)
        self._fitted: tuple[int, int] | None = None

    @override
    def fit(self, width: int) -> int:
        if self._fitted is None or self._fitted[0] != width:
            size = self.text.lay_out(self._document, width)
            self.text.resize(max(math.ceil(size.width()), width), math.ceil(size.height()))
            self._fitted = (width, self._frame.height_for(width))
        self._frame.setGeometry(0, 0, width, self._fitted[1])
        return self._fitted[1]


class HorizontalScroll(QScrollArea):
    """A scroll area that shows a widget at its full height; a wider one gets a horizontal bar."""

    def __init__(self, content: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self._content = content
        self.setWidget(content)
        content.setAutoFillBackground(False)

    def height_for(self, width: int) -> int:
        """Return the height in pixels, including the bar if it is needed."""
        wide = self._content.width() > width
        bar = self.horizontalScrollBar().sizeHint().height() if wide else 0
        return self._content.height() + bar

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Handle only horizontal scrolling; the rest is left to the transcript."""
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()
