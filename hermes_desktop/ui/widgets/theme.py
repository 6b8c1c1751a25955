"""Colors, spacing and fonts; follows the system between light and dark while the program runs.

Widgets keep the platform's own drawing: colors reach them through ``QPalette``, and only what a
palette cannot express (a rounded block, a strip) uses the values here.
"""

import sys
from dataclasses import dataclass
from typing import Any, Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

ColorScheme = Literal["system", "light", "dark"]

SPACE_4 = 4
SPACE_8 = 8
SPACE_12 = 12
SPACE_16 = 16
SPACE_24 = 24
RADIUS_BLOCK = 8
RADIUS_BUTTON = 6
TEXT_CONTRAST = 4.5
"""Minimum contrast ratio between text and its background."""

_FUSION_HIGHLIGHT = "#308cc6"
_SECONDARY_SHARE = 0.70
_SEPARATOR_SHARE = 0.12
_OUTLINE_SHARE = 0.62
# Strings, although PySide6's type stubs ask for bytes.
_OUTLINED: Any = ("QLineEdit", "QCheckBox", "QComboBox", "QPlainTextEdit", "QPushButton")


@dataclass(frozen=True, slots=True)
class Palette:
    """Every color the program uses, as ``#rrggbb``.

    Attributes:
        dark: Whether text is lighter than its background.
        base: Behind the list and the transcript.
        window: Behind the rail, the strips and dialogs.
        raised: Behind buttons and menus.
        text: Text on any of the three above.
        secondary_text: Previews, times, captions.
        disabled_text: Disabled controls (not meant to be read at full contrast).
        separator: One-pixel lines.
        accent: Links, the running dot, the focus ring; readable as text on ``base``.
        accent_text: Text on an accent background.
        warning: Text and icon of a warning. ``error`` and ``ok`` likewise.
        user_block: Behind the user's messages.
        code_background: Behind code.
        selection: Behind the selected row, whose text stays ``text``.
        hover: Behind the row under the pointer.
    """

    dark: bool
    base: str
    window: str
    raised: str
    text: str
    secondary_text: str
    disabled_text: str
    separator: str
    accent: str
    accent_text: str
    warning: str
    error: str
    ok: str
    user_block: str
    code_background: str
    selection: str
    hover: str


def mix(over: str, under: str, share: float) -> str:
    """Blend ``share`` (0 to 1) of one color over another."""
    top, bottom = _channels(over), _channels(under)
    values = (round(a * share + b * (1 - share)) for a, b in zip(top, bottom, strict=True))
    return "#" + "".join(f"{value:02x}" for value in values)


def contrast(one: str | QColor, other: str | QColor) -> float:
    """Return the contrast ratio of two opaque colors as WCAG 2 defines it, 1 to 21."""
    bright, dim = sorted((_luminance(_name(one)), _luminance(_name(other))), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def make_palette(*, dark: bool, accent: str | None = None) -> Palette:
    """Derive all colors from a few.

    Args:
        dark: Whether to use light text on a dark base.
        accent: The system's highlight color, if it has one; its brightness is adjusted until it is
            readable as text.
    """
    base, window, raised, text = (
        ("#1e1f22", "#18191b", "#2a2c30", "#e8e8ea")
        if dark
        else ("#ffffff", "#f4f4f6", "#ffffff", "#1c1d20")
    )
    chosen = _readable(accent or ("#7aa8ff" if dark else "#2f6fde"), base, dark=dark)
    white_fits = contrast("#ffffff", chosen) >= TEXT_CONTRAST
    return Palette(
        dark=dark,
        base=base,
        window=window,
        raised=raised,
        text=text,
        secondary_text=mix(text, base, _SECONDARY_SHARE),
        disabled_text=mix(text, base, 0.45),
        separator=mix(text, base, _SEPARATOR_SHARE),
        accent=chosen,
        accent_text="#ffffff" if white_fits else "#101114",
        warning="#ffb454" if dark else "#b25e00",
        error="#ff8a80" if dark else "#c62828",
        ok="#6fd39b" if dark else "#1b7f4b",
        user_block=mix(chosen, base, 0.10),
        code_background=mix(text, base, 0.05),
        selection=mix(chosen, base, 0.22 if dark else 0.14),
        hover=mix(text, base, 0.05),
    )


def qt_palette(palette: Palette) -> QPalette:
    """Return the same colors in the roles that Qt's own widgets use."""
    roles = QPalette.ColorRole
    colours = {
        roles.Window: palette.window,
        roles.WindowText: palette.text,
        roles.Base: palette.base,
        roles.AlternateBase: palette.window,
        roles.Text: palette.text,
        roles.PlaceholderText: palette.secondary_text,
        roles.Button: palette.raised,
        roles.ButtonText: palette.text,
        roles.BrightText: palette.error,
        roles.ToolTipBase: palette.raised,
        roles.ToolTipText: palette.text,
        roles.Highlight: palette.accent,
        roles.HighlightedText: palette.accent_text,
        roles.Accent: palette.accent,
        roles.Link: palette.accent,
        roles.LinkVisited: palette.accent,
        roles.Light: mix("#ffffff", palette.raised, 0.10 if palette.dark else 0.60),
        roles.Midlight: mix(palette.text, palette.raised, 0.06),
        roles.Mid: mix(palette.text, palette.window, 0.22),
        roles.Dark: mix(palette.text, palette.window, 0.30),
        roles.Shadow: "#000000",
    }
    result = QPalette()
    for role, colour in colours.items():
        result.setColor(role, QColor(colour))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(palette.disabled_text))
    return result


