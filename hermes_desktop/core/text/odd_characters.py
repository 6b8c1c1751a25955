"""Readable names of unexpected characters in keys that were copied from a page or a chat."""

import unicodedata


def first_invalid_character(text: str) -> str:
    """Return the first character that is not visible ASCII, with name and position; "" for none.

    For example: “ (left double quotation mark, U+201C), character 1.
    """
    for place, character in enumerate(text, 1):
        if not "!" <= character <= "~":
            return f"{named(character)}, character {place}"
    return ""


def named(character: str) -> str:
    """Return a character with its name and code point, itself only if it is visible; "" for ""."""
    if not character:
        return ""
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "").lower()
    words = f"{name}, {code}" if name else code
    return f"{character} ({words})" if character.isprintable() and character != " " else words
