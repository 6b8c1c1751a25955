"""Content blocks of a message, parsed from its Markdown. Frozen, no Qt.

Text never becomes HTML on its way to the screen: spans are inserted into a document as characters
with a format, so there is nothing that a message could inject.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Align = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of one format. ``link`` is a checked http, https or mailto address, or ""."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class ListItem:
    """The position of a paragraph in a list.

    Attributes:
        key: The same for all items of one list within one parse.
        number: The item's number, None in a list with bullets.
    """

    key: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One paragraph, heading or list item.

    Attributes:
        spans: The text; a newline within a span is a line break.
        heading: 1 to 6, 0 for a paragraph.
        indent: How many lists contain it.
        quote: How many quotes contain it.
        item: Set on the first paragraph of a list item, which has the bullet.
        tight: Set in lists without blank lines: less distance to the next one.
    """

    spans: tuple[Span, ...]
    heading: int = 0
    indent: int = 0
    quote: int = 0
    item: ListItem | None = None
    tight: bool = False


@dataclass(frozen=True, slots=True)
class RuleBlock:
    """A horizontal rule."""

    quote: int = 0


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table; every row has as many cells as ``aligns``. ``header`` is empty for a later part."""

    header: tuple[tuple[Span, ...], ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    aligns: tuple[Align, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code, exactly as it was written.

    Attributes:
        language: First word after the fence, "" if there was none.
        text: Without the last line end.
        closed: False while a reply streams and the closing fence has not arrived.
        indent: How many lists contain it.
    """

    language: str
    text: str
    closed: bool = True
    indent: int = field(default=0)


Block = TextBlock | RuleBlock | TableBlock | CodeBlock


def spans_text(spans: Iterable[Span]) -> str:
    """Return the characters without formats."""
    return "".join(span.text for span in spans)


def plain_text(blocks: Iterable[Block]) -> str:
    """Return the text for copying: without markup, with bullets and numbers written out."""
    return "\n".join(_plain(block) for block in blocks)


def _plain(block: Block) -> str:
    if isinstance(block, TextBlock):
        mark = ""
        if block.item is not None:
            mark = "• " if block.item.number is None else f"{block.item.number}. "
        indent = "  " * max(block.indent - 1, 0)
        return f"{indent}{mark}{spans_text(block.spans)}"
    if isinstance(block, CodeBlock):
        return block.text
    if isinstance(block, TableBlock):
        lines = ([block.header] if block.header else []) + list(block.rows)
        return "\n".join("\t".join(spans_text(cell) for cell in line) for line in lines)
    return "———"
