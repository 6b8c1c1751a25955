"""The ``copyright`` file: licenses of the program and of everything it carries."""

from collections.abc import Sequence

from licenses import Licensed
from linux.facts import CHECKOUT, DISCLAIMER

_COMMON = (  # texts that every Debian system has, and that packages must not repeat
    ("GNU LESSER GENERAL PUBLIC LICENSE", "/usr/share/common-licenses/LGPL-3"),
    ("GNU GENERAL PUBLIC LICENSE", "/usr/share/common-licenses/GPL-3"),
)
_QT = """\
The libraries of Qt contain code of other authors under permissive licenses, which
https://doc.qt.io/qt-6/licenses-used-in-qt.html lists. They are separate files and may be replaced.
Their source code is at https://download.qt.io and https://code.qt.io.
"""


def copyright_file(carried: Sequence[Licensed]) -> str:
    """Return the text; a license that Debian provides is referred to."""
    text = [f"Hermes Desktop\n{DISCLAIMER}\n", (CHECKOUT / "LICENSE").read_text(encoding="utf-8")]
    if any(each.name == "pyside6-essentials" for each in carried):
        text.append(_QT)
    for each in carried:
        if each.name == "hermes-desktop":
            continue
        text.append(f"{'-' * 72}\n{each.name} {each.version}: {each.expression}\n")
        text += [_shown(each, name) for name in each.texts]
    return "\n".join(text)


def _shown(licensed: Licensed, name: str) -> str:
    content = licensed.texts[name]
    for title, place in _COMMON:
        if title in content[:400]:
            return f"See {place}\n"
    return content
