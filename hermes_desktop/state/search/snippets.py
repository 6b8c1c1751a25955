"""Snippets: the text around a hit, with the matches marked.

Built in Python for all kinds of search alike: structured content must be decoded first, and only
the few rows that are shown are processed.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_desktop.state.records.content_codec import decode_content, decode_json, plain_text
from hermes_desktop.state.search.search_query import Term

_WORD = re.compile(r"[^\W_]+")
_TOKENS = 40
_TOKENS_BEFORE = 12
_CHARS_BEFORE = 200
_CHARS_AFTER = 600
_FOLDED_CHARS = 500_000
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Snippet:
    """A short excerpt of a message.

    Attributes:
        text: On one line; dots where text was left out.
        marks: Start and end of each match in ``text``.
    """

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def marked(self, before: str = ">>>", after: str = "<<<") -> str:
        """Return the text with markers around each match."""
        pieces, done = [], 0
        for start, end in self.marks:
            pieces += [self.text[done:start], before, self.text[start:end], after]
            done = end
        return "".join((*pieces, self.text[done:]))


class _BaseLetters(dict[int, str]):
    """A cache of base letters without accents, one for one so that positions are preserved."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        base = unicodedata.normalize("NFD", character)[0]
        lower = base.lower()
        self[code] = lower if len(lower) == 1 else base
        return self[code]


_BASES = _BaseLetters()


def fold(text: str) -> str:
    """Return the text in lower case without accents; the length is preserved."""
    return text.lower() if text.isascii() else text.translate(_BASES)


class Marker:
    """A matcher that finds terms in texts as the index does.

    Args:
        terms: The terms to find.
        words: Whether only whole words match; else any part of the text does.
    """

    def __init__(self, terms: Iterable[Term], *, words: bool) -> None:
        patterns = [p for term in terms if (p := _word(term) if words else _part(term))]
        patterns.sort(key=len, reverse=True)
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def first(self, text: str) -> int | None:
        """Return where the first match begins, None without one."""
        if self._pattern is None:
            return None
        found = self._pattern.search(fold(text[:_FOLDED_CHARS]))
        return None if found is None else found.start()

    def places(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return all matches in a short text."""
        if self._pattern is None:
            return ()
        return tuple(m.span() for m in self._pattern.finditer(fold(text)) if m.end() > m.start())


def _word(term: Term) -> str:
    parts = _WORD.findall(fold(term.text))
    if not parts:
        return ""
    body = r"[\W_]+".join(map(re.escape, parts))
    return rf"(?<![^\W_]){body}" + (r"[^\W_]*" if term.prefix else r"(?![^\W_])")


def _part(term: Term) -> str:
    return re.escape(fold(term.text))


def snippet_of(marker: Marker, texts: Sequence[str]) -> Snippet:
    """Return the text around the first match in the first text that has one; else the beginning."""
    for text in texts:
        place = marker.first(text)
        if place is not None:
            return _around(marker, text, place)
    return _around(marker, texts[0] if texts else "", 0)


def _around(marker: Marker, text: str, place: int) -> Snippet:
    before = list(_WORD.finditer(text, max(0, place - _CHARS_BEFORE), place))
    if len(before) > _TOKENS_BEFORE:
        start = before[-_TOKENS_BEFORE].start()
    else:
        start = max(0, place - _CHARS_BEFORE)
    stop = min(len(text), place + _CHARS_AFTER)
    after = list(_WORD.finditer(text, start, stop))
    if len(after) > _TOKENS:
        stop = after[_TOKENS - 1].end()
    body = " ".join(text[start:stop].split())
    shown = (_CUT if start > 0 else "") + body + (_CUT if stop < len(text) else "")
    return Snippet(shown, marker.places(shown))


def texts_of(content: Any, tool_name: Any, tool_calls: Any) -> list[str]:
    """Return the texts of a stored row that a search covers, the most significant first."""
    texts = [plain_text(decode_content(content))]
    if isinstance(tool_name, str) and tool_name:
        texts.append(tool_name)
    if tool_calls:
        decoded = decode_json(tool_calls)
        texts.append(
            str(tool_calls) if decoded is None else json.dumps(decoded, ensure_ascii=False)
        )
    return texts
