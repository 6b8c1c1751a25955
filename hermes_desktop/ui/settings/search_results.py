"""The results of a search in the settings: one row each, with the page of the setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QPalette
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.text.capitals import capitalized
from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.ui.sessions.search_field import SearchField
from hermes_desktop.ui.settings.fields.field_text import label_parts
from hermes_desktop.ui.settings.fields.parts import ASSISTANT, PLATFORMS, SettingHit
from hermes_desktop.ui.settings.page_table import entry_of, page_of
from hermes_desktop.ui.settings.pages.page_column import MOST_WIDTH
from hermes_desktop.ui.widgets.look import SMALL, scaled
from hermes_desktop.ui.widgets.row_painting import paint_ground
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_16, SPACE_24

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.settings.options import Option
    from hermes_desktop.ui.widgets.theme import Theme

_HIT = int(Qt.ItemDataRole.UserRole)
_WHERE = _HIT + 1
_ROOM = 6
_ENTER = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})


class SettingsSearch(SearchField):
    """The search field above the pages.

    Signals:
        entered: Enter was pressed: open the best hit.
    """

    entered = Signal()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER:
            self.entered.emit()
        else:
            super().keyPressEvent(event)


class SearchResults(QWidget):
    """The list of hits, or a note that nothing was found.

    Signals:
        chosen: A hit was clicked, or Enter was pressed on it.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.head = SecondaryLabel(theme)
        self.list = _HitList(theme)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_16)
        column.setSpacing(SPACE_8)
        column.addWidget(self.head)
        column.addWidget(self.list, 1)
        column.addStretch(0)
        content.setMaximumWidth(MOST_WIDTH + 2 * SPACE_8)
        middle = QHBoxLayout(self)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.addStretch(1)
        middle.addWidget(content, 1000)
        middle.addStretch(1)
        self.list.itemClicked.connect(self._choose)
        self.list.entered_on.connect(self._choose)

    def show_hits(self, hits: Sequence[SettingHit], text: str) -> None:
        """Show the hits for a text."""
        self.list.clear()
        for hit in hits:
            where = entry_of(hit.page).title
            item = QListWidgetItem(hit.label)
            item.setData(_HIT, hit)
            item.setData(_WHERE, f"{where} · {hit.key}")
            spoken = f"{hit.label}, {where}"
            item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
            item.setToolTip(f"{hit.label}\n{hit.key}")
            self.list.addItem(item)
        if hits:
            self.list.setCurrentRow(0)
        self.head.setText(_head(len(hits), text))
        self.list.setVisible(bool(hits))

    def choose_first(self) -> bool:
        """Open the current hit, by default the first; return False without any."""
        if not self.list.count():
            return False
        self._choose(self.list.currentItem())
        return True

    def _choose(self, item: QListWidgetItem) -> None:
        self.chosen.emit(item.data(_HIT))


class _HitList(QListWidget):
    """The list of hits.

    Signals:
        entered_on: Enter was pressed on a hit.
    """

    entered_on = Signal(QListWidgetItem)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Found settings"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.setMouseTracking(True)
        self.setItemDelegate(_HitDelegate(theme, self))
        self.viewport().setBackgroundRole(QPalette.ColorRole.Base)
        make_slim(self, theme)
        theme.changed.connect(self.viewport().update)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() in _ENTER and item is not None:
            self.entered_on.emit(item)
        else:
            super().keyPressEvent(event)


class _HitDelegate(QStyledItemDelegate):
    """Paints two lines: the name of the setting, and its page and key."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @override
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        first, second = _line_heights(option.font)
        return QSize(0, first + second + 2 * _ROOM)

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        palette = self._theme.palette
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_ground(painter, option, palette, focused=option.widget.hasFocus())
        inner = option.rect.adjusted(SPACE_8, _ROOM, -SPACE_8, -_ROOM)
        align = QStyle.visualAlignment(option.direction, Qt.AlignmentFlag.AlignLeft)
        lines = (
            (index.data(Qt.ItemDataRole.DisplayRole), palette.text, option.font),
            (index.data(_WHERE), palette.secondary_text, scaled(option.font, SMALL)),
        )
        top = inner.top()
        for (text, colour, font), high in zip(lines, _line_heights(option.font), strict=True):
            place = QRect(inner.left(), top, inner.width(), high)
            top += high
            painter.setFont(font)
            painter.setPen(QColor(colour))
            words = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, int(align | Qt.AlignmentFlag.AlignVCenter), words)
        painter.restore()


def _line_heights(font: QFont) -> tuple[int, int]:
    return QFontMetrics(font).lineSpacing(), QFontMetrics(scaled(font, SMALL)).lineSpacing()


def _head(count: int, text: str) -> str:
    if not count:
        return (
            f"No setting contains “{text.strip()}” in its name, help or key. Try another "
            "word. Keys of config.yaml without a field are listed under “Other keys”."
        )
    return "1 setting" if count == 1 else f"{count} settings"


# ------------------------------------------------------------------------------
# The search for settings by name, description, choices, and keys in the file.


def find_settings(
    text: str, views: Iterable[SettingView], more: Iterable[SettingHit] = ()
) -> list[SettingHit]:
    """Return all settings that contain every word of a text, matches in the name first.

    Args:
        text: The text that the user typed.
        views: All settings.
        more: Hits of the parts of pages.
    """
    words = text.casefold().split()
    if not words:
        return []
    found = [*_hits(words, views), *_secrets(words)]
    known = {hit.key for hit in found}
    found += [hit for hit in more if hit.key not in known]
    return sorted(found, key=lambda hit: not _has(words, hit.label))


def _hits(words: Sequence[str], views: Iterable[SettingView]) -> Iterator[SettingHit]:
    for view in views:
        option = view.option
        page = page_of(option)
        if _has(words, _searched(option, entry_of(page).title)):
            parts = label_parts(option)
            label = ": ".join(filter(None, (parts.who, parts.what)))
            yield SettingHit(page, option.key, label)


def _secrets(words: Sequence[str]) -> Iterator[SettingHit]:
    for secret in SECRETS.values():
        page = PLATFORMS if secret.platform else ASSISTANT
        if _has(words, f"{secret.label} {secret.variable} {secret.section}"):
            yield SettingHit(page, secret.variable, capitalized(secret.label))


def _searched(option: Option, page: str) -> str:
    choices = (option.choices or {}).items()
    said = " ".join(f"{word} {meaning}" for word, meaning in choices)
    places = " ".join(place.key for place in option.all_places())
    variables = " ".join(option.variables)
    names = f"{option.title} {option.section} {page} {option.key} {places} {variables}"
    return f"{names} {option.help} {said}"


def _has(words: Sequence[str], text: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
