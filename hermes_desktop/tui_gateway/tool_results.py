"""What peers are told of a tool that is over."""

import json
from typing import Any

MOST_RESULT = 20_000
"""How many characters of a tool's result peers are told; the model may be told more."""


def tool_result(news: Any) -> dict[str, Any]:
    """What is told of a tool that is over."""
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
    """What a tool gave, as other programs of this protocol tell it."""
    try:
        return json.loads(result)
    except ValueError:
        return result
