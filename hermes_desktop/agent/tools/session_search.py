"""``session_search``: full-text search of earlier conversations on this machine."""

from typing import Any

from hermes_desktop.agent.tools.base import Answer, Arguments, Tool, ToolContext, ToolError
from hermes_desktop.core.errors import HermesError

_MOST = 20
_SNIPPET = 600


def _search(arguments: Arguments, context: ToolContext) -> Answer:
    query = arguments["query"].strip()
    if not query:
        raise ToolError("The query is empty.")
    limit = arguments.get("limit", 8)
    try:
        rows = context.setup.store.search_messages(
            query, role_filter=("user", "assistant"), limit=limit + 20
        )
    except HermesError as error:
        raise ToolError(f"The sessions cannot be searched. {error.title}") from error
    found = [_hit(row) for row in rows if row.get("session_id") != context.session_id]
    return {"hits": found[:limit]}


def _hit(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "session_id": row.get("session_id"),
        "role": row.get("role"),
        "source": row.get("source"),
        "timestamp": row.get("timestamp"),
        "text": str(row.get("snippet") or "")[:_SNIPPET],
    }


SESSION_SEARCH = Tool(
    "session_search",
    "session_search",
    "Search in earlier conversations on this machine. Hits are marked >>>so<<<.",
    {
        "query": {"type": "string", "description": "Words; all of them must occur."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": _MOST,
            "description": "8 if left out",
        },
    },
    _search,
    required=("query",),
    parallel=True,
    subject="query",
)
