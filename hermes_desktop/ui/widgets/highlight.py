"""Syntax highlighting of code. No Qt; runs on a worker thread."""

from functools import cache
from typing import Any, Literal

MAX_HIGHLIGHTED = 20_000
"""Maximum number of characters; longer code stays plain."""
_LONGEST_LINE = 2_000

TokenKind = Literal["keyword", "string", "number", "comment", "name", "added", "removed", "heading"]

LineColours = tuple[tuple[int, int, TokenKind], ...]
"""Start, length and kind within one line. Positions count characters as Qt does (UTF-16)."""


@cache
def _kinds() -> tuple[tuple[Any, TokenKind], ...]:
    from pygments.token import Token  # noqa: PLC0415 - only who shows code needs it

    return (
        (Token.Comment, "comment"),
        (Token.Keyword, "keyword"),
        (Token.Operator.Word, "keyword"),
        (Token.Name.Tag, "keyword"),
        (Token.Literal.String, "string"),
        (Token.Literal.Number, "number"),
        (Token.Name.Function, "name"),
        (Token.Name.Class, "name"),
        (Token.Name.Decorator, "name"),
        (Token.Name.Builtin, "name"),
        (Token.Name.Attribute, "name"),
        (Token.Name.Variable, "name"),
        (Token.Generic.Inserted, "added"),
        (Token.Generic.Deleted, "removed"),
        (Token.Generic.Heading, "heading"),
        (Token.Generic.Subheading, "heading"),
    )


def colour_lines(language: str, text: str) -> tuple[LineColours, ...]:
    """Find the tokens of each line.

    Args:
        language: The info string of the fence; an unknown one gives no colors.
        text: The code as it is shown.

    Returns:
        One entry per line, or () when the code is to stay plain.
    """
    if not language or len(text) > MAX_HIGHLIGHTED:
        return ()
    if any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        return ()
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415 - likewise
    from pygments.util import ClassNotFound  # noqa: PLC0415

    try:
        lexer = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=True)
    except ClassNotFound:
        return ()
    lines: list[list[tuple[int, int, TokenKind]]] = [[]]
    column = 0
    for token, value in lexer.get_tokens(text):
        kind = _kind(token)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
                column = 0
            length = _utf16_length(part)
            if kind is not None and length:
                lines[-1].append((column, length, kind))
            column += length
    return tuple(tuple(line) for line in lines[: text.count("\n") + 1])


def _kind(token: Any) -> TokenKind | None:
    return next((kind for parent, kind in _kinds() if token in parent), None)


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
