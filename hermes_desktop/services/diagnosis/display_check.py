"""The check for a display and Qt's libraries before Qt is loaded: it aborts without them.

This module does not import Qt.
"""

import ctypes
import os
import socket
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from hermes_desktop.core.errors import HermesError

_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
_ALL_PACKAGES = (
    "libegl1 libgl1 libfontconfig1 libglib2.0-0 libdbus-1-3 libxkbcommon-x11-0 libxcb-cursor0"
    " libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0"
    " libxcb-xkb1"
)
_NO_SCREEN_HINT = (
    "Start it inside a desktop session, or under a virtual screen: `xvfb-run hermes-desktop`"
    " (Debian packages xvfb and xauth). Without either, `--demo --screenshot demo.png` paints the"
    " window into a file, and the commands work: `hermes-desktop sessions list`."
)


class NoDisplayError(HermesError):
    """There is no display to show a window on, or a library for it is missing."""

    exit_code: ClassVar[int] = 3


def check_display(environ: Mapping[str, str], platform: str = sys.platform) -> None:
    """Make sure that a window can be shown.

    Args:
        environ: The process environment.
        platform: ``sys.platform``; only Linux needs the check.

    Raises:
        NoDisplayError: No display is configured, the display does not respond, or a system library
            of Qt's is missing; the hint says what to do.
    """
    if not platform.startswith("linux"):
        return
    wanted = environ.get("QT_QPA_PLATFORM", "").split(":")[0].split(";")[0]
    if wanted and not wanted.startswith(("xcb", "wayland")):
        return
    if not wanted.startswith("xcb") and _wayland_answers(environ):
        return
    display = environ.get("DISPLAY", "")
    if not display:
        raise _no_screen(environ)
    _check_x_server(display)
    _check_x_plugin()


def missing_library(error: ImportError | OSError) -> NoDisplayError:
    """Return the error for a library that the loader did not find while Qt was imported."""
    text = str(error)
    name = next((library for library in _PACKAGES if library in text), "")
    packages = _PACKAGES.get(name, _ALL_PACKAGES)
    return NoDisplayError(
        "A system library that the window needs is missing.",
        text,
        f"On Debian or Ubuntu: `sudo apt-get install {packages}`.",
    )


def _no_screen(environ: Mapping[str, str]) -> NoDisplayError:
    named = environ.get("WAYLAND_DISPLAY", "")
    detail = (
        f"The Wayland display {named} does not respond, and DISPLAY is not set."
        if named
        else "Neither DISPLAY nor WAYLAND_DISPLAY is set."
    )
    return NoDisplayError("There is no display to show a window on.", detail, _NO_SCREEN_HINT)


def _wayland_answers(environ: Mapping[str, str]) -> bool:
    name = environ.get("WAYLAND_DISPLAY", "")
    if not name:
        return False
    path = Path(environ.get("XDG_RUNTIME_DIR", "/")) / name
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _check_x_server(display: str) -> None:
    """Connect to the X server as Qt will, with authorization; Qt itself would abort."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError as error:
        raise missing_library(error) from error
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(os.fsencode(display), None)
    failed = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    if failed:
        raise NoDisplayError(
            "There is no display to show a window on.",
            f"The X server {display}, set by DISPLAY, refuses the connection or is not running.",
            _NO_SCREEN_HINT,
        )


def _check_x_plugin() -> None:
    """Load Qt's plugin for X, whose libraries are otherwise only loaded when Qt needs them."""
    package = find_spec("PySide6")
    if package is None or package.origin is None:
        return
    plugin = Path(package.origin).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    if not plugin.is_file():
        return
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        raise missing_library(error) from error
