"""Values as YAML text that every parser reads alike, and the comparison of parsed values."""

import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

# Text that a reader of another YAML version could take for a number, a time or a truth value.
_DOUBTFUL = re.compile(
    r"[-+.]?\d.*|y|n|yes|no|on|off|true|false|null|none|~|\.(?:inf|nan)|.*[:#].*", re.IGNORECASE
)
_PLAIN_ADDRESS = re.compile(r"https?://[\w.\-/:\[\]%~]+")


def written(value: Any, *, quote: str | None = None) -> str:
    """Return a value on one line, in a form that is also valid inside brackets and braces.

    Args:
        value: Text, number, boolean, None, or a list or mapping of such.
        quote: The quotation mark that the text had before.
    """
    if isinstance(value, Mapping):
        inside = ", ".join(f"{written(str(key))}: {written(each)}" for key, each in value.items())
        return "{" + inside + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value, quote)
    return _dumped(value, None)


def _text(value: str, quote: str | None) -> str:
    if _PLAIN_ADDRESS.fullmatch(value) and quote is None:
        return value
    if quote in {"'", '"'}:
        return _dumped(value, quote)
    return _dumped(value, "'" if _DOUBTFUL.fullmatch(value) else None)


def _dumped(value: Any, style: str | None) -> str:
    if isinstance(value, str) and not value.isprintable():
        style = '"'  # the only style in which a line break stays on one line
    text = yaml.safe_dump(
        [value], default_style=style, default_flow_style=True, width=math.inf, allow_unicode=True
    )
    return text.strip().removeprefix("[").removesuffix("]")


def same(one: Any, other: Any) -> bool:
    """Return whether two parsed values are equal, in order and type: 1 is not true, nor 1.0.

    Values that contain themselves, or one another many times, are compared once.
    """
    return _same(one, other, set())


def _same(one: Any, other: Any, seen: set[tuple[int, int]]) -> bool:
    if type(one) is not type(other):
        return False
    if not isinstance(one, dict | list):
        both_no_number = isinstance(one, float) and math.isnan(one) and math.isnan(other)
        return both_no_number or bool(one == other)
    if (id(one), id(other)) in seen:
        return True  # being compared, or compared before
    seen.add((id(one), id(other)))
    if len(one) != len(other):
        return False
    if isinstance(one, list):
        return all(_same(a, b, seen) for a, b in zip(one, other, strict=True))
    # In the order of the file: nothing may have moved. Keys have types, too.
    pairs = zip(one.items(), other.items(), strict=True)
    return all(_same(a, b, seen) and _same(x, y, seen) for (a, x), (b, y) in pairs)
