"""Slim scroll bars for the list and the transcript, in the colors of the theme."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QAbstractScrollArea, QScrollBar

from hermes_desktop.ui.widgets.theme import Palette, Theme, mix

_SHEET = """
QScrollBar:vertical {{ background: {ground}; width: 12px; margin: 0; border: none; }}
QScrollBar:horizontal {{ background: {ground}; height: 12px; margin: 0; border: none; }}
QScrollBar::handle {{ background: {rest}; border-radius: 3px; margin: 3px; }}
QScrollBar::handle:vertical {{ min-height: 32px; }}
QScrollBar::handle:horizontal {{ min-width: 32px; }}
QScrollBar::handle:hover, QScrollBar::handle:pressed {{ background: {grasped}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; border: none; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
"""


def make_slim(area: QAbstractScrollArea, theme: Theme, *, ground: str = "base") -> None:
    """Give both bars of a scroll area the slim style, now and whenever the theme changes.

    Only the bars get a style sheet; everything inside the area keeps the native style.

    Args:
        area: The scroll area.
        theme: Colors.
        ground: Name of the palette's color behind the area.
    """
    for bar in (area.verticalScrollBar(), area.horizontalScrollBar()):
        _Colouring(bar, theme, ground)


def scroll_bar_sheet(palette: Palette, ground: str = "base") -> str:
    """Return the style sheet of a slim bar."""
    return _SHEET.format(
        ground=getattr(palette, ground),
        rest=mix(palette.text, palette.base, 0.24),
        grasped=mix(palette.text, palette.base, 0.45),
    )


class _Colouring(QObject):
    """A helper owned by its bar, so that the theme never calls a deleted bar."""

    def __init__(self, bar: QScrollBar, theme: Theme, ground: str) -> None:
        super().__init__(bar)
        self._bar = bar
        self._ground = ground
        self._theme = theme
        theme.changed.connect(self.colour)
        self.colour()

    def colour(self) -> None:
        """Apply the colors of the current palette."""
        self._bar.setStyleSheet(scroll_bar_sheet(self._theme.palette, self._ground))
