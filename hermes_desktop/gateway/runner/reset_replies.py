"""The words around new conversations that somebody asked for, or that had to be."""

from hermes_desktop.gateway.sessions.session_notes import way_back

NOWHERE = "Session reset: there was nothing to reset here."

EXHAUSTED = (
    "This session became too long and could not be shortened any further. "
    "Your next message begins a new one."
)

CONTINUED = "This chat goes on with the session before. Your next message is answered there."


def title_of(text: str) -> str:
    """What stands behind ``/new``."""
    _, _, rest = text.strip().partition(" ")
    return rest.strip()


def begun_anew(previous: str | None, info: str, problem: str = "") -> str:
    """The answer to ``/new``.

    Args:
        previous: The conversation that was left, None for none.
        info: What else is to be said of the new conversation.
        problem: Why it did not get the name that was asked for.
    """
    lines = [
        "Session reset. The next message begins a new session.",
        way_back(previous) if previous is not None else "",
        f"It has no name: {problem}" if problem else "",
        info,
    ]
    return "\n".join(line for line in lines if line)