class Theme(QObject):
    """The current palette, applied to the application. Main thread only.

    Args:
        app: Receives the ``QPalette`` and, on Linux, the Fusion style.
        scheme: ``system`` follows the desktop; the other two are fixed.
    """

    changed = Signal()

    def __init__(self, app: QApplication, scheme: ColorScheme = "system") -> None:
        super().__init__(app)
        self.app = app
        self._scheme: ColorScheme = scheme
        self._accent = _system_accent(app)
        if sys.platform.startswith("linux"):
            app.setStyle(QStyleFactory.create("Fusion"))
        self._palette = make_palette(dark=_is_dark(app, scheme), accent=self._accent)
        self._paint_app()
        app.styleHints().colorSchemeChanged.connect(self._refresh)

    @property
    def palette(self) -> Palette:
        """The palette to draw with now."""
        return self._palette

    @property
    def scheme(self) -> ColorScheme:
        """The requested color scheme."""
        return self._scheme

    def set_scheme(self, scheme: ColorScheme) -> None:
        """Request another scheme and apply it immediately."""
        self._scheme = scheme
        self._refresh()

    def _paint_app(self) -> None:
        """Apply the palette; on a dark one, give fields lighter outlines.

        Fusion draws outlines in a shade of the window color, which is invisible on a dark one.
        Setting the palette for the whole application discards the palettes of single widget
        classes.
        """
        self.app.setPalette(qt_palette(self._palette))
        if self._palette.dark:
            fields = qt_palette(self._palette)
            shade = mix(self._palette.text, self._palette.window, _OUTLINE_SHARE)
            fields.setColor(QPalette.ColorRole.Window, QColor(shade))
            for kind in _OUTLINED:
                self.app.setPalette(fields, kind)

    def _refresh(self) -> None:
        palette = make_palette(dark=_is_dark(self.app, self._scheme), accent=self._accent)
        if palette != self._palette:
            self._palette = palette
            self._paint_app()
            self.changed.emit()


def fixed_font(app_font: QFont | None = None) -> QFont:
    """Return the system's monospaced font, in the size of the text around it."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    size = (app_font or QApplication.font()).pointSizeF()
    if size > 0:
        font.setPointSizeF(size)
    return font


def _is_dark(app: QApplication, scheme: ColorScheme) -> bool:
    if scheme == "system":
        return app.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return scheme == "dark"


def _system_accent(app: QApplication) -> str | None:
    """Return the desktop's highlight color, None where Qt only has its own default."""
    colour = app.palette().color(QPalette.ColorRole.Highlight)
    known_default = colour.name() == _FUSION_HIGHLIGHT
    return None if known_default or not colour.isValid() else colour.name()


def _readable(colour: str, base: str, *, dark: bool) -> str:
    """Move a color towards the text's side until it is readable on the base."""
    towards = "#ffffff" if dark else "#000000"
    for step in range(20):
        candidate = mix(towards, colour, step * 0.05)
        if contrast(candidate, base) >= TEXT_CONTRAST:
            return candidate
    return towards


def _name(colour: str | QColor) -> str:
    return colour.name() if isinstance(colour, QColor) else colour


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(channel / 255) for channel in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    if channel <= 0.04045:  # noqa: PLR2004 - the knee of the sRGB curve
        return channel / 12.92
    return float(((channel + 0.055) / 1.055) ** 2.4)
