"""Messages about session resets, requested or forced."""

from hermes_desktop.gateway.sessions.session_notes import resume_hint

NOWHERE = "Session reset: there was nothing to reset here."

EXHAUSTED = (
    "This session became too long and could not be shortened any further. "
    "Your next message begins a new one."
)

CONTINUED = "This chat goes on with the session before. Your next message is answered there."


def title_of(text: str) -> str:
    """Return the text after ``/new``."""
    _, _, rest = text.strip().partition(" ")
    return rest.strip()


def begun_anew(previous: str | None, info: str, problem: str = "") -> str:
    """Return the reply to ``/new``.

    Args:
        previous: The session that was left, None for none.
        info: Further information about the new session.
        problem: Why it did not get the requested name.
    """
    lines = [
        "Session reset. The next message begins a new session.",
        resume_hint(previous) if previous is not None else "",
        f"It has no name: {problem}" if problem else "",
        info,
    ]
    return "\n".join(line for line in lines if line)
