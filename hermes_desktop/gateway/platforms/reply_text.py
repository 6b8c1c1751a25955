"""Preparation of replies for a chat: removal of provider errors and splitting into messages.

A cut never splits a grapheme, that is, a visible character.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from hermes_desktop.gateway.config.gateway_config import Platform

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


UNTOUCHED = frozenset(
    {
        Platform.LOCAL,
        Platform.DESKTOP,
        Platform.API_SERVER,
        Platform.WEBHOOK,
        Platform.MSGRAPH_WEBHOOK,
    }
)
"""Platforms whose texts go unchanged to the user's own machine or to a program."""

_MOST_CHARS, _MOST_BREAKS = 400, 4
_ERROR = re.compile(
    r"""(?:⚠️?\s*)?(?:
      error\ code:\ ?\d{3} | (?:http|status)(?:\ error|\ code)?:?\ \d{3}\b
    | api\ (?:call|request)?\ ?(?:failed|error)\b
    | \w*(?:api|provider|ratelimit|authentication|badrequest|permissiondenied|connection
      |internalserver)\w*error\b
    | (?:openai|anthropic|httpx|litellm)\.\w+
    | \{\s*["']error["']\s*:
    | \d{3}\ (?:unauthorized|forbidden|too\ many\ requests|bad\ request|internal\ server\ error
        |bad\ gateway|service\ unavailable|gateway\ timeout|payment\ required)\s*(?:[:{(–-]|$)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_KINDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"\b40[13]\b|unauthori[sz]ed|api key|authentication|permission", re.IGNORECASE),
        "The model provider rejected the key. The owner of this assistant can fix it.",
    ),
    (
        re.compile(r"content.?policy|safety|moderation|flagged", re.IGNORECASE),
        "The model provider refused to answer this.",
    ),
    (
        re.compile(r"\b429\b|rate.?limit|quota|overloaded|too many requests", re.IGNORECASE),
        "The model provider is busy. Try again in a few minutes.",
    ),
)
_OTHER = "The model provider could not answer. Try again in a moment."


def without_provider_errors(text: str) -> str:
    """Replace a short text that starts like a provider error with a plain explanation."""
    body = text.strip()
    if len(body) > _MOST_CHARS or body.count("\n") > _MOST_BREAKS or not _ERROR.match(body):
        return text
    return next((words for pattern, words in _KINDS if pattern.search(body)), _OTHER)


# ---------------------------------------------------------------------------------------- pieces

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[ \t]*(\S*)", re.MULTILINE)
_INLINE = re.compile(
    r"""\[[^\]\n]{0,300}\]\([^)\s]{0,300}\) | (`{1,3})[^`\n]{1,300}\1
      | (\*\*|__|~~)(?=\S)[^\n]{1,300}?\2 | (?<!\w)([*_])(?=\S)[^*_\n]{1,300}\3""",
    re.VERBOSE,
)
_NO_COUNTERS_BELOW = 80
_COUNTER_ROOM = len("\n(999/999)")
_BREAKS = ("\n\n", "\n", ". ", " ")


@dataclass(frozen=True, slots=True)
class _Fence:
    """An open code block: its closing mark and its language."""

    mark: str
    language: str


def split_text(
    text: str,
    limit: int | None,
    length: Callable[[str], int] = len,
    *,
    numbered: bool = True,
) -> list[str]:
    """Split a text into pieces that a platform accepts, at suitable places.

    A code block that is cut is closed and opened again.

    Args:
        text: The text to send.
        limit: The length limit of one piece; None for no limit.
        length: Counts the length as the platform does.
        numbered: Whether the pieces are numbered.
    """
    if limit is None or length(text) <= limit:
        return [text]
    if limit < _NO_COUNTERS_BELOW:
        return _hard_pieces(text, limit, length)
    if not numbered:
        return _pieces(text, limit, length)
    pieces = _pieces(text, limit - _COUNTER_ROOM, length)
    return [f"{piece}\n({number}/{len(pieces)})" for number, piece in enumerate(pieces, 1)]


def _hard_pieces(text: str, limit: int, length: Callable[[str], int]) -> list[str]:
    pieces = []
    while text:
        end = max(1, _fitting(text, limit, length))
        pieces.append(text[:end])
        text = text[end:]
    return pieces


def _pieces(text: str, room: int, length: Callable[[str], int]) -> list[str]:
    pieces: list[str] = []
    fence: _Fence | None = None
    while text:
        head = f"{fence.mark}{fence.language}\n" if fence else ""
        if length(head) > room // 2:  # e.g. a "language" of a hundred letters
            head = f"{fence.mark}\n" if fence else ""
        # The longest mark in sight may have to be closed at the end of this piece.
        budget = room - length(head) - _closing_room(fence, text, room)
        end = _cut(text, max(1, _fitting(text, budget, length)))
        body, text = text[:end], text[end:]
        fence = _open_fence(body, fence)
        tail = f"\n{fence.mark}" if fence and text else ""
        pieces.append(f"{head}{body.rstrip()}{tail}" if text else f"{head}{body}")
        text = text.removeprefix("\n") if fence else text.lstrip("\n ")
    return pieces


def _closing_room(fence: _Fence | None, text: str, room: int) -> int:
    marks = [found.group(1) for found in _FENCE.finditer(text[:room])]
    longest = max([len(mark) for mark in marks] + [len(fence.mark) if fence else 0])
    return min(longest + 1, room // 4) if longest else 0


def _fitting(text: str, room: int, length: Callable[[str], int]) -> int:
    """Return how many characters from the beginning fit."""
    low, high = 0, min(len(text), max(room, 0))
    if length(text[:high]) <= room:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if length(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(text: str, most: int) -> int:
    """Return where to cut, up to ``most``: after a paragraph, line, sentence or word."""
    if most >= len(text):
        return len(text)
    for mark in _BREAKS:
        found = text.rfind(mark, most // 2, most)
        if found > 0:
            return _outside_of_marks(text, found + len(mark), most)
    return _outside_of_marks(text, grapheme_start(text, most, 0), most)


def _outside_of_marks(text: str, at: int, most: int) -> int:
    """Move a cut before a link, bold text or code that it would split, unless that is very long."""
    line = text.rfind("\n", 0, at) + 1
    for found in _INLINE.finditer(text, line, min(len(text), 2 * most)):
        if found.start() >= at:
            break
        if at < found.end() and found.start() > most // 2:
            return found.start()
    return at


def _open_fence(body: str, fence: _Fence | None) -> _Fence | None:
    for found in _FENCE.finditer(body):
        mark, language = found.group(1), found.group(2)
        if fence is None:
            fence = _Fence(mark, language)
        elif mark.startswith(fence.mark) and not language:
            fence = None
    return fence
