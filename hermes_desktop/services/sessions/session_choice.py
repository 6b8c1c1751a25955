"""Resolution of user input to the session that an operation is going to change."""

from hermes_desktop.core.errors import AmbiguousError, NotFoundError, UsageError
from hermes_desktop.state import SessionDB

SHORTEST_BEGINNING = 8


def choose_for_change(db: SessionDB, wanted: str) -> str:
    """Resolve an id, an exact title or a long beginning of an id to an id.

    Stricter than for reading: a title does not match another one of its numbered series, and a
    beginning needs eight characters, so that a slip does not affect an unintended session.

    Raises:
        UsageError: Nothing was given, or too little.
        NotFoundError: No session matches.
        AmbiguousError: More than one id begins like this.
    """
    text = wanted.strip()
    if not text:
        raise UsageError("No session was named.", "", "Give its id.")
    if db.get_session(text) is not None:
        return text
    by_title = db.get_session_by_title(text)
    if by_title is not None:
        return str(by_title["id"])
    found = db.ids_with_prefix(text, limit=2)
    if not found:
        raise NotFoundError(
            f"There is no session “{text}”.",
            "Neither an id, nor a title, nor the beginning of an id fits.",
            "Look it up with `hermes-desktop sessions list`.",
        )
    if len(text) < SHORTEST_BEGINNING:
        raise UsageError(
            f"“{text}” is too short to be sure.",
            f"The beginning of an id needs {SHORTEST_BEGINNING} characters here.",
            "Give more of the id; `hermes-desktop sessions list` shows it whole.",
        )
    if len(found) > 1:
        raise AmbiguousError(
            f"More than one session id begins with “{text}”.",
            "",
            "Give more of the id; `hermes-desktop sessions list` shows it whole.",
        )
    return found[0]
