"""Licenses of the distributions that a bundle carries, read from what they brought."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from pathlib import Path

_TEXTS = Path(__file__).resolve().parent / "licenses"
_NAMES = re.compile(r"(licen[cs]e|copying|notice)", re.IGNORECASE)
_OF_CLASSIFIERS = {
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_WITHOUT_TEXT = {  # the wheels name their license, but contain no text
    # The first one builds on the second; the wheel contains ICU, too.
    "pyside6-essentials": ("LGPL-3.0-only", "GPL-3.0-only", "ICU"),
    "shiboken6": ("LGPL-3.0-only", "GPL-3.0-only"),
}
_OTHER = re.compile(r"\bOR\b")


@dataclass(frozen=True)
class Licensed:
    """One distribution of a bundle.

    Attributes:
        name: Its normalized name.
        version: Its version.
        expression: Its license, as an SPDX expression where it says so; "" if unknown.
        texts: The license texts by file name.
    """

    name: str
    version: str
    expression: str
    texts: dict[str, str]


def licenses_in(packages: Path) -> list[Licensed]:
    """Return the distributions in a ``site-packages`` folder, by name."""
    return sorted(map(_licensed, packages.glob("*.dist-info")), key=lambda each: each.name)


def add_missing_texts(packages: Path) -> None:
    """Add the texts that known wheels lack to their distributions in ``site-packages``."""
    for info in packages.glob("*.dist-info"):
        for name in _WITHOUT_TEXT.get(info.name.partition("-")[0].replace("_", "-"), ()):
            file = info / "licenses" / f"{name}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes((_TEXTS / file.name).read_bytes())


def objections(bundle: Iterable[Licensed]) -> list[str]:
    """Return why a bundle may not be handed out, one line per distribution; [] if it may."""
    found = []
    for each in bundle:
        if not each.expression:
            found.append(f"{each.name}: its license is unknown")
        elif only_gpl(each.expression):
            found.append(f"{each.name}: {each.expression} would extend to the program")
        if not each.texts:
            found.append(f"{each.name}: it brings no license text")
    return found


def only_gpl(expression: str) -> bool:
    """Return whether every choice that a license leaves is a GPL, other than the Lesser GPL."""
    choices = _OTHER.split(expression)
    return all(re.search(r"(?<!L)\b[AS]?GPL|GNU General", choice) is not None for choice in choices)


def _licensed(info: Path) -> Licensed:
    metadata = message_from_string((info / "METADATA").read_text(encoding="utf-8"))
    name = re.sub(r"[-_.]+", "-", metadata["Name"]).lower()
    texts = {
        file.relative_to(info).as_posix(): file.read_text(encoding="utf-8", errors="replace")
        for file in sorted(info.rglob("*"))
        if file.is_file() and _NAMES.search(file.relative_to(info).as_posix())
    }
    return Licensed(name, metadata["Version"], _expression(metadata), texts)


def _expression(metadata: Message) -> str:
    stated = metadata["License-Expression"] or metadata["License"]
    if stated and "\n" not in stated:
        return str(stated)
    for classifier in metadata.get_all("Classifier", []):
        group, _, name = classifier.rpartition(" :: ")
        if group.startswith("License"):
            return _OF_CLASSIFIERS.get(name, name)
    return ""
