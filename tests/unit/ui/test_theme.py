"""Both palettes can be read: every text on every ground it stands on."""

import pytest

from hermes_desktop.ui.widgets.notice_presenter import level_colour, strip_colour
from hermes_desktop.ui.widgets.theme import (
    TEXT_CONTRAST,
    Palette,
    contrast,
    make_palette,
    mix,
    qt_palette,
)

LIGHT, DARK = make_palette(dark=False), make_palette(dark=True)
PALETTES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == pytest.approx(1.0)


def test_mixing() -> None:
    assert mix("#ffffff", "#000000", 0.5) == "#808080"
    assert mix("#2f6fde", "#ffffff", 0.0) == "#ffffff"
    assert mix("#2f6fde", "#ffffff", 1.0) == "#2f6fde"


@PALETTES
@pytest.mark.parametrize("ground", ["base", "window", "raised", "user_block", "selection", "hover"])
def test_text_and_secondary_text_can_be_read(palette: Palette, ground: str) -> None:
    behind = getattr(palette, ground)
    assert contrast(palette.text, behind) >= 7
    assert contrast(palette.secondary_text, behind) >= TEXT_CONTRAST


@PALETTES
def test_code_can_be_read(palette: Palette) -> None:
    assert contrast(palette.text, palette.code_background) >= 7
    assert contrast(palette.secondary_text, palette.code_background) >= TEXT_CONTRAST


@PALETTES
@pytest.mark.parametrize("colour", ["accent", "warning", "error", "ok"])
def test_colours_with_a_meaning_can_be_read_as_text(palette: Palette, colour: str) -> None:
    assert contrast(getattr(palette, colour), palette.base) >= TEXT_CONTRAST


@PALETTES
@pytest.mark.parametrize("level", ["info", "ok", "warning", "error"])
def test_notices_can_be_read(palette: Palette, level: str) -> None:
    ground = strip_colour(palette, level)
    assert contrast(palette.text, ground) >= 7
    assert contrast(level_colour(palette, level), ground) >= 3.0  # a picture, beside words


@PALETTES
def test_text_on_the_accent_can_be_read(palette: Palette) -> None:
    assert contrast(palette.accent_text, palette.accent) >= TEXT_CONTRAST


@pytest.mark.parametrize("accent", ["#ffff00", "#00ff00", "#ffffff", "#000000", "#808080"])
@pytest.mark.parametrize("dark", [False, True])
def test_any_accent_of_the_system_is_made_readable(accent: str, *, dark: bool) -> None:
    palette = make_palette(dark=dark, accent=accent)
    assert contrast(palette.accent, palette.base) >= TEXT_CONTRAST
    assert contrast(palette.accent_text, palette.accent) >= TEXT_CONTRAST
    assert contrast(palette.text, palette.user_block) >= 7


def test_given_accents_are_kept() -> None:
    assert LIGHT.accent == "#2f6fde"
    assert DARK.accent == "#7aa8ff"


@PALETTES
def test_widgets_of_qt_get_the_same_colours(palette: Palette) -> None:
    roles = qt_palette(palette)
    assert roles.text().color().name() == palette.text
    assert roles.base().color().name() == palette.base
    assert roles.highlight().color().name() == palette.accent
    assert roles.placeholderText().color().name() == palette.secondary_text
