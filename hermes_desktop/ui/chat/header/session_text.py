"""Display text for a session in the page's header. No Qt."""

from hermes_desktop.core.events import ContextUsed
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.chat.header.context_text import head_words, short_tokens, whole_words
from hermes_desktop.ui.words.source_names import source_name

LIVE_WITHIN_S = 300.0


def title_of(session: SessionSummary) -> str:
    """Return the title of a session, else the beginning of its first message, else a phrase."""
    text = session.title or session.preview or "Untitled session"
    return " ".join(text.split())


def facts_of(
    session: SessionSummary,
    used: ContextUsed | None = None,
    *,
    chat_name: bool = True,
    answering: str = "",
) -> str:
    """Return ``Telegram · 42 messages · gpt-x · 12.3 k tokens``, with the tokens of the context.

    Args:
        session: The session.
        used: Its context usage.
        chat_name: Whether to include the name of the chat.
        answering: The model that would answer now, "" if unknown.
    """
    place = source_name(session.source)
    if chat_name and session.display_name:
        place = f"{place}, {session.display_name}"
    count = session.message_count
    parts = [
        "Archived" if session.archived else "",
        place,
        "1 message" if count == 1 else f"{count:,} messages",
        _model_words(session.model or "", answering),
        head_words(used) if used is not None else "",
    ]
    return " · ".join(part for part in parts if part)


def _model_words(model: str, answering: str) -> str:
    """Return the model that answered, named as such where the next answer is another one's."""
    return f"answered by {model}" if model and answering and model != answering else model


def tip_of(session: SessionSummary, used: ContextUsed | None, answering: str) -> str:
    """Return the details that the line of facts omits.

    Args:
        session: The session.
        used: Its context usage.
        answering: The model that would answer now, "" if unknown.
    """
    lines = []
    if answering and session.model and answering != session.model:
        lines.append(f"{session.model} answered so far. The next message goes to {answering}.")
    if used is not None:
        lines.append(f"{whole_words(used)}.")
    spent = tokens_text(session.input_tokens + session.output_tokens)
    if spent:
        lines.append(f"{spent} read and written in total.")
    return "\n".join(lines)


def tokens_text(tokens: int) -> str:
    """Return ``950 tokens``, ``12.3 k tokens``, ``2.1 M tokens``; "" for none."""
    if tokens <= 0:
        return ""
    return f"{short_tokens(tokens)} tokens"


def is_live(session: SessionSummary, now: float) -> bool:
    """Return whether the session was active a moment ago and has not ended."""
    age = now - session.last_active
    return session.ended_at is None and session.message_count > 0 and 0 <= age < LIVE_WITHIN_S
