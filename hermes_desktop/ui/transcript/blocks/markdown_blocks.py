"""Conversion of untrusted Markdown to blocks: no HTML, no images, links to web and mail only.

No Qt, no state: may run on any thread. Whatever the input, the result contains its text; where the
parser would give up (thousands of nested quotes), the text is shown as it was written.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.token import Token

from hermes_desktop.ui.transcript.blocks.blocks import (
    Align,
    Block,
    CodeBlock,
    ListItem,
    RuleBlock,
    Span,
    TableBlock,
    TextBlock,
    spans_text,
)
from hermes_desktop.ui.words.visible_text import visible

MAX_PARAGRAPH = 6_000
"""Maximum characters of one paragraph on screen; longer ones are shown in pieces."""
MAX_TABLE_ROWS = 60
MAX_TABLE_CELLS = 200
"""In one part of a table, which is written and laid out in one step of about 10 milliseconds."""
MAX_TABLE_COLUMNS = 40
MAX_CELL = 2_000
"""Characters in one cell, above which its row becomes plain lines: a table cannot break it."""
_MAX_NESTING = 24
_WRAPPED_LINE = 60
_MANY_BRACKETS = 600
_DEEP_LINE = re.compile(r"^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){12}", re.MULTILINE)
_SAFE_LINK = re.compile(r"^(?:https?://|mailto:)[^\s\x00-\x1f]+$", re.IGNORECASE)
_TASK = re.compile(r"^\[([ xX])\][ \u00a0]+")
_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<info>.*)$")


def make_parser(*, links: bool = True) -> MarkdownIt:
    """Return a CommonMark parser with tables and strike-through, and without raw HTML."""
    parser = MarkdownIt(
        "commonmark", {"html": False, "linkify": False, "maxNesting": _MAX_NESTING}
    ).enable(["table", "strikethrough"])
    # Link definitions elsewhere in the text would connect parts that are shown piece by piece.
    parser.disable(["reference"])
    return parser if links else parser.disable(["link", "image"])


_Row = tuple[tuple[Span, ...], ...]
_PARSER = make_parser()
_PARSER_WITHOUT_LINKS = make_parser(links=False)


def safe_link(target: str) -> str:
    """Return the address if it may be opened after confirmation, else ""."""
    return target if _SAFE_LINK.match(target) else ""


def parse_tokens(text: str) -> list[Token] | None:
    """Run the parser; return None if this text would exhaust it."""
    if _DEEP_LINE.search(text):
        return None
    parser = _PARSER if text.count("[") <= _MANY_BRACKETS else _PARSER_WITHOUT_LINKS
    try:
        tokens = parser.parse(text)
    except (RecursionError, ValueError, IndexError):
        return None
    if any(token.level >= _MAX_NESTING - 2 for token in tokens):
        return None  # beyond its nesting limit the parser drops text
    return tokens


def parse_markdown(text: str) -> tuple[Block, ...]:
    """Convert one complete message to blocks."""
    tokens = parse_tokens(text)
    if tokens is None:
        return verbatim(text)
    return tuple(blocks_of(tokens))


def parse_plain(text: str) -> tuple[Block, ...]:
    """Convert typed text to blocks: kept as it is, except that fenced code is shown as code."""
    blocks: list[Block] = []
    lines: list[str] = []
    fence, language = "", ""

    def flush() -> None:
        if fence:
            blocks.append(CodeBlock(language, "\n".join(lines)))
        elif any(line.strip() for line in lines):
            blocks.extend(verbatim("\n".join(lines).strip("\n")))
        lines.clear()

    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        match = _FENCE.match(line)
        closes = fence and line.strip().startswith(fence) and not line.strip().strip(fence[0])
        if closes or (match and not fence):
            flush()
            fence = "" if closes or match is None else match["mark"]
            language = "" if closes or match is None else language_of(match["info"])
        else:
            lines.append(line)
    flush()
    return tuple(blocks)


def verbatim(text: str) -> tuple[Block, ...]:
    """Return the paragraphs without interpreting any markup."""
    paragraphs = re.split(r"\n[ \t]*\n+", visible(text))
    blocks = (TextBlock((Span(part),)) for part in paragraphs if part.strip())
    return tuple(piece for block in blocks for piece in _pieces(block))


def language_of(info: str) -> str:
    """Return the language named after a fence, as one short visible word."""
    words = visible(info).split()
    return words[0][:40] if words else ""


@dataclass(slots=True)
class _Place:
    """The state of the walk through the tokens."""

    quote: int = 0
    lists: list[tuple[int, int | None]] = field(default_factory=list)
    keys: int = 0
    pending: ListItem | None = None

    def open_list(self, start: int | None) -> None:
        self.keys += 1
        self.lists.append((self.keys, start))

    def open_item(self) -> None:
        key, number = self.lists[-1]
        self.pending = ListItem(key, number)
        if number is not None:
            self.lists[-1] = (key, number + 1)

    def take_item(self) -> ListItem | None:
        item, self.pending = self.pending, None
        return item


def blocks_of(tokens: Sequence[Token], *, first_key: int = 0) -> Iterator[Block]:
    """Convert the parser's tokens to blocks.

    Args:
        tokens: A balanced run of tokens.
        first_key: Lists get keys greater than this one.
    """
    place = _Place(keys=first_key)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "table_open":
            end = _closing(tokens, position)
            yield from _table(tokens[position:end])
            position = end
        else:
            yield from _block(tokens, position, place)
        position += 1


def _block(tokens: Sequence[Token], position: int, place: _Place) -> Iterator[Block]:
    token = tokens[position]
    if token.type == "inline":
        yield from _pieces(_paragraph(tokens[position - 1], token, place))
    elif token.type in {"fence", "code_block"}:
        yield from _code(token, place)
    elif token.type == "hr":
        yield RuleBlock(place.quote)
    elif token.type in {"blockquote_open", "blockquote_close"}:
        place.quote += token.nesting
    elif token.type in {"bullet_list_open", "ordered_list_open"}:
        ordered = token.type.startswith("ordered")
        place.open_list(int(token.attrGet("start") or 1) if ordered else None)
        if ordered and token.attrGet("start") == 0:
            place.lists[-1] = (place.lists[-1][0], 0)
    elif token.type in {"bullet_list_close", "ordered_list_close"}:
        place.lists.pop()
    elif token.type == "list_item_open":
        place.open_item()
    elif token.type == "list_item_close" and place.pending is not None:
        yield TextBlock((), indent=len(place.lists), quote=place.quote, item=place.take_item())


def _paragraph(opening: Token, inline: Token, place: _Place) -> TextBlock:
    item = place.take_item()
    spans = spans_of(inline.children or ())
    if item is not None and spans and not spans[0].code and (task := _TASK.match(spans[0].text)):
        box = "☐ " if task[1] == " " else "☑ "
        spans = (replace(spans[0], text=box + spans[0].text[task.end() :]), *spans[1:])
    return TextBlock(
        spans,
        heading=int(opening.tag[1]) if opening.type == "heading_open" else 0,
        indent=len(place.lists),
        quote=place.quote,
        item=item,
        tight=bool(opening.hidden),
    )


def _code(token: Token, place: _Place) -> Iterator[Block]:
    if place.pending is not None:
        yield TextBlock((), indent=len(place.lists), quote=place.quote, item=place.take_item())
    text = token.content.removesuffix("\n")
    yield CodeBlock(language_of(token.info), text, indent=len(place.lists))


def _pieces(block: TextBlock) -> Iterator[TextBlock]:
    """Split an overlong paragraph, at a space if there is one."""
    total = sum(len(span.text) for span in block.spans)
    if total <= MAX_PARAGRAPH:
        yield block
        return
    taken: list[Span] = []
    room = MAX_PARAGRAPH
    item = block.item
    for span in block.spans:
        rest = span.text
        while len(rest) > room:
            cut = max(rest.rfind(" ", 0, room), rest.rfind("\n", 0, room)) + 1 or room
            taken.append(replace(span, text=rest[:cut]))
            yield replace(block, spans=tuple(taken), item=item, tight=True)
            taken, item, rest, room = [], None, rest[cut:], MAX_PARAGRAPH
        if rest:
            taken.append(replace(span, text=rest))
            room -= len(rest)
    if taken:
        yield replace(block, spans=tuple(taken), item=item)


def spans_of(children: Sequence[Token]) -> tuple[Span, ...]:
    """Convert inline tokens to spans; neighbors of the same format are joined."""
    spans: list[Span] = []
    look = Span("")
    links: list[str] = []
    length = 0
    for token in children:
        if token.type == "softbreak":
            # A short line was broken on purpose (a poem, an address), a long one by wrapping.
            _add(spans, replace(look, text=" " if length >= _WRAPPED_LINE else "\n"))
        elif token.type in {"strong_open", "strong_close"}:
            look = replace(look, bold=token.nesting == 1)
        elif token.type in {"em_open", "em_close"}:
            look = replace(look, italic=token.nesting == 1)
        elif token.type in {"s_open", "s_close"}:
            look = replace(look, strike=token.nesting == 1)
        elif token.type == "link_open":
            links.append(str(token.attrGet("href") or ""))
            look = replace(look, link=safe_link(links[-1]))
        elif token.type == "link_close":
            target = links.pop() if links else ""
            if target and not look.link:
                _add(spans, replace(look, text=f" ({visible(target)})"))
            look = replace(look, link="")
        else:
            _add(spans, _leaf(token, look))
        length = 0 if token.type in {"softbreak", "hardbreak"} else length + len(token.content)
    return tuple(spans)


def _leaf(token: Token, look: Span) -> Span:
    if token.type == "hardbreak":
        return replace(look, text="\n")
    if token.type == "code_inline":
        return replace(look, text=visible(token.content), code=True)
    if token.type == "image":
        source = str(token.attrGet("src") or "")
        alt = " ".join(visible(token.content).split())
        words = " ".join(part for part in (alt, visible(source)) if part)
        return replace(look, text=f"[image: {words}]", link=look.link or safe_link(source))
    return replace(look, text=visible(token.content))


def _add(spans: list[Span], span: Span) -> None:
    if not span.text:
        return
    if spans and replace(spans[-1], text="") == replace(span, text=""):
        spans[-1] = replace(span, text=spans[-1].text + span.text)
    else:
        spans.append(span)


def _closing(tokens: Sequence[Token], opening: int) -> int:
    level = tokens[opening].level
    for position in range(opening + 1, len(tokens)):
        token = tokens[position]
        if token.nesting == -1 and token.level == level:
            return position
    return len(tokens) - 1


def _table(tokens: Sequence[Token]) -> Iterator[Block]:
    """Split a table into parts of limited size; what is too wide becomes plain lines."""
    rows: list[list[tuple[Span, ...]]] = []
    aligns: list[Align] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open":
            aligns.append(_align(str(token.attrGet("style") or "")))
        elif token.type == "inline":
            rows[-1].append(spans_of(token.children or ()))
    if not rows or len(aligns) > MAX_TABLE_COLUMNS:
        yield from (piece for row in rows for piece in _plain_row(tuple(row)))
        return
    width = len(aligns)
    yield from _parts([tuple(row[:width]) + ((),) * (width - len(row)) for row in rows], aligns)


def _parts(rows: Sequence[_Row], aligns: Sequence[Align]) -> Iterator[Block]:
    """Split a table into parts of limited size, with the header in the first one."""
    most = min(MAX_TABLE_ROWS, max(MAX_TABLE_CELLS // len(aligns), 1))
    header, part = rows[0], list[_Row]()
    if _is_too_long(header):
        yield from _plain_row(header)
        header = ()
    for row in rows[1:]:
        too_long = _is_too_long(row)
        if (too_long or len(part) == most) and (header or part):
            yield TableBlock(header, tuple(part), tuple(aligns))
            header, part = (), []
        if too_long:
            yield from _plain_row(row)
        else:
            part.append(row)
    if header or part:
        yield TableBlock(header, tuple(part), tuple(aligns))


def _is_too_long(row: _Row) -> bool:
    return any(len(spans_text(cell)) > MAX_CELL for cell in row)


def _plain_row(row: _Row) -> Iterator[TextBlock]:
    return _pieces(TextBlock((Span("\t".join(map(spans_text, row))),)))


def _align(style: str) -> Align:
    name = style.rpartition(":")[2].strip()
    return cast(Align, name) if name in {"center", "right"} else "left"
