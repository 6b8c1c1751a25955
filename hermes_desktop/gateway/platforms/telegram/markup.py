"""Conversion of Markdown into text with Telegram's marks, which needs no escaping.

Whatever a model writes becomes a message that Telegram accepts: no markup is left that could be
invalid. Markdown without a corresponding mark is rewritten: headings are bold, lists get bullets,
narrow tables are set in columns, wide ones row by row.
"""

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from hermes_desktop.gateway.platforms.telegram.formatted import Formatted, Mark

_SHOWN_PLACE = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?((?:[\w-]+\.)+[^\W\d_]{2,}|\d+(?:\.\d+){3})", re.IGNORECASE
)


def is_misleading(shown: str, address: str) -> bool:
    """Return whether the text of a link looks like the address of another host or user.

    Args:
        shown: The text.
        address: The target of the link.
    """
    words = shown.strip()
    if words.startswith("@"):
        return True
    found = _SHOWN_PLACE.match(words)
    if found is None:
        return False
    return _host(found[1]) != _host(_host_of(address))


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _host(name: str) -> str:
    return name.lower().removeprefix("www.")


_WIDEST_TABLE = 38
_LINKS = ("http://", "https://", "tg://user?", "mailto:")
_MARKS = {"strong": "bold", "em": "italic", "s": "strikethrough"}


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def formatted(markdown: str) -> Formatted:
    """Convert a Markdown text. If the result is blank, the source text is returned."""
    writer = _Writer()
    tokens = _parser().parse(markdown)
    position = 0
    while position < len(tokens):
        position = writer.block(tokens, position)
    done = writer.done()
    return done if done.text.strip() else Formatted(markdown)


@dataclass(slots=True)
class _List:
    """An open list."""

    number: int | None


