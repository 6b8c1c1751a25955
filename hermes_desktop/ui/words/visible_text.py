"""Untrusted text for display: nothing is hidden, reordered or interpreted; and its direction.

No Qt here. What is shown may differ from what is stored; copying a whole message or a code block
returns the stored text.
"""

import re
import unicodedata

from hermes_desktop.core.text.escape_sequences import without_escape_sequences


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter with a direction is written from right to left."""
    if text.isascii():
        return False
    for letter in text:
        kind = unicodedata.bidirectional(letter)
        if kind == "L":
            return False
        if kind in {"R", "AL"}:
            return True
    return False


_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\x0b\x0c\x85]")
# Qt's text documents use U+FDD0 and U+FDD1 as frame marks and U+FFFC for embedded objects.
_STRANGE = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffc\ud800-\udfff]"
)

_NAMES = {
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO",
    "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
}  # fmt: skip
_DELETE = 0x7F
_FIRST_PRINTABLE = 0x20


def visible(text: str) -> str:
    """Replace control characters by visible symbols and directional overrides by their names.

    Line ends become line feeds; tabs stay. U+202E, which would reverse the rest of a line, is shown
    as ``⟨RLO⟩``.
    """
    return _STRANGE.sub(_sign, _LINE_ENDS.sub("\n", text))


def without_terminal_colours(text: str) -> str:
    """Remove the escape sequences of a terminal (colors, cursor moves, titles)."""
    return without_escape_sequences(text)


def one_line(text: str, limit: int = 120) -> str:
    """Return the beginning of a text on one line, cut with an ellipsis."""
    line = " ".join(visible(without_terminal_colours(text[: limit * 4])).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def broken_lines(text: str, limit: int, *, used: int = 0) -> str:
    """Break lines longer than ``limit`` characters, which text layouts handle very slowly.

    Args:
        text: The text to append.
        limit: Maximum number of characters in a line.
        used: How many characters the line to which the text is appended already has.
    """
    lines = text.split("\n")
    if used + len(lines[0]) <= limit and max(map(len, lines)) <= limit:
        return text
    first, rest = lines[0][: limit - used], lines[0][limit - used :]
    lines[0:1] = [first, rest] if rest else [first]
    return "\n".join(
        line[start : start + limit]
        for line in lines
        for start in range(0, max(len(line), 1), limit)
    )


def _sign(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if character in _NAMES:
        return f"⟨{_NAMES[character]}⟩"
    if code < _FIRST_PRINTABLE:
        return chr(0x2400 + code)
    return "␡" if code == _DELETE else "\ufffd"
