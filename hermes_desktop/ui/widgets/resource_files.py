"""Files that ship with the program, and icons drawn in the colors of the palette."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from hermes_desktop.core.files.shipped_files import shipped_path as resource_path
from hermes_desktop.ui.widgets.theme import Palette

ICON_SIZE = 20
"""Edge of an icon in a button, in device-independent pixels."""

_RATIOS = (1.0, 2.0)


def icon(name: str, palette: Palette) -> QIcon:
    """Return an icon for buttons and menus.

    Args:
        name: File name under ``resources/icons`` without its suffix.
        palette: Gives the colors of the normal, the checked and the disabled state.
    """
    return _icon(name, palette.secondary_text, palette.text, palette.disabled_text)


def tinted_icon(name: str, colour: str) -> QIcon:
    """Return an icon of one color in every state."""
    return _icon(name, colour, colour, colour)


@lru_cache(maxsize=512)
def pixmap(name: str, colour: str, size: int, ratio: float = 1.0) -> QPixmap:
    """Draw an icon for a delegate or a label.

    Args:
        name: File name without its suffix.
        colour: ``#rrggbb``; replaces ``currentColor`` in the file.
        size: Edge in device-independent pixels.
        ratio: Device pixels per device-independent pixel.
    """
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))
    edge = round(size * ratio)
    result = QPixmap(edge, edge)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    renderer.render(painter, QRectF(0, 0, edge, edge))
    painter.end()
    result.setDevicePixelRatio(ratio)
    return result


def plain_icon(name: str, sizes: tuple[int, ...] = (16, 22, 24, 32, 48, 64)) -> QIcon:
    """Return an icon in the file's own colors (tray, window), with a pixmap of each size."""
    result = QIcon()
    for size in sizes:
        result.addPixmap(pixmap(name, "#ffffff", size))
    return result


@lru_cache(maxsize=256)
def _icon(name: str, normal: str, checked: str, disabled: str) -> QIcon:
    result = QIcon()
    states = (
        (QIcon.Mode.Normal, QIcon.State.Off, normal, (16, 20, 24)),
        (QIcon.Mode.Active, QIcon.State.Off, checked, (20,)),
        (QIcon.Mode.Normal, QIcon.State.On, checked, (20,)),
        (QIcon.Mode.Selected, QIcon.State.Off, checked, (20,)),
        (QIcon.Mode.Disabled, QIcon.State.Off, disabled, (20,)),
    )
    for mode, state, colour, sizes in states:
        for size in sizes:
            for ratio in _RATIOS:
                result.addPixmap(pixmap(name, colour, size, ratio), mode, state)
    return result


@lru_cache(maxsize=128)
def _source(name: str) -> str:
    return resource_path("icons", f"{name}.svg").read_text(encoding="utf-8")


def icon_size() -> QSize:
    """Return the size of icons in buttons."""
    return QSize(ICON_SIZE, ICON_SIZE)
