"""A session in the words of the page's head. No Qt."""

from hermes_desktop.state.records import SessionSummary
from hermes_desktop.ui.sessions.source_names import source_name

LIVE_WITHIN_S = 300.0


def title_of(session: SessionSummary) -> str:
    """What stands in the first line: title, else the first words, else a phrase."""
    text = session.title or session.preview or "Untitled session"
    return " ".join(text.split())


def facts_of(session: SessionSummary, *, chat_name: bool = True) -> str:
    """``Telegram · 42 messages · gpt-x · 12.3 k tokens``."""
    place = source_name(session.source)
    if chat_name and session.display_name:
        place = f"{place}, {session.display_name}"
    count = session.message_count
    parts = [
        "Archived" if session.archived else "",
        place,
        "1 message" if count == 1 else f"{count:,} messages",
        session.model or "",
        tokens_text(session.input_tokens + session.output_tokens),
    ]
    return " · ".join(part for part in parts if part)


def tokens_text(tokens: int) -> str:
    """``950 tokens``, ``12.3 k tokens``, ``2.1 M tokens``; "" for none."""
    if tokens <= 0:
        return ""
    if tokens < 1_000:  # noqa: PLR2004
        return f"{tokens} tokens"
    if tokens < 1_000_000:  # noqa: PLR2004
        return f"{tokens / 1_000:.1f} k tokens"
    return f"{tokens / 1_000_000:.1f} M tokens"


def is_live(session: SessionSummary, now: float) -> bool:
    """Whether somebody wrote into it a moment ago and it was not ended."""
    age = now - session.last_active
    return session.ended_at is None and session.message_count > 0 and 0 <= age < LIVE_WITHIN_S
