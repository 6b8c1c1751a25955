"""The one sentence for a session that another program deleted while it was looked at."""

from hermes_desktop.core.errors import NotFoundError


def gone_session(session_id: str) -> NotFoundError:
    """The failure to raise when a row that was there a moment ago is not."""
    return NotFoundError(
        "This session is no longer there.",
        f"No row has the id {session_id}.",
        "Another program deleted it; choose another session.",
    )
