"""How this program was installed, and how that kind of installation is updated.

Nothing here changes an installation; the user runs the command.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

import hermes_desktop
from hermes_desktop.core.processes.app_image import own_app_image

Way = Literal["deb", "pipx", "uv", "pip", "appimage", "checkout", "other"]

NAME = "hermes-desktop"
_DPKG_LIST = Path("/var/lib/dpkg/info/hermes-desktop-qt.list")
_DEBIAN_FOLDER = PurePath("/usr/lib/hermes-desktop-qt")


@dataclass(frozen=True, slots=True)
class Traces:
    """What files and variables say about an installation.

    Attributes:
        package: The folder of the package.
        prefix: ``sys.prefix``, the environment that Python runs in.
        base_prefix: ``sys.base_prefix``; another than ``prefix`` in a virtual environment.
        python: The interpreter.
        appimage: The AppImage that the program runs from, "" for none.
        frozen: Whether the program is frozen into an executable.
        receipts: The names of files in ``prefix`` in which pipx and uv describe their work.
        listed_by_dpkg: Whether dpkg has a package of this name.
        project_file: Whether ``pyproject.toml`` is next to the package, as in the sources.
    """

    package: PurePath
    prefix: PurePath
    base_prefix: PurePath
    python: PurePath
    appimage: str = ""
    frozen: bool = False
    receipts: frozenset[str] = frozenset()
    listed_by_dpkg: bool = False
    project_file: bool = False


@dataclass(frozen=True, slots=True)
class Installation:
    """A kind of installation.

    Attributes:
        way: How the program was installed.
        update: How it is updated, as a sentence.
        command: The command for it, one line for a shell; "" where the sentence says it all.
    """

    way: Way
    update: str
    command: str = ""


def traces_here(environ: Mapping[str, str]) -> Traces:
    """Return the traces of the running program. Blocking: looks at a few files."""
    package = Path(hermes_desktop.__file__).resolve().parent
    prefix = Path(sys.prefix)
    receipts = ("uv-receipt.toml", "pipx_metadata.json")
    return Traces(
        package=package,
        prefix=prefix,
        base_prefix=Path(sys.base_prefix),
        python=Path(sys.executable),
        appimage=own_app_image(environ, sys.executable),
        frozen=bool(getattr(sys, "frozen", False)),
        receipts=frozenset(name for name in receipts if (prefix / name).is_file()),
        listed_by_dpkg=_DPKG_LIST.is_file(),
        project_file=(package.parent / "pyproject.toml").is_file(),
    )


def installation_of(traces: Traces) -> Installation:
    """Return the kind of an installation by its traces; ``other`` if they say nothing."""
    way = _way(traces)
    update, command = _UPDATES[way]
    name = traces.prefix.name or NAME
    return Installation(way, update, command.format(name=name, python=_quoted(traces.python)))


def _way(traces: Traces) -> Way:
    signs: tuple[tuple[bool, Way], ...] = (
        (bool(traces.appimage), "appimage"),
        (traces.listed_by_dpkg and traces.package.is_relative_to(_DEBIAN_FOLDER), "deb"),
        (traces.frozen, "other"),
        (traces.project_file, "checkout"),
        ("uv-receipt.toml" in traces.receipts, "uv"),
        ("pipx_metadata.json" in traces.receipts, "pipx"),
        (traces.prefix != traces.base_prefix, "pip"),
    )
    return next((way for found, way in signs if found), "other")


_PAGE_HAS_IT = "The release page says how to update."
_UPDATES: Mapping[Way, tuple[str, str]] = {
    "deb": (
        "Download the new package from the release page, then install it in a terminal:",
        "sudo apt install ./hermes-desktop-qt_*.deb",
    ),
    "pipx": ("Run this in a terminal:", "pipx upgrade {name}"),
    "uv": ("Run this in a terminal:", "uv tool upgrade {name}"),
    "pip": ("Run this in a terminal:", "{python} -m pip install --upgrade hermes-desktop"),
    "appimage": ("Download the new AppImage from the release page and replace the old file.", ""),
    "checkout": (
        "This is a checkout of the sources. Run this in its folder:",
        "git pull && {python} -m pip install --editable .",
    ),
    "other": (_PAGE_HAS_IT, ""),
}


def _quoted(program: PurePath) -> str:
    """Return a path as one word of a shell."""
    text = str(program)
    if os.name == "nt":
        return f'"{text}"' if " " in text else text
    from shlex import quote  # noqa: PLC0415 - needed only for a notice

    return quote(text)
