"""The system prompt: built once per session, then sent as it was stored."""

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hermes_desktop.agent.turns.foreign_tools import with_missing_tools
from hermes_desktop.agent.turns.tool_rounds import Tools
from hermes_desktop.core.clock import Clock

log = logging.getLogger(__name__)

SOUL_LIMIT = 20_000
"""How many characters of SOUL.md are used."""

DEFAULT_IDENTITY = (
    "You are Hermes, a personal assistant on the computer of the person you talk with. "
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
