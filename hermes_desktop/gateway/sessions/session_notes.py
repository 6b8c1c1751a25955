"""Notes about automatic session resets, for the sender and for the model."""

from dataclasses import dataclass

from hermes_desktop.gateway.config.gateway_config import SessionResetPolicy
from hermes_desktop.gateway.sessions.session_records import SessionEntry

_ALWAYS_TOLD = frozenset({"suspended", "resume_pending_expired"})


@dataclass(frozen=True, slots=True)
class ResetNote:
    """A session that replaced another without an explicit request.

    Attributes:
        reason: ``idle``, ``daily``, ``suspended`` or ``resume_pending_expired``.
        previous_session_id: The previous session, to which "continue previous" returns.
        for_model: Precedes the sender's next message, once.
        for_person: The message for the chat; None when it is not to be notified.
        explanation: The same reason in one short sentence, for a window.
    """

    reason: str
    previous_session_id: str | None
    for_model: str
    for_person: str | None
    explanation: str


def take_reset_note(entry: SessionEntry, policy: SessionResetPolicy) -> ResetNote | None:
    """Remove and return the note of an automatic reset, so that it is used once.

    The caller locks the entry and saves it.

    Args:
        entry: The chat; its marks of the reset are cleared.
        policy: Its reset policy.

    Returns:
        None when the session was not started automatically.
    """
    if not entry.was_auto_reset:
        return None
    reason = entry.auto_reset_reason or "idle"
    explanation = _explanation(reason, policy)
    told = _is_told(entry, reason, policy)
    entry.was_auto_reset = False
    entry.auto_reset_reason = None
    return ResetNote(
        reason=reason,
        previous_session_id=entry.previous_session_id,
        for_model=f"[Note: {explanation} Earlier messages are not known in this conversation.]",
        for_person=_notice(reason, explanation, entry.previous_session_id) if told else None,
        explanation=explanation,
    )


def _is_told(entry: SessionEntry, reason: str, policy: SessionResetPolicy) -> bool:
    if reason in _ALWAYS_TOLD:
        return True
    platform = entry.platform.value if entry.platform is not None else ""
    return (
        policy.notify
        and entry.reset_had_activity
        and platform not in policy.notify_exclude_platforms
    )


def _explanation(reason: str, policy: SessionResetPolicy) -> str:
    if reason == "suspended":
        return "This is a new session, because the last one was stopped."
    if reason == "resume_pending_expired":
        return "This is a new session, because a restart interrupted the last one too long ago."
    if reason == "daily":
        return f"This is a new session: one starts every day at {policy.at_hour:02d}:00."
    silence = _duration(policy.idle_minutes)
    return f"This is a new session, because there were no messages for {silence}."


def _notice(reason: str, explanation: str, previous: str | None) -> str:
    lines = [
        explanation,
        "The earlier messages are kept, but I cannot see them here.",
        resume_hint(previous),
    ]
    if reason not in _ALWAYS_TOLD:
        lines.append("You can change this under session_reset in config.yaml.")
    return "\n".join(lines)


def resume_hint(session_id: str | None) -> str:
    """Return how to resume a session that was left, as text to be copied."""
    command = f"/resume {session_id}" if session_id else "/resume --all"
    return f"To continue the previous session, send: {command}"


def _duration(minutes: int) -> str:
    for unit, length in (("day", 1440), ("hour", 60)):
        if minutes % length == 0 and minutes >= length:
            return _counted(minutes // length, unit)
    return _counted(minutes, "minute")


def _counted(number: int, unit: str) -> str:
    return f"a {unit}" if (number, unit) == (1, "day") else f"{number} {unit}{'s' * (number != 1)}"
