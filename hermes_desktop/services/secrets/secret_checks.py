"""Validation of names and values of secrets."""

import re

from hermes_desktop.core.errors import UsageError
from hermes_desktop.core.text.odd_characters import first_invalid_character, named

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY = re.compile(r"(?:KEY|TOKEN)$")
_QUOTES = "\"'`"
_BEARER = re.compile(r"bearer\s", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?:export\s+)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\s*=\s*[^=\s]")
_LONGEST = 65_536


def checked_name(name: str) -> str:
    """Return a valid variable name.

    Raises:
        UsageError: The text cannot be one.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"“{name}” is not a valid name for a secret.",
            "Names consist of letters, digits and _.",
            "See `hermes-desktop secrets list`.",
        )
    return name


def checked_value(value: str, name: str = "") -> str:
    """Return a valid secret, without surrounding blanks.

    Args:
        value: The given text.
        name: Its variable. Keys and tokens are sent in a request header, which allows only plain
            ASCII.

    Raises:
        UsageError: The text cannot be a secret; the error says what is wrong with it.
    """
    value = value.strip()
    problem = _problem(value, is_key=is_key(name))
    if problem:
        raise UsageError("This is not a valid secret.", problem, "Copy it again, as one line.")
    return value


def is_key(name: str) -> bool:
    """Return whether a variable holds a key or a token, by its name."""
    return _KEY.search(name) is not None


def _problem(value: str, *, is_key: bool) -> str:
    """Return why the value cannot be a secret; "" when it can."""
    unseen = next((each for each in value if not each.isprintable()), "")
    odd = first_invalid_character(value.replace(" ", "_")) if is_key else ""
    quoted = is_key and value[:1] in _QUOTES and value[-1:] == value[:1]
    reasons = (
        (not value, "It is empty."),
        (len(value) > _LONGEST, f"It is longer than {_LONGEST:,} characters."),
        (unseen, f"It contains an invisible character: {named(unseen)}."),
        (odd, f"It contains a character that keys never have: {odd}."),
        (quoted, "It is in quotation marks."),
        (is_key and _BEARER.match(value), "It starts with “Bearer”."),
        (is_key and _ASSIGNED.match(value), "It starts with a name and “=”."),
    )
    return next((words for wrong, words in reasons if wrong), "")
