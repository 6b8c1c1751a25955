"""The direction of a text by its own letters, independent of the window's. No Qt."""

import unicodedata


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter with a direction is written from right to left."""
    if text.isascii():
        return False
    for letter in text:
        kind = unicodedata.bidirectional(letter)
        if kind == "L":
            return False
        if kind in {"R", "AL"}:
            return True
    return False
