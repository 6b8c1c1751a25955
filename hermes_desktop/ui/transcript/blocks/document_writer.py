"""The writer that appends blocks to a text document and removes the last ones again.

Only characters with formats are inserted; no markup is ever interpreted.
"""

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextList,
    QTextListFormat,
    QTextTableFormat,
)

from hermes_desktop.ui.transcript.blocks.blocks import RuleBlock, Span, TableBlock, TextBlock
from hermes_desktop.ui.widgets.look import Look
from hermes_desktop.ui.words.visible_text import is_right_to_left

QUOTE_PROPERTY = int(QTextFormat.Property.UserProperty) + 1
RULE_PROPERTY = int(QTextFormat.Property.UserProperty) + 2
QUOTE_STEP = 16
LIST_STEP = 22.0
_PARAGRAPH_GAP = 8.0
_TIGHT_GAP = 3.0
_HEADING_GAP = 14.0
_LEADING = 0.24
"""Space between lines, as a share of their height."""
_HEADING_SIZES = (1.3, 1.18, 1.08, 1.0, 1.0, 1.0)
_LINE_SEPARATOR = "\u2028"
_ALIGN = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}


class DocumentWriter:
    """A writer that appends to one document. Main thread only.

    Args:
        document: Written by this object alone.
        look: Colors and fonts.
        colour: The color of plain text.
    """

    def __init__(self, document: QTextDocument, look: Look, colour: str) -> None:
        self._document = document
        self._look = look
        self._colour = QColor(colour)
        self._lists: dict[int, tuple[QTextList, int]] = {}
        self._empty = True
        self._leading = round(QFontMetricsF(look.text_font).height() * _LEADING)
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setIndentWidth(LIST_STEP)
        document.setDefaultFont(look.text_font)

    def append(self, block: TextBlock | RuleBlock) -> int:
        """Append one block.

        Returns:
            The position to pass to :meth:`truncate` to remove it again.
        """
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        start = 0 if self._empty else cursor.position()
        first, self._empty = self._empty, False
        cursor.beginEditBlock()
        block_format = self._block_format(block, first=first)
        if first:
            cursor.setBlockFormat(block_format)
        else:
            cursor.insertBlock(block_format, QTextCharFormat())
        if isinstance(block, TextBlock):
            self._place_in_list(cursor, block, start)
            cursor.setBlockCharFormat(self._char_format(Span(""), block.heading))
            for span in block.spans:
                text = span.text.replace("\n", _LINE_SEPARATOR)
                cursor.insertText(text, self._char_format(span, block.heading))
        cursor.endEditBlock()
        return start

    def truncate(self, position: int) -> None:
        """Remove every block from a position that :meth:`append` returned."""
        cursor = QTextCursor(self._document)
        self._lists = {key: entry for key, entry in self._lists.items() if entry[1] < position}
        cursor.beginEditBlock()
        cursor.setPosition(position)
        kept = cursor.blockFormat()
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._empty = position == 0
        cursor.setBlockFormat(QTextBlockFormat() if self._empty else kept)
        cursor.endEditBlock()

    def write_table(self, table: TableBlock) -> None:
        """Fill the empty document with one table."""
        rows = [*([table.header] if table.header else []), *table.rows]
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        shrink_line(cursor)
        grid = cursor.insertTable(max(len(rows), 1), len(table.aligns), self._table_format())
        for number, row in enumerate(rows):
            heading = bool(table.header) and number == 0
            for column, cell in enumerate(row):
                place = grid.cellAt(number, column)
                writer = place.firstCursorPosition()
                self._write_cell(writer, cell, table.aligns[column], heading=heading)
                if heading:
                    look = QTextCharFormat()
                    look.setBackground(QBrush(QColor(self._look.palette.code_background)))
                    place.setFormat(look)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        shrink_line(cursor)
        cursor.endEditBlock()
        self._empty = False

    def _write_cell(
        self, cursor: QTextCursor, spans: tuple[Span, ...], align: str, *, heading: bool
    ) -> None:
        layout = QTextBlockFormat()
        layout.setAlignment(_ALIGN[align])
        cursor.setBlockFormat(layout)
        for span in spans:
            look = self._char_format(span, 0)
            if heading:
                look.setFontWeight(QFont.Weight.DemiBold)
            cursor.insertText(span.text.replace("\n", _LINE_SEPARATOR), look)

    def _table_format(self) -> QTextTableFormat:
        layout = QTextTableFormat()
        layout.setBorder(1)
        layout.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        layout.setBorderBrush(QBrush(QColor(self._look.palette.separator)))
        layout.setBorderCollapse(True)
        layout.setCellPadding(6)
        layout.setCellSpacing(0)
        layout.setWidth(QTextLength())
        return layout

    def _place_in_list(self, cursor: QTextCursor, block: TextBlock, start: int) -> None:
        if block.item is None:
            return
        known = self._lists.get(block.item.key)
        if known is not None:
            known[0].add(cursor.block())
            return
        layout = QTextListFormat()
        layout.setIndent(max(block.indent, 1))
        if block.item.number is None:
            layout.setStyle(QTextListFormat.Style.ListDisc)
        else:
            layout.setStyle(QTextListFormat.Style.ListDecimal)
            layout.setStart(block.item.number)
        self._lists[block.item.key] = (cursor.createList(layout), start)

    def _block_format(self, block: TextBlock | RuleBlock, *, first: bool) -> QTextBlockFormat:
        layout = QTextBlockFormat()
        gap = _PARAGRAPH_GAP
        if isinstance(block, TextBlock):
            layout.setLineHeight(
                self._leading, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value
            )
            gap = _TIGHT_GAP if block.tight else _PARAGRAPH_GAP
            if block.heading:
                gap = _HEADING_GAP
                layout.setHeadingLevel(block.heading)
            if block.item is None:
                layout.setIndent(block.indent)
        else:
            layout.setProperty(RULE_PROPERTY, 1)
        if block.quote:
            layout.setProperty(QUOTE_PROPERTY, block.quote)
            # Qt mirrors indents automatically, but not margins.
            if isinstance(block, TextBlock) and is_right_to_left(_text_of(block)):
                layout.setRightMargin(QUOTE_STEP * block.quote)
            else:
                layout.setLeftMargin(QUOTE_STEP * block.quote)
        layout.setTopMargin(0 if first else gap)
        return layout

    def _char_format(self, span: Span, heading: int) -> QTextCharFormat:
        look = QTextCharFormat()
        colours = self._look.palette
        look.setForeground(QBrush(self._colour))
        if heading:
            base = self._look.text_font.pointSizeF()
            look.setFontPointSize(base * _HEADING_SIZES[heading - 1])
            look.setFontWeight(QFont.Weight.DemiBold)
        if span.bold:
            look.setFontWeight(QFont.Weight.Bold if heading else QFont.Weight.DemiBold)
        if span.italic:
            look.setFontItalic(True)
        if span.strike:
            look.setFontStrikeOut(True)
        if span.code:
            code = self._look.code_font
            look.setFontFamilies(code.families())
            look.setFontFixedPitch(True)
            if not heading:
                look.setFontPointSize(code.pointSizeF())
            look.setBackground(QBrush(QColor(colours.code_background)))
        if span.link:
            look.setAnchor(True)
            look.setAnchorHref(span.link)
            look.setToolTip(span.link)
            look.setForeground(QBrush(QColor(colours.accent)))
            look.setFontUnderline(True)
        return look


def shrink_line(cursor: QTextCursor) -> None:
    """Hide the empty paragraph that Qt keeps around tables."""
    layout = QTextBlockFormat()
    layout.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    cursor.setBlockFormat(layout)
    tiny = QTextCharFormat()
    tiny.setFontPointSize(1)
    cursor.setBlockCharFormat(tiny)


def _text_of(block: TextBlock) -> str:
    return "".join(span.text for span in block.spans)
