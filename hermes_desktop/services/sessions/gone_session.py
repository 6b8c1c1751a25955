"""The error for a session that another program deleted while it was shown."""

from hermes_desktop.core.errors import NotFoundError


def gone_session(session_id: str) -> NotFoundError:
    """Return the error for a row that existed a moment ago and is gone."""
    return NotFoundError(
        "This session is no longer there.",
        f"No row has the id {session_id}.",
        "Another program deleted it; choose another session.",
    )
