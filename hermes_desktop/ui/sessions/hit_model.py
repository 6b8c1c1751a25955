"""The Qt model of search hits; rows are only ever appended."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from hermes_desktop.state.search.search_records import SearchHit
from hermes_desktop.ui.sessions.session_list_model import line_of
from hermes_desktop.ui.words.day_words import DateFormatter
from hermes_desktop.ui.words.source_names import source_name

Index = QModelIndex | QPersistentModelIndex
HIT_ROLE = int(Qt.ItemDataRole.UserRole) + 1
WORDS_ROLE = int(Qt.ItemDataRole.UserRole) + 2
TIME_ROLE = int(Qt.ItemDataRole.UserRole) + 3
_ROOT = QModelIndex()
_LEAD = 24
"""Characters kept before the hit, so that it is in the first of the two lines."""
_UNTITLED = "Untitled session"
_MARKUP = re.compile(r"\s*\|[\s|:-]*|\*{1,3}|`+|(?:(?<=\s)|^)#{1,6}\s")


@dataclass(frozen=True, slots=True)
class HitSnippet:
    """The snippet around a hit as it is shown.

    Attributes:
        text: The speaker and the snippet.
        marks: Start and end of the matches in ``text``.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


class HitModel(QAbstractListModel):
    """A list model of hits in the order in which they were found."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hits: list[SearchHit] = []
        self._words: DateFormatter | None = None

    @property
    def hits(self) -> tuple[SearchHit, ...]:
        """All hits."""
        return tuple(self._hits)

    def begin_anew(self, hits: Sequence[SearchHit], words: DateFormatter) -> None:
        """Replace the hits by the first ones of another search."""
        self.beginResetModel()
        self._hits = list(hits)
        self._words = words
        self.endResetModel()

    def add(self, hits: Sequence[SearchHit]) -> None:
        """Append more hits of the same search."""
        if hits:
            first = len(self._hits)
            self.beginInsertRows(_ROOT, first, first + len(hits) - 1)
            self._hits += hits
            self.endInsertRows()

    def hit_at(self, index: Index) -> SearchHit | None:
        """Return the hit of a row, None for an invalid index."""
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
    """Return the title of a hit's session."""
    return line_of(hit.title or "") or _UNTITLED


def hit_words(hit: SearchHit) -> HitSnippet:
    """Return the snippet after its speaker, cut so that the hit is near the beginning."""
    text, marks = _without_markup(hit.snippet, hit.marks)
    cut = 0
    if marks and marks[0][0] > _LEAD:
        space = text.rfind(" ", 0, marks[0][0] - _LEAD // 2)
        cut = space + 1 if space >= marks[0][0] - 2 * _LEAD else marks[0][0] - _LEAD
    lead = f"{_speaker(hit)}: {'…' if cut else ''}"
    shift = len(lead) - cut
    shown = tuple((start + shift, end + shift) for start, end in marks if start >= cut)
    return HitSnippet(lead + text[cut:], shown)


def _without_markup(
    text: str, marks: tuple[tuple[int, int], ...]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the text without Markdown syntax, and the marks shifted accordingly."""
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
