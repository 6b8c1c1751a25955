"""Results of tools in the form for peers."""

import json
from typing import Any

MOST_RESULT = 20_000
"""Maximum number of characters of a tool's result for peers; the model may get more."""


def tool_result(news: Any) -> dict[str, Any]:
    """Return the event payload for a finished tool."""
    arguments, result = dict(getattr(news, "arguments", {})), str(getattr(news, "result", ""))
    told = {
        "ok": news.ok,
        "summary": news.subject,
        "duration_s": round(news.seconds, 3),
        "args": arguments,
        "result": result[:MOST_RESULT] if len(result) > MOST_RESULT else _decoded(result),
    }
    if len(result) > MOST_RESULT:
        told["result_cut"] = True
    if news.name == "todo" and isinstance(told["result"], dict):
        told["todos"] = told["result"].get("todos") or []
    return told


def _decoded(result: str) -> Any:
    """Decode a tool's result if it is JSON, as other programs of this protocol do."""
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return result
