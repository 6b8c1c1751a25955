"""The AppStream metainfo, which software centers show."""

from xml.etree import ElementTree as ET

from hermes_desktop.core.desktop_id import DESKTOP_ID
from linux.facts import (
    CATEGORIES,
    COMMAND,
    DESCRIPTION,
    DEVELOPER,
    FEATURES,
    KEYWORDS,
    LICENSE,
    NAME,
    SUMMARY,
    Release,
)


def metainfo(release: Release) -> str:
    """Return the file.

    It names no screenshots and no home page: both need an address, and the project has published
    none. The pictures are in ``resources/screenshots``.
    """
    root = ET.Element("component", type="desktop-application")
    for tag, text in (
        ("id", DESKTOP_ID),
        ("metadata_license", LICENSE),
        ("project_license", LICENSE),
        ("name", NAME),
        ("summary", SUMMARY),
        ("developer_name", DEVELOPER),
    ):
        ET.SubElement(root, tag).text = text
    root.append(_description())
    ET.SubElement(root, "launchable", type="desktop-id").text = f"{DESKTOP_ID}.desktop"
    ET.SubElement(root, "icon", type="stock").text = DESKTOP_ID
    root.append(_list("categories", "category", CATEGORIES))
    root.append(_list("keywords", "keyword", KEYWORDS))
    root.append(_list("provides", "binary", (COMMAND,)))
    root.append(_list("supports", "control", ("keyboard", "pointing")))
    _colors(root)
    rating = ET.SubElement(root, "content_rating", type="oars-1.1")
    ET.SubElement(rating, "content_attribute", id="social-chat").text = "intense"
    releases = ET.SubElement(root, "releases")
    ET.SubElement(
        releases, "release", version=release.version, date=release.date, type="development"
    )
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _description() -> ET.Element:
    element = ET.Element("description")
    for paragraph in DESCRIPTION:
        ET.SubElement(element, "p").text = paragraph
    element.append(_list("ul", "li", FEATURES))
    return element


def _colors(root: ET.Element) -> None:
    branding = ET.SubElement(root, "branding")
    for scheme, color in (("light", "#4a86ee"), ("dark", "#2459bd")):  # of the icon's ground
        ET.SubElement(branding, "color", type="primary", scheme_preference=scheme).text = color


def _list(tag: str, item: str, texts: tuple[str, ...]) -> ET.Element:
    element = ET.Element(tag)
    for text in texts:
        ET.SubElement(element, item).text = text
    return element
