"""Read access to the sessions of a home for programs without an event loop: list, find, read.

Loads neither asyncio nor Qt; the command line prints a list in the time the window needs to open.
"""

from typing import TYPE_CHECKING

from hermes_desktop.core.errors import AmbiguousError, NotFoundError, UsageError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import Message, SessionSummary, StoreCondition

if TYPE_CHECKING:
    from collections.abc import Sequence


PAGE = 500
"""Messages in the first read of a whole conversation; later ones are larger."""


def gone_session(session_id: str) -> NotFoundError:
    """Return the error for a row that has just been deleted."""
    return NotFoundError(
        "This session no longer exists.",
        f"There is no session with the ID {session_id}.",
        "Another program deleted it; choose another session.",
    )


def existing_summary(db: SessionDB, session_id: str) -> SessionSummary:
    """Return the summary of a session that is known to have existed.

    Raises:
        NotFoundError: It is gone.
    """
    summary = db.summary(session_id)
    if summary is None:
        raise gone_session(session_id)
    return summary


class SessionCatalog:
    """Blocking reads over one database.

    Args:
        db: The open database; the caller closes it.
    """

    def __init__(self, db: SessionDB) -> None:
        self._db = db

    @property
    def condition(self) -> StoreCondition:
        """The condition of the file."""
        return self._db.condition

    def sessions(self, *, source: str | None = None, limit: int = 20) -> list[SessionSummary]:
        """List sessions as ``hermes sessions list`` does: by time of creation, newest first.

        Args:
            source: Only this source, exactly as stored. None hides ``tool`` as the command does.
            limit: The maximum number of rows.
        """
        excluded: Sequence[str] = () if source else ("tool",)
        return self._db.list_summaries(source=source, exclude_sources=excluded, limit=limit)

    def find(self, wanted: str) -> SessionSummary:
        """Find one session by id, title or the unique beginning of an id.

        Raises:
            UsageError: Nothing was given.
            NotFoundError: No session matches.
            AmbiguousError: More than one id begins like this.
        """
        found = find_session_id(self._db, wanted)
        summary = self._db.summary(found)
        if summary is None:
            raise _not_found(wanted)
        return summary

    def messages(self, session_id: str, *, limit: int | None = None) -> list[Message]:
        """Read the visible messages, oldest first; with a limit, the last ones.

        A compression chain is read as one conversation, up to and including the given part.
        """
        messages: list[Message] = []
        for part in reversed(self._parts(session_id)):
            wanted = None if limit is None else limit - len(messages)
            if wanted == 0:
                break
            messages[:0] = self._of_part(part, wanted)
        return messages

    def _parts(self, session_id: str) -> list[str]:
        parts = self._db.get_compression_lineage(session_id)
        return parts[: parts.index(session_id) + 1] if session_id in parts else [session_id]

    def _of_part(self, session_id: str, limit: int | None) -> list[Message]:
        if limit is not None:
            return self._db.read_messages(session_id, limit=limit)
        pages: list[list[Message]] = []
        before: int | None = None
        size = PAGE
        while True:
            page = self._db.read_messages(session_id, before_id=before, limit=size)
            pages.append(page)
            if len(page) < size:
                return [message for page in reversed(pages) for message in page]
            before = page[0].id
            size *= 2  # each page walks over all ids of the session


def find_session_id(db: SessionDB, wanted: str) -> str:
    """Resolve user input to a session id.

    The order is: exact id, then title (the newest of a numbered series of titles), then the
    beginning of an id.

    Raises:
        UsageError: Nothing was given.
        NotFoundError: No session matches.
        AmbiguousError: More than one id begins like this.
    """
    text = wanted.strip()
    if not text:
        raise UsageError(
            "No session was named.",
            "",
            "Use an ID or a title from `hermes-desktop sessions list`.",
        )
    if db.get_session(text) is not None:
        return text
    by_title = db.resolve_session_by_title(text)
    if by_title is not None:
        return by_title
    by_prefix = db.resolve_session_id(text)
    if by_prefix is not None:
        return by_prefix
    if db.ids_with_prefix(text, limit=2):
        raise AmbiguousError(
            f"More than one session ID begins with “{text}”.",
            "",
            "Use more of the ID; `hermes-desktop sessions list` shows all of it.",
        )
    raise _not_found(wanted)


def find_latest_session_id(db: SessionDB, *, source: str) -> str:
    """Return the session of a source with the latest message, archived ones included.

    Raises:
        NotFoundError: The source has no session.
    """
    rows = db.search_sessions(source=source, limit=1)
    if not rows:
        raise NotFoundError(
            f"There is no session from “{source}” to continue.",
            "",
            "Start one by sending a message without --continue.",
        )
    return str(rows[0]["id"])


def _not_found(wanted: str) -> NotFoundError:
    return NotFoundError(
        f"There is no session “{wanted.strip()}”.",
        "It is not an ID, a title, or the beginning of an ID.",
        "Find it with `hermes-desktop sessions list`.",
    )


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
        raise UsageError("No session was named.", "", "Use its ID.")
    if db.get_session(text) is not None:
        return text
    by_title = db.get_session_by_title(text)
    if by_title is not None:
        return str(by_title["id"])
    found = db.ids_with_prefix(text, limit=2)
    if not found:
        raise NotFoundError(
            f"There is no session “{text}”.",
            "It is not an ID, a title, or the beginning of an ID.",
            "Find it with `hermes-desktop sessions list`.",
        )
    if len(text) < SHORTEST_BEGINNING:
        raise UsageError(
            f"“{text}” is too short.",
            f"The beginning of an ID needs at least {SHORTEST_BEGINNING} characters here.",
            "Use more of the ID; `hermes-desktop sessions list` shows all of it.",
        )
    if len(found) > 1:
        raise AmbiguousError(
            f"More than one session ID begins with “{text}”.",
            "",
            "Use more of the ID; `hermes-desktop sessions list` shows all of it.",
        )
    return found[0]
