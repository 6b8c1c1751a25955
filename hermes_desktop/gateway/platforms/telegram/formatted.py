"""Text with Telegram's separate formatting marks, and splitting into messages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hermes_desktop.gateway.platforms.reply_text import grapheme_start

MOST_UNITS = 4096
"""Length limit of a message in UTF-16 units."""

MOST_MARKS = 100
"""Number of marks that Telegram applies; it ignores further ones."""
MOST_MARK_BYTES = 9000
"""Size limit of a message's marks as JSON; Telegram refuses about 9,500 bytes."""
_MARK_BYTES = 70
"""An upper bound for a mark without its detail: kind, offset and length as JSON."""
_FIRST = ("text_link", "pre", "blockquote", "code")
"""The most important kinds of marks, which are kept first."""

_BREAKS = ("\n\n", "\n", ". ", "。", " ")
_WHOLE = frozenset({"code", "text_link"})
_ONE_UNIT = 0xFFFF
"""The last character that is one unit in UTF-16."""
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")


@dataclass(frozen=True, slots=True)
class Mark:
    """The formatting of a part of a text.

    Attributes:
        kind: As in Telegram's ``MessageEntity.type``.
        start: Index of its first character.
        end: Index after its last character.
        detail: Address of a link, language of a code block.
    """

    kind: str
    start: int
    end: int
    detail: str = ""

    @property
    def size(self) -> int:
        """Its approximate number of bytes as JSON."""
        return _MARK_BYTES + len(self.detail.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text and its marks, which count in characters."""

    text: str
    marks: tuple[Mark, ...] = ()

    def part(self, start: int, end: int) -> "Formatted":
        """Return the part between two positions, without leading blank lines and trailing blanks.

        A mark that is cut continues in both parts.
        """
        blank = _BLANK_LINES.match(self.text, start, end)
        start = blank.end() if blank else start
        end = start + len(self.text[start:end].rstrip())
        marks = (
            replace(mark, start=max(mark.start, start) - start, end=min(mark.end, end) - start)
            for mark in self.marks
            if mark.start < end and mark.end > start
        )
        return Formatted(self.text[start:end], tuple(m for m in marks if m.start < m.end))

    @property
    def plain(self) -> str:
        """The text with the address after each link, unless the link's text contains it."""
        text = self.text
        for mark in sorted(self.marks, key=lambda each: each.end, reverse=True):
            if mark.kind == "text_link" and mark.detail not in text[mark.start : mark.end]:
                text = f"{text[: mark.end]} ({mark.detail}){text[mark.end :]}"
        return text

    def cut(self, limit: int = MOST_UNITS) -> list["Formatted"]:
        """Split into parts of at most so many units, at suitable places; no part is blank."""
        parts: list[Formatted] = []
        start = 0
        while start < len(self.text):
            end = self._end_of_part(start, limit)
            parts.append(self.part(start, end))
            start = end
        return [part for part in parts if part.text.strip()]

    def _end_of_part(self, start: int, limit: int) -> int:
        most = min(_fitting(self.text, start, limit), self._end_of_links(start))
        if most >= len(self.text):
            return most
        least = start + (most - start) // 2
        for wanted in _BREAKS:
            found = self.text.rfind(wanted, least, most)
            if found > start:
                return self._outside_of_whole(found + len(wanted), least)
        return self._outside_of_whole(grapheme_start(self.text, most, start), least)

    def _end_of_links(self, start: int) -> int:
        """Return the position before the first link that exceeds the limits of a part."""
        number = size = 0
        for mark in self.marks:
            if mark.kind == "text_link" and mark.end > start:
                number, size = number + 1, size + mark.size
                if number > 1 and (number > MOST_MARKS or size > MOST_MARK_BYTES):
                    return max(mark.start, start + 1)
        return len(self.text)

    def _outside_of_whole(self, at: int, least: int) -> int:
        """Move a cut before a link or code that it would split, unless that is very long."""
        for mark in self.marks:
            if mark.kind in _WHOLE and mark.start < at < mark.end and mark.start > least:
                return mark.start
        return at

    def entities(self) -> Iterator[tuple[Mark, int, int]]:
        """Yield each mark with its offset and length in units."""
        offsets = [0]
        for character in self.text:
            offsets.append(offsets[-1] + (2 if ord(character) > _ONE_UNIT else 1))
        for mark in self._most_needed():
            offset = offsets[mark.start]
            yield mark, offset, offsets[mark.end] - offset

    def _most_needed(self) -> Sequence[Mark]:
        """Return as many marks as Telegram applies, in their order."""
        size = sum(mark.size for mark in self.marks)
        if len(self.marks) <= MOST_MARKS and size <= MOST_MARK_BYTES:
            return self.marks

        def weight(number: int) -> int:
            kind = self.marks[number].kind
            return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)

        kept: list[int] = []
        room = MOST_MARK_BYTES
        for number in sorted(range(len(self.marks)), key=weight):
            room -= self.marks[number].size
            if room < 0 or len(kept) == MOST_MARKS:
                break
            kept.append(number)
        return [self.marks[number] for number in sorted(kept)]


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units, as Telegram counts."""
    return len(text) + sum(ord(character) > _ONE_UNIT for character in text)


def _fitting(text: str, start: int, limit: int) -> int:
    """Return the end of the longest piece from ``start`` that has at most ``limit`` units."""
    end = min(len(text), start + limit)
    left = limit - units(text[start:end])
    while left < 0:
        end -= 1
        left += 2 if ord(text[end]) > _ONE_UNIT else 1
    return end
