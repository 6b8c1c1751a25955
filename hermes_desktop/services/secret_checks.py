"""What can be the name of a secret, and what can be one."""

import re

from hermes_desktop.core.errors import UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 65_536


def checked_name(name: str) -> str:
    """The name of a variable.

    Raises:
        UsageError: It cannot be one.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"“{name}” cannot be the name of a secret.",
            "Names are those of variables: letters, digits and _.",
            "See `hermes-desktop secrets list`.",
        )
    return name


def checked_value(value: str) -> str:
    """A secret without blanks around it.

    Raises:
        UsageError: It cannot be one.
    """
    value = value.strip()
    if not value or not value.isprintable() or len(value) > _LONGEST:
        raise UsageError(
            "That cannot be a secret.",
            "It is empty, too long, or holds characters that cannot be shown.",
            "Give one line.",
        )
    return value
