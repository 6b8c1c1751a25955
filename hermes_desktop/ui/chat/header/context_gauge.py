"""The context gauge of the shown session: a text, and the same value as four bars."""

import math

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from hermes_desktop.core.events import ContextUsed
from hermes_desktop.ui.chat.header.context_text import (
    is_near,
    share_of,
    strip_words,
    tip_words,
    whole_words,
)
from hermes_desktop.ui.widgets.row_painting import draw_text
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, Theme

_BARS = 4
_BAR = 8
_BAR_HEIGHT = 10
_BETWEEN = 3


class ContextGauge(QWidget):
    """The context gauge; hidden while the usage is unknown."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._used: ContextUsed | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        theme.changed.connect(self.update)
        self.hide()

    @property
    def words(self) -> str:
        """The shown text, "" while hidden."""
        return strip_words(self._used) if self._used is not None else ""

    def show_used(self, used: ContextUsed | None) -> None:
        """Show the context usage; None hides the gauge."""
        if used == self._used:
            return
        self._used = used
        self.setVisible(used is not None)
        if used is not None:
            self.setToolTip(tip_words(used))
            self.setAccessibleName(self.tr("Context: {}").format(whole_words(used)))
            self.updateGeometry()
            self.update()

    @override
    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        # Rounded up, because a width that is rounded down cuts off the last letter.
        words = math.ceil(QFontMetricsF(self.font()).horizontalAdvance(self.words)) + 1
        width = words + 2 * SPACE_8
        return QSize(width + self._picture_width(), metrics.height() + SPACE_4)

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if self._used is None:
            return
        painter = QPainter(self)
        colours = self._theme.palette
        near = is_near(self._used)
        painter.setPen(QColor(colours.warning if near else colours.secondary_text))
        place = self.rect().adjusted(SPACE_8, 0, -SPACE_8, 0)
        draw_text(painter, place, self.words, self.layoutDirection())
        share = share_of(self._used)
        if share is not None:
            colour = colours.warning if near else colours.accent
            self._draw_bars(painter, share, QColor(colour))
        painter.end()

    def _draw_bars(self, painter: QPainter, share: float, colour: QColor) -> None:
        ground = QColor(self._theme.palette.text)
        ground.setAlphaF(0.16)
        top = (self.height() - _BAR_HEIGHT) / 2
        start = self.width() - SPACE_8 - (_BARS * (_BAR + _BETWEEN) - _BETWEEN)
        right_to_left = self.isRightToLeft()
        for number in range(_BARS):
            filled = min(max(share * _BARS - number, 0.0), 1.0)
            x = start + number * (_BAR + _BETWEEN)
            if right_to_left:
                x = self.width() - x - _BAR
            painter.fillRect(QRectF(x, top, _BAR, _BAR_HEIGHT), ground)
            wide = _BAR * filled
            left = x + _BAR - wide if right_to_left else x
            painter.fillRect(QRectF(left, top, wide, _BAR_HEIGHT), colour)

    def _picture_width(self) -> int:
        if self._used is None or share_of(self._used) is None:
            return 0
        return _BARS * (_BAR + _BETWEEN) - _BETWEEN + SPACE_8
