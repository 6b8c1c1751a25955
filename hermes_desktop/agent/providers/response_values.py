"""Tolerant extraction of facts from servers' responses."""

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_desktop.agent.bounded_decoding import decoded

if TYPE_CHECKING:
    import httpx

_MOST_BYTES = 8 * 1024 * 1024
_MOST_TOKENS = 100_000_000


def get_json(
    client: "httpx.Client",
    url: str,
    *,
    until: float | None = None,
    post: Any = None,
    most: int = _MOST_BYTES,
) -> tuple[int, Any]:
    """Return the status and the decoded response; None where it is not JSON. Blocking.

    Args:
        client: Bounds each wait.
        url: The address.
        until: When reading stops, in monotonic seconds.
        post: Sent as JSON; None for a GET request.
        most: The largest accepted body, in bytes.

    Raises:
        UndecodableError: The response cannot be decompressed.
        httpx.HTTPError: There was no response.
        TimeoutError: The response does not end.
    """
    method = "GET" if post is None else "POST"
    body = bytearray()
    with client.stream(method, url, json=post) as answer:
        for piece in decoded(answer):
            body += piece
            if len(body) > most or (until is not None and time.monotonic() > until):
                raise TimeoutError("The answer does not end")
    try:
        return answer.status_code, json.loads(body)
    except (ValueError, RecursionError):
        return answer.status_code, None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def entries(answer: Any, *names: str) -> list[Mapping[str, Any]]:
    """Return the mappings in the first of these lists that exists."""
    for name in names:
        listed = mapping(answer).get(name)
        if isinstance(listed, list):
            return [each for each in listed if isinstance(each, Mapping)]
    return []


def tokens(values: Any, *names: str) -> int | None:
    """Return the first of these that is a number of tokens."""
    for name in names:
        value = mapping(values).get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TOKENS:
            return value
    return None


def context_in_entry(entry: Mapping[str, Any]) -> int | None:
    """Return a model's context size from its entry in a list; each server uses another name."""
    names = ("loaded_context_length", "context_length", "max_model_len", "max_context_length")
    found = tokens(entry, *names, "context_window", "inputTokenLimit")
    return found if found is not None else tokens(entry.get("top_provider"), "context_length")
