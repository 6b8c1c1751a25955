"""Errors that servers report in the body of a response: detection and message."""

import json
from collections.abc import Mapping
from typing import Any

from hermes_desktop.agent.providers.tolerances import ERROR_SENTENCES, ERROR_SIGNS, STATUS_FIELDS

_SIGNS = tuple(each.name for each in ERROR_SIGNS)
_SENTENCES = tuple(each.name for each in ERROR_SENTENCES)
_STATUS = tuple(each.name for each in STATUS_FIELDS)
_DEEPEST = 6


def error_in(payload: Mapping[str, Any], event: str = "") -> Mapping[str, Any] | None:
    """Return the part of a response that reports an error; None if there is none.

    Args:
        payload: The decoded response, or a piece of one.
        event: The name of its event in a stream.
    """
    if payload.get("error"):
        return payload
    if event == "error":
        return payload
    choices = payload.get("choices")
    if isinstance(choices, list) and choices:
        first = choices[0]
        return first if isinstance(first, Mapping) and first.get("error") else None
    return payload if _is_error(payload) else None


def _is_error(payload: Mapping[str, Any]) -> bool:
    if any(payload.get(name) for name in _SIGNS if name != "base_resp"):
        return True
    base = payload.get("base_resp")
    if isinstance(base, Mapping) and base.get("status_code"):
        return True
    if "error" in (payload.get("object"), payload.get("type")):
        return True
    coded = any(_is_code(payload.get(name)) for name in _STATUS)
    failed = payload.get("success") is False
    return (coded or failed) and bool(_sentence(payload, _DEEPEST))


def _is_code(value: Any) -> bool:
    """Return whether a value is a status or an error code."""
    if isinstance(value, str):
        return bool(value) and value.lower() not in {"ok", "success", "200", "0"}
    return isinstance(value, int) and not isinstance(value, bool) and value not in {0, 200}


def status_in(payload: Mapping[str, Any]) -> int | None:
    """Return the HTTP status that an error names in its body, None where it names none."""
    inner = payload.get("error")
    for place in (inner, payload, payload.get("base_resp")):
        if not isinstance(place, Mapping):
            continue
        for name in _STATUS:
            status = _status(place.get(name))
            if status is not None:
                return status
    return None


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) == 3:  # noqa: PLR2004
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 400 <= value < 600 else None  # noqa: PLR2004


def error_message(body: bytes) -> tuple[str, frozenset[str]]:
    """Return the message of an error response, and every code and type it names."""
    text = body.decode("utf-8", "replace")
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return text, frozenset()
    # Some endpoints wrap the error in a list.
    if isinstance(payload, list) and payload:
        payload = payload[0]
    if not isinstance(payload, Mapping):
        return text, frozenset()
    error = _innermost(payload)
    if not isinstance(error, Mapping):
        return _sentence(error, _DEEPEST) or str(error), frozenset()
    message = _sentence(error, _DEEPEST) or text
    codes = frozenset(str(error[name]) for name in ("code", "type") if error.get(name))
    return _with_cause(message, error), codes


def _innermost(payload: Mapping[str, Any]) -> Any:
    for name in ("error", "errors", "detail", "base_resp"):
        found = payload.get(name)
        if isinstance(found, list) and found and isinstance(found[0], Mapping):
            found = found[0]
        if found and not (name == "detail" and isinstance(payload.get("message"), str)):
            return found
    return payload


def _sentence(value: Any, deep: int) -> str:
    """Return the text of an error's message, whatever wraps it."""
    if isinstance(value, str):
        return value
    if deep <= 0:
        return ""
    if isinstance(value, list):
        return "; ".join(part for part in (_sentence(each, deep - 1) for each in value[:5]) if part)
    if isinstance(value, Mapping):
        for name in _SENTENCES:
            found = _sentence(value.get(name), deep - 1)
            if found.strip():
                return found
    return ""


def _with_cause(message: str, error: Mapping[str, Any]) -> str:
    # Routers put the real endpoint's message beside their own general sentence.
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    # llama.cpp puts its limit beside its message.
    limit = error.get("n_ctx")
    if isinstance(limit, int) and str(limit) not in message:
        message = f"{message} (n_ctx {limit})"
    return f"{message} ({raw})" if isinstance(raw, str) and raw not in message else message
