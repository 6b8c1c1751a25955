"""The icon in the sizes that desktops look for, and its symbolic form."""

from pathlib import Path
from xml.etree import ElementTree as ET

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from linux.facts import CHECKOUT

SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
_ICONS = CHECKOUT / "resources" / "icons"
_SVG = "{http://www.w3.org/2000/svg}"


def scalable_icon() -> bytes:
    """Return the icon as it was drawn."""
    return _drawn("hermes-desktop").read_bytes()


def symbolic_icon() -> str:
    """Return the mark as a filled shape, because GTK recolors fills and no strokes."""
    path = ET.fromstring(_drawn("mark").read_text(encoding="utf-8")).find(f"{_SVG}path")
    if path is None:
        raise SystemExit("resources/icons/mark.svg has no path.")
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">\n'
        f'  <path fill="#2e3436" d="{path.attrib["d"]}"/>\n'
        "</svg>\n"
    )


def icon_png(size: int) -> bytes:
    """Return the icon as PNG, drawn for this size in pixels."""
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(scalable_icon())).render(painter)
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs know str only
    return bytes(data.data())


def _drawn(name: str) -> Path:
    return _ICONS / f"{name}.svg"
