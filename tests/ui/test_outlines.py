"""Fields, ticks and buttons can be seen where they are, on a dark ground, too."""

import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QPlainTextEdit, QWidget

from hermes_desktop.ui.widgets.theme import Theme, contrast


def _edge(widget: QWidget, ground: QColor) -> float:
    """The greatest contrast with the ground in the middle row of a widget."""
    image = widget.grab().toImage()
    row = image.height() // 2
    pixels = (image.pixelColor(x, row) for x in range(min(16, image.width())))
    return max(contrast(pixel, ground) for pixel in pixels)


@pytest.mark.parametrize("kind", [QLineEdit, QPlainTextEdit, QCheckBox])
def test_an_empty_field_has_an_edge_in_the_dark(
    qapp: QApplication, theme: Theme, kind: type[QWidget]
) -> None:
    theme.set_scheme("dark")
    widget = kind()
    widget.resize(200, 40)
    assert _edge(widget, QColor(theme.palette.base)) >= 3.0
    theme.set_scheme("light")
    window = QApplication.palette(widget).color(QPalette.ColorRole.Window)
    assert window == QColor(theme.palette.window)
    widget.deleteLater()
