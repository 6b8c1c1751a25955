"""Validation of a tool call's arguments: JSON written by a model, checked against the schema."""

import json
import re
from collections.abc import Mapping
from typing import Any

from hermes_desktop.agent.tools.base import Arguments, Tool, ToolError
from hermes_desktop.state.records.content_codec import clean_text

_WHOLE = re.compile(r"\s*-?\d{1,18}\s*")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def read_arguments(tool: Tool, text: str) -> Arguments:
    """Return the arguments of a call, converted to its schema.

    Raises:
        ToolError: They are invalid; the message tells the model what to correct.
    """
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ToolError(f"The arguments are not valid JSON ({str(error)[:120]}).") from error
    if not isinstance(given, dict):
        raise ToolError("The arguments must be a JSON object.")
    missing = [name for name in tool.required if given.get(name) is None]
    if missing:
        raise ToolError(f"Missing: {', '.join(missing)}.")
    unknown = sorted(set(given) - set(tool.properties))
    if unknown:
        known = ", ".join(tool.properties) or "none"
        raise ToolError(f"Unknown: {', '.join(map(str, unknown))[:200]}. There are: {known}.")
    return {
        name: _checked(name, value, tool.properties[name])
        for name, value in given.items()
        if value is not None
    }


def _checked(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    kind = str(schema.get("type", "string"))
    value = _meant(value, kind)
    allowed = _TYPES[kind]
    is_bool = isinstance(value, bool)
    if not isinstance(value, allowed) or (is_bool and kind != "boolean"):
        raise ToolError(f"{name} must be of type {kind}, not {type(value).__name__}.")
    choices = schema.get("enum")
    if choices and value not in choices:
        raise ToolError(f"{name} must be one of {', '.join(map(str, choices))}.")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and value < low:
        raise ToolError(f"{name} must be at least {low}.")
    if high is not None and value > high:
        raise ToolError(f"{name} must be at most {high}.")
    if isinstance(value, str) and "\x00" in value:
        raise ToolError(f"{name} contains a NUL character.")
    if isinstance(value, str) and clean_text(value) != value:
        raise ToolError(f"{name} contains half a character (a lone surrogate).")
    if isinstance(value, list) and "items" in schema:
        return [_checked(f"{name}[{at}]", each, schema["items"]) for at, each in enumerate(value)]
    return value


def _meant(value: Any, kind: str) -> Any:
    """Convert numbers and booleans that a model wrote as text, where they are unambiguous."""
    if kind == "integer" and isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    return value
