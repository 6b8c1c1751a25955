""".env, read as a layer of its own: its values never enter the process environment."""

import re
from collections.abc import Mapping
from pathlib import Path

from hermes_desktop.settings.config_file import Lookup, read_settings_text

_LINE = re.compile(
    r"""
    ^[^\S\n]*(?:export[^\S\n]+)?
    (?P<name>[A-Za-z_][A-Za-z0-9_]*)[^\S\n]*=[^\S\n]*
    (?:
        "(?P<double>(?:\\.|[^"\\])*)"
      | '(?P<single>(?:\\.|[^'\\])*)'
      | (?P<plain>[^\n]*)
    )
    """,
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"(?:^|\s+)#.*$")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


def read_env_file(path: Path) -> dict[str, str]:
    """Names and values of a .env file; empty when there is none. Blocking, any thread.

    A name that stands twice has its last value. Lines that define nothing are passed over, and
    bytes that are not UTF-8 are replaced, as the ``hermes`` command does.

    Raises:
        ConfigError: The file is there and may not be read.
    """
    text = read_settings_text(path, errors="replace")
    return {} if text is None else parse_env(text)


def parse_env(text: str) -> dict[str, str]:
    """Names and values in the text of a .env file."""
    values: dict[str, str] = {}
    for match in _LINE.finditer(text.replace("\r\n", "\n").replace("\r", "\n")):
        values[match["name"]] = _value(match)
    return values


def _value(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[0]), match["double"])
    if match["single"] is not None:
        return _ESCAPE.sub(
            lambda found: found[1] if found[1] in "\\'" else found[0], match["single"]
        )
    return _COMMENT.sub("", match["plain"]).strip()


def first_set(*places: Mapping[str, str]) -> Lookup:
    """Look a variable up in several places, in this order; a blank value counts as none."""

    def lookup(name: str) -> str | None:
        for place in places:
            value = place.get(name, "").strip()
            if value:
                return value
        return None

    return lookup
