"""Incremental parsing of streamed Markdown; finished blocks are never parsed again.

CommonMark decides about blocks line by line. As soon as a later block begins on a complete line,
everything before it is final; only the last block is parsed again when more text arrives. An open
block that grows beyond a limit is cut (a list between items, a table between rows, anything else
between lines), and an open fence is not parsed at all, so that the cost of an update depends on
what is new, not on the length of the reply.
"""

import re
from dataclasses import dataclass, replace

from markdown_it.token import Token

from hermes_desktop.ui.transcript.blocks.blocks import Block, CodeBlock, TableBlock, TextBlock
from hermes_desktop.ui.transcript.blocks.markdown_blocks import (
    blocks_of,
    language_of,
    parse_tokens,
    verbatim,
)

TAIL_LIMIT = 3_000
"""Characters of an open block that may be parsed again with each update."""
_OPENING = re.compile(r"^(?P<indent> {0,3})(?P<mark>`{3,}|~{3,})(?P<info>.*)$")


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """The difference between two consecutive updates.

    Attributes:
        finished: Blocks that follow the earlier finished ones and are final.
        tail: The open end, which replaces the open end of the previous update.
    """

    finished: tuple[Block, ...]
    tail: tuple[Block, ...]


@dataclass(slots=True)
class _Fence:
    mark: str
    indent: int
    language: str
    lines: list[str]

    def closed_by(self, line: str) -> bool:
        stripped = line.strip(" ")
        spaces = len(line) - len(line.lstrip(" "))
        only_marks = not stripped.rstrip("\t ").strip(self.mark[0])
        return spaces <= 3 and only_marks and len(stripped) >= len(self.mark)  # noqa: PLR2004

    def content_of(self, line: str) -> str:
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(self.indent, spaces) :]


@dataclass(frozen=True, slots=True)
class _TopBlock:
    """A top-level block among the tokens: its first and last position and its first line."""

    first: int
    last: int
    line: int


