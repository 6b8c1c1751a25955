"""Characters that get into keys when they are copied from a page or a chat: named for a person."""

import unicodedata


def odd_character(text: str) -> str:
    """The first character that is no visible ASCII one, with its name and place; "" for none.

    For example: “ (left double quotation mark, U+201C), character 1.
    """
    for place, character in enumerate(text, 1):
        if not "!" <= character <= "~":
            return f"{named(character)}, character {place}"
    return ""


def named(character: str) -> str:
    """A character with its name and number, itself only where it can be seen; "" for "" ."""
    if not character:
        return ""
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "").lower()
    words = f"{name}, {code}" if name else code
    return f"{character} ({words})" if character.isprintable() and character != " " else words
