"""Grapheme boundaries: positions where cutting a text splits no visible character."""

import unicodedata

_JOINER, _REGIONAL = "\u200d", range(0x1F1E6, 0x1F200)
_MODIFIERS = range(0x1F3FB, 0x1F400)
_LONGEST_GRAPHEME = 64


def grapheme_start(text: str, at: int, least: int) -> int:
    """Return the last position up to ``at`` that splits no visible character."""
    place = at
    while place > max(least + 1, at - _LONGEST_GRAPHEME) and _is_inside(text, place):
        place -= 1
    return place if not _is_inside(text, place) else at


def _is_inside(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    if _JOINER in {before, behind} or unicodedata.combining(behind):
        return True
    if unicodedata.category(behind) in {"Mn", "Me", "Mc"} or ord(behind) in _MODIFIERS:
        return True
    if ord(before) in _REGIONAL and ord(behind) in _REGIONAL:
        run = 0
        while run < at and ord(text[at - 1 - run]) in _REGIONAL:
            run += 1
        return run % 2 == 1
    return before == "\r" and behind == "\n"