class MarkdownStream:
    """A parser that is fed a reply piece by piece. No Qt; not thread-safe."""

    def __init__(self) -> None:
        self._source = ""
        self._fence: _Fence | None = None
        self._table_head = ""
        self._next_number: int | None = None
        self._keys = 0

    def feed(self, text: str) -> None:
        """Add text; nothing is parsed yet."""
        self._source += text

    def advance(self) -> StreamUpdate:
        """Parse the text received so far."""
        finished: list[Block] = []
        while True:
            if self._fence is not None:
                closed = self._read_fence()
                if closed is None:
                    return StreamUpdate(tuple(finished), (self._open_code(),))
                finished.append(closed)
            tail = self._read_blocks(finished)
            if self._fence is None:
                return StreamUpdate(tuple(finished), tail)

    def finish(self) -> StreamUpdate:
        """Make everything final after the reply is complete."""
        if self._source and not self._source.endswith("\n"):
            self._source += "\n"
        update = self.advance()
        tail = tuple(
            replace(block, closed=True) if isinstance(block, CodeBlock) else block
            for block in update.tail
        )
        self._source, self._fence, self._table_head, self._next_number = "", None, "", None
        return StreamUpdate(update.finished + tail, ())

    # ------------------------------------------------------------------------------- fences
    def _open_code(self) -> CodeBlock:
        fence = self._fence
        assert fence is not None  # noqa: S101 - only called inside a fence
        lines = fence.lines
        if self._source and not _may_close(self._source, fence.mark):
            lines = [*lines, fence.content_of(self._source)]
        return CodeBlock(fence.language, "\n".join(lines), closed=False)

    def _read_fence(self) -> CodeBlock | None:
        """Consume complete lines of code; return the finished block if its fence is closed."""
        fence = self._fence
        assert fence is not None  # noqa: S101 - only called inside a fence
        lines = self._source.split("\n")
        self._source = lines.pop()
        for position, line in enumerate(lines):
            if fence.closed_by(line):
                self._source = "\n".join([*lines[position + 1 :], self._source])
                self._fence = None
                return CodeBlock(fence.language, "\n".join(fence.lines))
            fence.lines.append(fence.content_of(line))
        return None

    # ------------------------------------------------------------------------------- blocks
    def _read_blocks(self, finished: list[Block]) -> tuple[Block, ...]:
        """Move final blocks from the source to ``finished`` and return the open end."""
        tokens = self._parse(self._source)
        if tokens is None:
            return self._read_verbatim(finished)
        blocks = _top_blocks(tokens)
        lines = self._source.split("\n")
        shift = self._table_head.count("\n")
        final = [block for block in blocks if block.line - shift < len(lines) - 1]
        if not final:
            return self._blocks(tokens)
        last = final[-1]
        if last.line > shift:
            finished += self._commit(tokens[: last.first], lines[last.line - shift :])
            tokens, lines = tokens[last.first :], lines[last.line - shift :]
        if last is blocks[-1] and self._enter_fence(tokens[0], lines):
            return ()
        if len(self._source) > TAIL_LIMIT:
            return self._cut(tokens, lines, finished)
        return self._blocks(tokens)

    def _read_verbatim(self, finished: list[Block]) -> tuple[Block, ...]:
        if len(self._source) > TAIL_LIMIT and "\n" in self._source:
            done, _, self._source = self._source.rpartition("\n")
            finished += verbatim(done)
        return verbatim(self._source)

    def _parse(self, source: str) -> list[Token] | None:
        tokens = parse_tokens(self._table_head + source)
        if tokens and self._next_number is not None and tokens[0].type == "ordered_list_open":
            tokens[0].attrSet("start", self._next_number)
        return tokens

    def _blocks(self, tokens: list[Token]) -> tuple[Block, ...]:
        blocks = tuple(blocks_of(tokens, first_key=self._keys))
        if self._table_head and blocks and isinstance(blocks[0], TableBlock):
            first = replace(blocks[0], header=())
            blocks = ((first,) if first.rows else ()) + blocks[1:]
        return blocks

    def _commit(self, tokens: list[Token], rest: list[str]) -> tuple[Block, ...]:
        """Make tokens final; the source continues with ``rest``."""
        blocks = self._blocks(tokens)
        keys = [b.item.key for b in blocks if isinstance(b, TextBlock) and b.item is not None]
        self._keys = max([self._keys, *keys])
        self._source = "\n".join(rest)
        self._table_head = ""
        self._next_number = None
        return blocks

    def _enter_fence(self, token: Token, lines: list[str]) -> bool:
        opening = _OPENING.match(lines[0])
        if token.type != "fence" or opening is None:
            return False
        self._fence = _Fence(
            opening["mark"], len(opening["indent"]), language_of(opening["info"]), []
        )
        self._source = "\n".join(lines[1:])
        return True

    # --------------------------------------------------------------------------------- cuts
    def _cut(
        self, tokens: list[Token], lines: list[str], finished: list[Block]
    ) -> tuple[Block, ...]:
        """Shorten an open block that is too long to be parsed again with each update."""
        kind = tokens[0].type
        if kind == "table_open":
            self._cut_table(lines, finished)
        elif kind not in {"bullet_list_open", "ordered_list_open"} or not self._cut_list(
            tokens, lines, finished
        ):
            self._cut_lines(lines, finished)
        rest = self._parse(self._source)
        return verbatim(self._source) if rest is None else self._blocks(rest)

    def _cut_list(self, tokens: list[Token], lines: list[str], finished: list[Block]) -> bool:
        items = [
            (position, token.map[0])
            for position, token in enumerate(tokens)
            if token.type == "list_item_open" and token.level == tokens[0].level + 1 and token.map
        ]
        base = (tokens[0].map or [0])[0]
        complete = [item for item in items[1:] if item[1] - base < len(lines) - 1]
        if not complete:
            return False
        position, line = complete[-1]
        start = tokens[0].attrGet("start")
        number = int(start if start is not None else 1) + len(complete)
        ordered = tokens[0].type == "ordered_list_open"
        closing = Token(tokens[0].type.replace("open", "close"), tokens[0].tag, -1)
        finished += self._commit([*tokens[:position], closing], lines[line - base :])
        self._next_number = number if ordered else None
        return True

    def _cut_table(self, lines: list[str], finished: list[Block]) -> None:
        head = self._table_head or "\n".join(lines[:2]) + "\n"
        first = 0 if self._table_head else 2
        complete = self._parse("\n".join(lines[:-1]) + "\n") if len(lines) > first + 1 else None
        if complete is None:
            self._cut_lines(lines, finished)
            return
        finished += self._commit(complete, lines[-1:])
        self._table_head = head

    def _cut_lines(self, lines: list[str], finished: list[Block]) -> None:
        """Make everything up to the last complete line, or the last space, final."""
        if len(lines) > 1:
            done, rest = "\n".join(lines[:-1]), lines[-1]
        else:
            cut = lines[0].rfind(" ") + 1 or len(lines[0])
            done, rest = lines[0][:cut], lines[0][cut:]
        tokens = self._parse(done + "\n")
        if tokens is None:
            finished += verbatim(done)
            self._source = rest
        else:
            finished += self._commit(tokens, [rest])


def _may_close(line: str, mark: str) -> bool:
    """Return whether an unfinished line could still become the closing fence."""
    return (
        bool(line.strip()) and not line.strip().strip(mark[0]) and line.startswith((" ", mark[0]))
    )


def _top_blocks(tokens: list[Token]) -> list[_TopBlock]:
    blocks: list[_TopBlock] = []
    first = 0
    for position, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0:
            first = position
        if token.level == 0 and token.nesting <= 0 and token.type != "inline":
            line = (tokens[first].map or [0])[0]
            blocks.append(_TopBlock(first, position, line))
    return blocks
