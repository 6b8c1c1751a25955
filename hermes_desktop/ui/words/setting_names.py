"""Detection of the settings and settings pages that an error text names. No Qt."""

import re

_KEY = re.compile(r"\b[a-z_]+(?:\.[a-z_]+)+\b(?<!\.yaml)(?<!\.json)(?<!\.env)(?<!\.db)")
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*_(?:API_KEY|TOKEN)\b")
_OTHER_MODEL = re.compile(r"\b(?:another|larger) model\b")
MODEL_SETTING = "model.default"
_PAGE = re.compile(r"\bSettings, ([A-Z][a-z]+)")


def setting_in(words: str) -> str:
    """Return the first setting that a text names, such as ``model.base_url``; "" for none."""
    found = _KEY.search(words)
    return found[0] if found is not None else ""


def setting_target_in(words: str) -> tuple[str, str]:
    """Return the place in the settings that a text refers to.

    Returns:
        A page and a setting or variable; "" for each that the text does not name.
    """
    page = _PAGE.search(words)
    variable = _VARIABLE.search(words)
    key = setting_in(words) or (variable[0] if variable is not None else "")
    if page is None and not key and _OTHER_MODEL.search(words):
        return "assistant", MODEL_SETTING
    return (page[1].lower() if page is not None else ""), key
