"""Colors and fonts of the transcript, passed from the view to everything in it."""

from dataclasses import dataclass

from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from hermes_desktop.ui.widgets.highlight import TokenKind
from hermes_desktop.ui.widgets.theme import Palette, fixed_font

CODE = 0.95
"""Font size of code, as a share of the text's."""

SMALL = 0.9
"""Font size of captions, as a share of the text's."""

_LIGHT_CODE: dict[TokenKind, str] = {
    "keyword": "#7a3e9d",
    "string": "#2f6f3e",
    "number": "#9a4a00",
    "comment": "#6a6f76",
    "name": "#1f5fae",
    "added": "#1b7f4b",
    "removed": "#b3261e",
    "heading": "#1f5fae",
}
_DARK_CODE: dict[TokenKind, str] = {
    "keyword": "#c9a0f0",
    "string": "#9bd5a4",
    "number": "#f0b27a",
    "comment": "#969ca5",
    "name": "#8ab8f5",
    "added": "#6fd39b",
    "removed": "#ff8a80",
    "heading": "#8ab8f5",
}


@dataclass(frozen=True, slots=True)
class Look:
    """Colors and fonts that decide how a message is drawn."""

    palette: Palette
    text_font: QFont
    code_font: QFont
    caption_font: QFont

    @classmethod
    def of(cls, palette: Palette) -> "Look":
        """Return the colors of a palette with the application's fonts."""
        text = QFont(QApplication.font())
        return cls(palette, text, scaled(fixed_font(text), CODE), scaled(text, SMALL))

    def code_colour(self, kind: TokenKind) -> QColor:
        """Return the color of one kind of token."""
        return QColor((_DARK_CODE if self.palette.dark else _LIGHT_CODE)[kind])


def scaled(font: QFont, share: float, *, weight: QFont.Weight | None = None) -> QFont:
    """Return a copy of a font in another size."""
    result = QFont(font)
    if font.pointSizeF() > 0:
        result.setPointSizeF(font.pointSizeF() * share)
    else:
        result.setPixelSize(max(round(font.pixelSize() * share), 1))
    if weight is not None:
        result.setWeight(weight)
    return result


def tint(widget: QWidget, colour: str) -> None:
    """Set the color of a widget's own text."""
    palette = widget.palette()
    # Which role draws a label's text depends on the background role of its parent.
    roles = QPalette.ColorRole
    for role in (roles.WindowText, roles.ButtonText, roles.Text):
        palette.setColor(role, QColor(colour))
    widget.setPalette(palette)
