"""Separator lines with text, and the block that explains a missing reply."""

from datetime import date

from PySide6.QtCore import QMargins, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget, Stack
from hermes_desktop.ui.transcript.blocks.fold import ActionRow, LabelRow
from hermes_desktop.ui.transcript.column import CLOSE_GAP, GAP, Item
from hermes_desktop.ui.transcript.entries import Separator
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.widgets.look import Look, scaled
from hermes_desktop.ui.widgets.theme import RADIUS_BLOCK
from hermes_desktop.ui.words.day_words import day_text
from hermes_desktop.ui.words.gateway_words import plain
from hermes_desktop.ui.words.setting_names import MODEL_SETTING, setting_target_in

_HEIGHT = 28
_WORDS = {
    "part": "Continued after the context was compressed",
    "summarised": "Summarized earlier",
}


def separator_text(separator: Separator, today: date) -> str:
    """Return the text of the line."""
    if separator.day is not None:
        return day_text(separator.day, today)
    if separator.words:
        return separator.words
    return _WORDS.get(separator.kind, "")


class SeparatorWidget(HeightForWidthWidget):
    """Text in the middle of a thin line."""

    def __init__(self, words: str, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = words
        self.look = look
        self.setAccessibleName(words)

    def restyle(self, look: Look) -> None:
        """Apply other colors."""
        self.look = look
        self.update()

    @override
    def fit(self, width: int) -> int:
        return _HEIGHT

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = self.look.palette
        width = QFontMetrics(self.look.caption_font).horizontalAdvance(self.words)
        middle = self.height() / 2
        left = (self.width() - width) / 2
        painter.setPen(QColor(colours.separator))
        painter.drawLine(QPointF(0, middle), QPointF(left - 12, middle))
        painter.drawLine(QPointF(left + width + 12, middle), QPointF(self.width(), middle))
        painter.setFont(self.look.caption_font)
        painter.setPen(QColor(colours.secondary_text))
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), self.words)
        painter.end()


class FailureBlock(Stack):
    """Title, detail and hint of a failed turn.

    Signals:
        again: Send the same message again.
        settings_wanted: Open the settings: a page, and a setting on it, or "" for either.
    """

    again = Signal()
    settings_wanted = Signal(str, str)

    def __init__(self, event: TurnFinished, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.event_shown = event
        self.look = look
        self.set_margins(QMargins(16, 10, 12, 10))
        self._words: list[LabelRow] = []
        self._fill()
        self.retry = ActionRow("Try again")
        self.retry.button.clicked.connect(self.again)
        page, key = setting_target_in(event.error_hint)
        if page or key:
            is_advice = key == MODEL_SETTING and MODEL_SETTING not in event.error_hint
            button = self.retry.add("Choose another model" if is_advice else "Open the settings")
            button.clicked.connect(lambda: self.settings_wanted.emit(page, key))
        self.add_row(self.retry, gap=10)

    def restyle(self, look: Look) -> None:
        """Apply other colors."""
        self.look = look
        for row in self._words:
            self.remove_row(row)
        self._fill()
        self.refit()

    def _fill(self) -> None:
        event = self.event_shown
        title = plain(event.error_title) or "The reply failed."
        semibold = scaled(self.look.text_font, 1.0, weight=QFont.Weight.DemiBold)
        self._words = [LabelRow(title, semibold, lambda p: p.error, self.look)]
        if event.error_detail:
            self._words.append(
                LabelRow(
                    plain(event.error_detail),
                    self.look.text_font,
                    lambda p: p.secondary_text,
                    self.look,
                )
            )
        if event.error_hint:
            self._words.append(
                LabelRow(plain(event.error_hint), self.look.text_font, lambda p: p.text, self.look)
            )
        for position, row in enumerate(self._words):
            self.add_row(row, gap=4, at=position)
        self.setAccessibleName(" ".join(row.label.text() for row in self._words))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.look.palette.code_background))
        painter.drawRoundedRect(self.rect(), RADIUS_BLOCK, RADIUS_BLOCK)
        painter.setBrush(QColor(self.look.palette.error))
        bar = self.rect().adjusted(0, 8, 0, -8)
        bar.setWidth(3)
        if self.isRightToLeft():
            bar.moveRight(self.rect().right())
        painter.drawRoundedRect(bar, 1.5, 1.5)
        painter.end()


def gap_between(before: Item | None, item: Item) -> int:
    """Return the gap above an item in pixels; smaller where an author continues without header."""
    if isinstance(item.widget, MessageWidget) and not item.widget.has_header:
        return CLOSE_GAP
    if before is not None and isinstance(item.widget, FailureBlock):
        return CLOSE_GAP
    return GAP
