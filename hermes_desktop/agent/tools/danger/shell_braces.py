"""Brace expansion of a shell, and matching of brackets. Pure."""

from collections.abc import Sequence
from itertools import pairwise

MOST_WORDS = 64
_MOST_DEPTH = 8


def closing(text: str, at: int, opens: str, closes: str) -> int:
    """Return where the bracket that opens at ``at`` closes; skips quotes and escapes.

    -1: nowhere.
    """
    depth, quote = 0, ""
    while at < len(text):
        here = text[at]
        if here == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if here == quote else quote
        elif here in "'\"":
            quote = here
        elif here == opens:
            depth += 1
        elif here == closes:
            depth -= 1
            if not depth:
                return at
        at += 1
    return -1


def alternatives(text: str, live: Sequence[bool]) -> list[str]:
    """Return the words that ``a{b,c}`` expands to; the text itself where there are no braces.

    Args:
        text: The word without its quotes.
        live: For each character, whether it was outside of quotes.

    Raises:
        ValueError: There are too many.
    """
    return _alternatives(text, list(live), 0)


def _alternatives(text: str, live: list[bool], depth: int) -> list[str]:
    found = _first_list(text, live)
    if found is None:
        return [text]
    if depth >= _MOST_DEPTH:
        raise ValueError("too deep")
    begin, end, commas = found
    tails = _alternatives(text[end + 1 :], live[end + 1 :], depth + 1)
    bounds = [begin, *commas, end]
    words: list[str] = []
    for start, stop in pairwise(bounds):
        for middle in _alternatives(text[start + 1 : stop], live[start + 1 : stop], depth + 1):
            words += [text[:begin] + middle + tail for tail in tails]
            if len(words) > MOST_WORDS:
                raise ValueError("too many")
    return words


def _first_list(text: str, live: list[bool]) -> tuple[int, int, list[int]] | None:
    """Return the first outermost brace list: its ends, and its commas."""
    open_ones: list[tuple[int, list[int]]] = []
    best: tuple[int, int, list[int]] | None = None
    for at, here in enumerate(text):
        if not live[at]:
            continue
        if here == "{":
            open_ones.append((at, []))
        elif here == "," and open_ones:
            open_ones[-1][1].append(at)
        elif here == "}" and open_ones:
            begin, commas = open_ones.pop()
            if commas and (best is None or begin < best[0]):
                best = (begin, at, commas)
    return best
