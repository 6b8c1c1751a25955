"""The text of a message for the model, with its sender, quoted message and attachments."""

from collections.abc import Iterator

from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.gateway.platforms.base import MessageEvent
from hermes_desktop.gateway.sessions.session_records import SessionSource, is_shared_session

MAX_QUOTE = 500


def inbound_text(event: MessageEvent, source: SessionSource, config: GatewayConfig) -> str:
    """Return the text of a message as its session stores it.

    Where several users share a session, each message names its sender. A reply to an older message,
    which may be in no session of ours, quotes its beginning.
    """
    if event.internal:
        return event.text
    text = "\n".join(part for part in (event.text, *_media_notes(event)) if part)
    shared = is_shared_session(
        source,
        group_sessions_per_user=config.group_sessions_per_user,
        thread_sessions_per_user=config.thread_sessions_per_user,
    )
    if shared:
        text = f"[{_one_line(source.user_name or source.user_id or 'somebody')}] {text}"
    quoted = _one_line(event.reply_to_text or "")
    if not quoted:
        return text
    if len(quoted) > MAX_QUOTE:
        quoted = quoted[: MAX_QUOTE - 1] + "…"
    whose = "your message" if event.reply_to_is_own_message else "the message"
    return f"[In reply to {whose}: “{quoted}”]\n{text}"


def _media_notes(event: MessageEvent) -> Iterator[str]:
    """Yield notes about attachments stored in the home, because the model does not see them."""
    for path, kind in zip(event.media_urls, event.media_types, strict=False):
        if kind.startswith("image/"):
            yield f"[A picture came with this message: {path} ({kind}). You cannot see it.]"
        else:
            yield f"[A file came with this message: {path} ({kind}).]"


def _one_line(text: str) -> str:
    """Return a text without line breaks and brackets, so that it cannot imitate other content."""
    return " ".join(text.replace("[", "(").replace("]", ")").split())