@dataclass(slots=True)
class _Writer:
    """Writer of the converted text."""

    text: str = ""
    marks: list[Mark] = field(default_factory=list)
    lists: list[_List] = field(default_factory=list)
    quotes: list[int] = field(default_factory=list)
    tight: bool = False

    def done(self) -> Formatted:
        """Return the complete result, without other marks inside code."""
        text = self.text.rstrip()
        whole = sorted(
            (mark for mark in self.marks if mark.kind in {"code", "pre"}),
            key=lambda mark: mark.start,
        )
        ends = [mark.end for mark in whole]
        marks: list[Mark] = []
        for mark in self.marks:
            if mark.kind in {"bold", "italic", "strikethrough"}:
                first = bisect_right(ends, mark.start)
                marks += _without(mark, itertools.islice(whole, first, None))
            else:
                marks.append(mark)
        kept = [
            Mark(mark.kind, mark.start, min(mark.end, len(text)), mark.detail)
            for mark in marks
            if mark.start < min(mark.end, len(text))
        ]
        return Formatted(text, tuple(sorted(kept, key=lambda mark: (mark.start, -mark.end))))

    # Blocks

    def block(self, tokens: list[Token], at: int) -> int:
        """Write the block at this position; return the position of the next one."""
        token = tokens[at]
        if token.type == "table_open":
            end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
            self._table(tokens[at:end])
            return end + 1
        write = _BLOCKS.get(token.type)
        if write is not None:
            write(self, token)
        elif token.type == "inline":
            self.inline(token, bold=at > 0 and tokens[at - 1].type == "heading_open")
        return at + 1

    def begin(self, *, blank_line: bool = True) -> None:
        """Start a new line."""
        if not self.text or (self.text.endswith(("• ", ". ")) and self._item_is_empty()):
            return
        wanted = "\n\n" if blank_line and not self.lists else "\n"
        self.text = self.text.rstrip("\n") + wanted
        if self.lists and not self.text.endswith(("• ", ". ")):
            self.text += "   " * len(self.lists)

    def _item_is_empty(self) -> bool:
        line = self.text.rpartition("\n")[2].strip()
        return bool(self.lists) and (line == "•" or line.rstrip(".").isdigit())

    def item(self, _: Token) -> None:
        """Start a list item."""
        now = self.lists[-1]
        bullet = "•"
        if now.number is not None:
            bullet, now.number = f"{now.number}.", now.number + 1
        if self.text and not self.text.endswith("\n"):
            self.text += "\n"
        self.text += "   " * (len(self.lists) - 1) + f"{bullet} "

    def open_list(self, token: Token) -> None:
        """Start a list."""
        if not self.lists and self.text:
            self.text = self.text.rstrip("\n") + "\n\n"
        start = token.attrs.get("start", 1)
        is_numbered = token.type == "ordered_list_open"
        self.lists.append(_List(int(start) if is_numbered else None))

    def close_list(self, _: Token) -> None:
        """End a list."""
        self.lists.pop()

    def paragraph(self, _: Token) -> None:
        """Start a paragraph or a heading."""
        self.begin()

    def open_quote(self, _: Token) -> None:
        """Start a quotation."""
        self.begin()
        self.quotes.append(len(self.text))

    def close_quote(self, _: Token) -> None:
        """End a quotation; Telegram does not support nested ones."""
        start = self.quotes.pop()
        if not self.quotes:
            end = len(self.text.rstrip())
            self.marks.append(Mark("blockquote", start, end))

    def code(self, token: Token) -> None:
        """Write a code block."""
        self.begin()
        language = token.info.strip().partition(" ")[0] if token.type == "fence" else ""
        self.add(token.content.rstrip("\n") or " ", "pre", language)

    def rule(self, _: Token) -> None:
        """Write a horizontal rule."""
        self.begin()
        self.text += "———"

    def add(self, text: str, kind: str = "", detail: str = "") -> None:
        """Write a piece of text."""
        start = len(self.text)
        self.text += text
        if kind:
            self.marks.append(Mark(kind, start, len(self.text), detail))

    # Inside of a block

    def inline(self, token: Token, *, bold: bool = False) -> None:
        """Write the text of a block."""
        start = len(self.text)
        opened: list[tuple[str, int, str]] = []
        for child in token.children or ():
            self._child(child, opened)
        if bold:
            self.marks.append(Mark("bold", start, len(self.text)))

    def _child(self, child: Token, opened: list[tuple[str, int, str]]) -> None:
        name = child.type.removesuffix("_open").removesuffix("_close")
        if child.type == "code_inline":
            self.add(child.content, "code")
        elif child.type in {"softbreak", "hardbreak"}:
            self.text += "\n" + "   " * len(self.lists)
        elif child.type == "image":
            self._link(len(self.text), child.content or "picture", str(child.attrs.get("src", "")))
        elif child.nesting == 1:
            opened.append((name, len(self.text), str(child.attrs.get("href", ""))))
        elif child.nesting == -1 and opened:
            name, start, address = opened.pop()
            if name == "link":
                self._link(start, "", address)
            elif name in _MARKS:
                self.marks.append(Mark(_MARKS[name], start, len(self.text)))
        else:
            self.text += child.content

    def _link(self, start: int, text: str, address: str) -> None:
        self.text += text
        shown = self.text[start:]
        if address.startswith(_LINKS):
            if is_misleading(shown, address):  # its target is not visible before it is followed
                self.text += f" ({address})"
            elif shown != address and shown.strip():
                self.marks.append(Mark("text_link", start, len(self.text), address))
        elif address and address != shown:
            self.text += f" ({address})"

    # Tables

    def _table(self, tokens: list[Token]) -> None:
        rows: list[list[str]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                cell = _Writer()
                cell.inline(token)
                rows[-1].append(" ".join(cell.text.split()))
        self.begin()
        widths = [max(map(len, column)) for column in zip(*rows, strict=False)]
        if sum(widths) + 2 * (len(widths) - 1) <= _WIDEST_TABLE:
            lines = ("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=False)) for r in rows)
            self.add("\n".join(line.rstrip() for line in lines), "pre")
        else:
            self._rows(rows[0], rows[1:])

    def _rows(self, head: list[str], rows: list[list[str]]) -> None:
        for number, row in enumerate(rows or [head]):
            self.text += "\n\n" if number else ""
            self.add(row[0], "bold")
            for name, cell in zip(head[1:], row[1:], strict=False):
                if cell:
                    self.text += f"\n• {name}: {cell}" if rows else f"\n• {cell}"


_BLOCKS = {
    "paragraph_open": _Writer.paragraph,
    "heading_open": _Writer.paragraph,
    "bullet_list_open": _Writer.open_list,
    "ordered_list_open": _Writer.open_list,
    "bullet_list_close": _Writer.close_list,
    "ordered_list_close": _Writer.close_list,
    "list_item_open": _Writer.item,
    "blockquote_open": _Writer.open_quote,
    "blockquote_close": _Writer.close_quote,
    "fence": _Writer.code,
    "code_block": _Writer.code,
    "hr": _Writer.rule,
}


def _without(mark: Mark, whole: Iterable[Mark]) -> list[Mark]:
    """Return the parts of a mark outside of code, which allows no other mark.

    Args:
        mark: The mark.
        whole: Code in its order, from the first that ends after the start of the mark.
    """
    parts, start = [], mark.start
    for code in whole:
        if code.start >= mark.end:
            break
        if code.start > start:
            parts.append(Mark(mark.kind, start, code.start, mark.detail))
        start = max(start, code.end)
    if start < mark.end:
        parts.append(Mark(mark.kind, start, mark.end, mark.detail))
    return parts
