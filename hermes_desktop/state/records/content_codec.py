"""Encoding and decoding of stored text, structured content and tool calls."""

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

STRUCTURED = "\x00json:"
"""Prefix of structured content. SQL text functions stop at the NUL, so decode in Python."""

PREVIEW_CHARS = 60
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAK = re.compile("[\r\n]")


def clean_text(text: str) -> str:
    """Replace lone surrogates, which cannot be stored, by U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def bindable(value: Any) -> Any:
    """Return a value SQLite accepts: text without lone surrogates, any other value unchanged."""
    return clean_text(value) if isinstance(value, str) else value


def _clean_nested(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {_clean_nested(key): _clean_nested(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_nested(item) for item in value]
    return value


def to_json(value: Any) -> str | None:
    """Return JSON text, ASCII only; None for an empty value."""
    return json.dumps(_clean_nested(value), default=str) if value else None


def encode_content(content: Any) -> Any:
    """Return the column value that stores a message's content."""
    if type(content) is str:  # by far the most frequent case
        return clean_text(content)
    if isinstance(content, list | tuple | Mapping):
        return STRUCTURED + json.dumps(_clean_nested(content), default=str)
    return bindable(content)


def decode_content(stored: Any) -> Any:
    """Return the original content; a value that cannot be decoded is returned as stored."""
    if isinstance(stored, str) and stored.startswith(STRUCTURED):
        try:
            return _clean_nested(json.loads(stored[len(STRUCTURED) :]))
        except (ValueError, RecursionError):
            return stored
    return stored


def decode_json(stored: Any) -> Any:
    """Decode a JSON column; return None when it is empty or not JSON."""
    if not isinstance(stored, str | bytes) or not stored:
        return None
    try:
        return _clean_nested(json.loads(stored))
    except (ValueError, RecursionError):
        return None


def plain_text(content: Any) -> str:
    """Return the text of content of any shape; of structured content, its text parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, bytes):
        return content.decode("utf-8", "replace")
    if isinstance(content, Mapping):
        return _part_text(content)
    if isinstance(content, list | tuple):
        return "\n".join(text for text in map(_part_text, content) if text)
    return str(content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    text = part.get("text", part.get("content"))
    return text if isinstance(text, str) else ""


def preview_of(stored: Any) -> str:
    """Return the beginning of a stored content, on one line."""
    text = plain_text(decode_content(stored))
    text = _LINE_BREAK.sub(" ", text[: PREVIEW_CHARS + 3]).strip()
    return text if len(text) <= PREVIEW_CHARS else text[:PREVIEW_CHARS] + "..."


def epoch(value: Any) -> float | None:
    """Return seconds since the epoch from a number or a datetime; None for anything else."""
    try:
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if math.isfinite(value) else None
    except (OverflowError, ValueError):  # an integer or a date outside the range of the calendar
        return None
    return None
