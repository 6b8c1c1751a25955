"""Messages that were found, as a Qt model; rows only ever come behind the others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from hermes_desktop.state.search.search_records import SearchHit
from hermes_desktop.ui.sessions.session_list_model import line_of
from hermes_desktop.ui.words.day_words import DayWords
from hermes_desktop.ui.words.source_names import source_name

Index = QModelIndex | QPersistentModelIndex
HIT_ROLE = int(Qt.ItemDataRole.UserRole) + 1
WORDS_ROLE = int(Qt.ItemDataRole.UserRole) + 2
TIME_ROLE = int(Qt.ItemDataRole.UserRole) + 3
_ROOT = QModelIndex()
_LEAD = 24
"""Characters kept in front of the hit, so that it stands in the first line of two."""
_UNTITLED = "Untitled session"
_MARKUP = re.compile(r"\s*\|[\s|:-]*|\*{1,3}|`+|(?:(?<=\s)|^)#{1,6}\s")


@dataclass(frozen=True, slots=True)
class HitWords:
    """The words around a hit as they are shown.

    Attributes:
        text: Who said it, and the words.
        marks: Start and end of the places found, in ``text``.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


class HitModel(QAbstractListModel):
    """The hits in the order they were found."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hits: list[SearchHit] = []
        self._words: DayWords | None = None

    @property
    def hits(self) -> tuple[SearchHit, ...]:
        """All of them."""
        return tuple(self._hits)

    def begin_anew(self, hits: Sequence[SearchHit], words: DayWords) -> None:
        """Show the first hits of another search."""
        self.beginResetModel()
        self._hits = list(hits)
        self._words = words
        self.endResetModel()

    def add(self, hits: Sequence[SearchHit]) -> None:
        """Show more of the same search."""
        if hits:
            first = len(self._hits)
            self.beginInsertRows(_ROOT, first, first + len(hits) - 1)
            self._hits += hits
            self.endInsertRows()

    def hit_at(self, index: Index) -> SearchHit | None:
        """The hit of a row."""
        return self._hits[index.row()] if index.isValid() else None

    @override
    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._hits)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        hit = self.hit_at(index)
        if hit is None:
            return None
        answers = {
            int(Qt.ItemDataRole.DisplayRole): hit_title,
            int(Qt.ItemDataRole.ToolTipRole): self._tool_tip,
            int(Qt.ItemDataRole.AccessibleTextRole): self._accessible_text,
            HIT_ROLE: lambda each: each,
            WORDS_ROLE: hit_words,
            TIME_ROLE: self._time,
        }
        answer = answers.get(int(role))
        return None if answer is None else answer(hit)

    def _time(self, hit: SearchHit) -> str:
        return "" if self._words is None else self._words.alone(hit.timestamp)

    def _tool_tip(self, hit: SearchHit) -> str:
        when = "" if self._words is None else self._words.full(hit.timestamp)
        return f"{hit_title(hit)}\n{source_name(hit.source)} · {when}"

    def _accessible_text(self, hit: SearchHit) -> str:
        when = "" if self._words is None else self._words.spoken(hit.timestamp)
        return f"{source_name(hit.source)}, {hit_title(hit)}, {when}. {hit_words(hit).text}"


def hit_title(hit: SearchHit) -> str:
    """What the session of a hit is called."""
    return line_of(hit.title or "") or _UNTITLED


def hit_words(hit: SearchHit) -> HitWords:
    """The snippet with who said it in front, cut so that the hit is near the beginning."""
    text, marks = _without_markup(hit.snippet, hit.marks)
    cut = 0
    if marks and marks[0][0] > _LEAD:
        space = text.rfind(" ", 0, marks[0][0] - _LEAD // 2)
        cut = space + 1 if space >= marks[0][0] - 2 * _LEAD else marks[0][0] - _LEAD
    lead = f"{_speaker(hit)}: {'…' if cut else ''}"
    shift = len(lead) - cut
    shown = tuple((start + shift, end + shift) for start, end in marks if start >= cut)
    return HitWords(lead + text[cut:], shown)


def _without_markup(
    text: str, marks: tuple[tuple[int, int], ...]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The words without the signs of Markdown, the marks moved along."""
    pieces: list[str] = []
    places: list[int] = []
    length = done = 0
    for found in [*_MARKUP.finditer(text), None]:
        end = len(text) if found is None else found.start()
        kept = text[done:end]
        places += range(length, length + len(kept))
        pieces.append(kept)
        length += len(kept)
        if found is not None:
            spaced = "".join(pieces).endswith(" ")
            instead = " " if "|" in found.group() and not spaced else ""
            places += [length] * len(found.group())
            pieces.append(instead)
            length += len(instead)
            done = found.end()
    places.append(length)
    return "".join(pieces), tuple((places[start], places[end]) for start, end in marks)


def _speaker(hit: SearchHit) -> str:
    names = {"user": "You", "assistant": "Hermes", "system": "System"}
    return names.get(hit.role) or line_of(hit.tool_name or "") or "Tool"
