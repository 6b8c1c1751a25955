"""Detection of links whose text names another target than their address."""

import re
from urllib.parse import urlsplit

_PLACE = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?((?:[\w-]+\.)+[^\W\d_]{2,}|\d+(?:\.\d+){3})", re.IGNORECASE
)


def is_misleading(shown: str, address: str) -> bool:
    """Return whether the text of a link looks like the address of another host or user.

    Args:
        shown: The text.
        address: The target of the link.
    """
    words = shown.strip()
    if words.startswith("@"):
        return True
    found = _PLACE.match(words)
    if found is None:
        return False
    return _host(found[1]) != _host(_host_of(address))


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _host(name: str) -> str:
    return name.lower().removeprefix("www.")
