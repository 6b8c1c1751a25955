"""The system prompt: built once per session, then sent as it was stored.

A session that began in `hermes` continues with the prompt that `hermes` stored. That prompt names
its tools; a model would call those that agents here do not have, and every such call would fail.
"""

import logging
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hermes_desktop.agent.turns.tool_rounds import Tools
from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

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


SOUL_LIMIT = 20_000
"""How many characters of SOUL.md are used."""

DEFAULT_IDENTITY = (
    "You are Hermes, a personal assistant on the computer of the user you talk with. "
    "Answer in their language, in plain words, as briefly as the matter allows. "
    "Say so when you do not know something or cannot do it. "
    "Use Markdown where it helps reading: lists, tables, fenced code with the language named."
)


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """The builder of our first prompt of a session.

    Attributes:
        clock: For the date.
        soul_path: The user's own description of the assistant, or None.
        tools: The agent's tools; None for none.
    """

    clock: Clock
    soul_path: Path | None
    tools: Tools | None

    def build(self, stored: str | None, system_message: str | None) -> str:
        """Compose the prompt. Blocking: reads files.

        Args:
            stored: The prompt in the session's row, from another program, or an earlier version of
                this one; the session continues with it.
            system_message: The caller's addition to a prompt that is built here.
        """
        tools = self.tools
        if stored:
            offered = tools.definitions() if tools is not None else ()
            return with_missing_tools(stored, {str(each["function"]["name"]) for each in offered})
        parts = [system_message, tools.prompt_part() if tools is not None else None]
        added = "\n\n".join(part for part in parts if part)
        return build_system_prompt(self.clock.now(), self.soul_path, added)


def build_system_prompt(now: datetime, soul_path: Path | None, context: str | None = None) -> str:
    """Compose the prompt of a new session. Blocking: reads one file.

    Args:
        now: Local time; the day goes into the prompt.
        soul_path: The user's own description of the assistant, or None.
        context: The caller's addition for this session.
    """
    parts = [read_identity(soul_path), (context or "").strip(), _date_line(now)]
    return "\n\n".join(part for part in parts if part)


def read_identity(soul_path: Path | None) -> str:
    """Return the text of SOUL.md, cut at :data:`SOUL_LIMIT`, or the default identity."""
    if soul_path is None or not soul_path.is_file():
        return DEFAULT_IDENTITY
    try:
        with soul_path.open(encoding="utf-8-sig", errors="replace") as stream:
            text = stream.read(SOUL_LIMIT + 1)
    except OSError as error:
        log.warning("%s cannot be read (%s); the default identity is used", soul_path, error)
        return DEFAULT_IDENTITY
    if len(text) > SOUL_LIMIT:
        log.warning("%s is cut after %d characters", soul_path, SOUL_LIMIT)
        text = text[:SOUL_LIMIT]
    # SQLite accepts NUL, but other readers of the column stop there.
    return text.replace("\x00", "").strip() or DEFAULT_IDENTITY


def _date_line(now: datetime) -> str:
    # The day only: the prompt stays the same for the whole session. Names of days and months do
    # not depend on the locale, so that the text is the same for every process.
    day = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return f"This session began on {day[now.weekday()]}, {now:%Y-%m-%d}."
