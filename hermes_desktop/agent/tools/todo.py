"""``todo``: the steps of a longer task, for the model's own use."""

from hermes_desktop.agent.tools.base import Answer, Arguments, Tool, ToolContext, ToolError

MOST = 256
_STATES = ("pending", "in_progress", "completed", "cancelled")


def _todo(arguments: Arguments, context: ToolContext) -> Answer:
    known: list[dict[str, str]] = context.notes.setdefault("todo", [])
    if "todos" in arguments:
        given = [_item(each, number) for number, each in enumerate(arguments["todos"], 1)]
        if arguments.get("merge"):
            by_id = {each["id"]: each for each in (*known, *given)}
            given = list(by_id.values())
        if len(given) > MOST:
            raise ToolError(f"More than {MOST} steps.")
        known[:] = given
    counts = {state: sum(each["status"] == state for each in known) for state in _STATES}
    return {"todos": [dict(each) for each in known], "summary": counts}


def _item(value: dict[str, object], number: int) -> dict[str, str]:
    content, state = value.get("content"), value.get("status", "pending")
    if not isinstance(content, str) or not content.strip():
        raise ToolError(f"Step {number} has no content.")
    if state not in _STATES:
        raise ToolError(f"Step {number}: status must be one of {', '.join(_STATES)}.")
    return {"id": str(value.get("id", number)), "content": content[:500], "status": str(state)}


TODO = Tool(
    "todo",
    "todo",
    "Keep the list of steps of a longer task. Without todos it tells the list.",
    {
        "todos": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Steps: id, content, status",
        },
        "merge": {"type": "boolean", "description": "Change steps by id, keep the others."},
    },
    _todo,
)
