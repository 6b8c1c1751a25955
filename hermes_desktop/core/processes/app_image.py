"""The AppImage that this program runs from."""

from collections.abc import Mapping
from pathlib import PurePath


def own_app_image(environ: Mapping[str, str], executable: str) -> str:
    """Return the path of the AppImage that this program runs from; "" if it runs from none.

    A program that was started in a terminal of an editor from an AppImage inherits that editor's
    variables. Ours is the one that holds the interpreter.

    Args:
        environ: The process environment. The runtime of an AppImage sets ``APPIMAGE``, its file,
            and ``APPDIR``, the folder where it is mounted.
        executable: ``sys.executable``.
    """
    image, mounted = (environ.get(name, "").strip() for name in ("APPIMAGE", "APPDIR"))
    is_mounted = PurePath(mounted).is_absolute() and PurePath(mounted).name != ""
    holds_us = is_mounted and PurePath(executable).is_relative_to(mounted)
    return image if holds_us and PurePath(image).is_absolute() else ""
