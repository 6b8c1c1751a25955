"""Tools in another program's system prompt that agents here do not have.

A session that began in `hermes` continues with the prompt that `hermes` stored. That prompt names
its tools; a model would call them, and every such call would fail.
"""

import re
from collections.abc import Collection

_KNOWN = frozenset(
    {
        *(f"browser_{does}" for does in ("back", "click", "console", "get_images", "navigate")),
        *(f"browser_{does}" for does in ("press", "scroll", "snapshot", "type", "vision")),
        *("clarify", "cronjob", "delegate_task", "execute_code", "image_generate", "memory"),
        *("mixture_of_agents", "patch", "process", "read_file", "search_files", "send_message"),
        *("session_search", "skill_manage", "skill_view", "skills_list", "terminal", "todo"),
        *("text_to_speech", "vision_analyze", "web_extract", "web_search", "write_file"),
    }
)
"""Tools of `hermes` 0.13 to 0.19, as they are offered to models."""

_PLAIN = frozenset({"clarify", "memory", "patch", "process", "terminal", "todo"})
"""Names that are also ordinary words; they count only where the text calls them a tool."""

_WORD = re.compile(r"\b[a-z][a-z0-9_]*\b")
_CALLED = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\(")
_CALLED_A_TOOL = re.compile(r"\b([a-z][a-z0-9_]*) tool\b|`([a-z][a-z0-9_]*)`")


def missing_tools(prompt: str, offered: Collection[str]) -> tuple[str, ...]:
    """Return the tools that a prompt names and that are not offered, sorted."""
    words = set(_WORD.findall(prompt))
    called = {name for match in _CALLED_A_TOOL.findall(prompt) for name in match if name}
    named = words & (_KNOWN - _PLAIN) | called & _KNOWN
    named |= set(_CALLED.findall(prompt))
    named |= {word for word in words if word.startswith("mcp__")}
    return tuple(sorted(named - set(offered)))


def with_missing_tools(prompt: str, offered: Collection[str]) -> str:
    """Append a paragraph to a prompt on the tools it names that are not offered.

    The existing text stays as it is, so that endpoints can reuse their cached prefix.
    """
    missing = missing_tools(prompt, offered)
    if not missing:
        return prompt
    return (
        f"{prompt}\n\nThis session now continues in Hermes Desktop, which has fewer tools. Of the "
        f"tools named above, these were missing when it did: {', '.join(missing)}. Use only the "
        "tools that are offered with the request. When a task needs another one, say that it is "
        "not available instead of calling it."
    )
