"""Capital letters at the beginning of texts."""


def capitalized(text: str) -> str:
    """Return a text with its first letter as a capital; the others stay as they are."""
    return text[:1].upper() + text[1:]
