"""Version numbers: their order, and the version of this program that is installed on the disk."""

import re
from pathlib import Path

_VERSION = re.compile(
    r"(?P<numbers>[0-9]{1,6}(?:\.[0-9]{1,6}){0,3})"
    r"(?:(?P<stage>a|b|rc)(?P<step>[0-9]{1,6}))?(?:\.dev(?P<dev>[0-9]{1,6}))?"
)
_STAGES = {"a": 0, "b": 1, "rc": 2, None: 3}
_DEVELOPED = 10**6
"""Sorts a finished version behind all of its development versions."""
_FILES = "hermes_desktop-*.dist-info/METADATA"
_METADATA = re.compile(r"hermes_desktop-(?P<version>[^-]+)\.dist-info")

Order = tuple[tuple[int, ...], int, int, int]


def order_of(version: str) -> Order | None:
    """Return the place of a version in the order of all versions; None if it is not one.

    Versions have one to four numbers, then perhaps ``a1``, ``b1`` or ``rc1``, then ``.dev1``.
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    numbers = [int(number) for number in found["numbers"].split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    dev = _DEVELOPED if found["dev"] is None else int(found["dev"])
    stage = _STAGES[found["stage"]]
    if found["stage"] is None and found["dev"] is not None:
        stage = -1  # 1.0.dev1 comes before 1.0a1
    return tuple(numbers), stage, int(found["step"] or 0), dev


def is_newer(version: str, than: str) -> bool:
    """Return whether a version comes after another; False if either is invalid."""
    mine, other = order_of(version), order_of(than)
    return mine is not None and other is not None and mine > other


def installed_instead(folder: Path, running: str) -> str:
    """Return the version on the disk that replaced the running one. Blocking, one listing.

    Args:
        folder: The folder that contains the package; an installer puts its metadata there.
        running: The running version.

    Returns:
        "" if the running version is still installed, or where the disk does not say one thing:
        in a checkout, and in the middle of an installation.
    """
    try:
        entries = [_METADATA.fullmatch(each.parent.name) for each in folder.glob(_FILES)]
    except OSError:
        return ""
    versions = [found["version"] for found in entries if found is not None]
    if len(versions) != 1 or order_of(versions[0]) in {None, order_of(running)}:
        return ""
    return versions[0]
