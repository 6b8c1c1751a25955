"""Writer of the rows that one turn stores, in order."""

import logging
from collections.abc import Callable
from typing import Any

from hermes_desktop.core.errors import UsageError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation import without_memory
from hermes_desktop.state.records.content_codec import clean_text

log = logging.getLogger(__name__)

PersistedCallback = Callable[[int], None]
"""Receives the id of each stored row, on the thread of the turn."""


class RowWriter:
    """A writer that appends the rows of one turn and records their ids.

    Args:
        store: The store to write to.
        session_id: The session of the rows.
        persisted: Called with each row id.
    """

    def __init__(
        self, store: SessionDB, session_id: str, persisted: PersistedCallback | None
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._persisted = persisted
        self.ids: list[int] = []

    def move(self, session_id: str) -> None:
        """Write to this session from now on: the conversation continues there."""
        self._session_id = session_id

    def write(self, role: str, content: str, **fields: Any) -> None:
        """Append a row.

        Raises:
            NotFoundError: The session's row is gone.
            HermesError: The store failed.
        """
        row_id = self._store.append_message(self._session_id, role, content, **fields)
        self.ids.append(row_id)
        if self._persisted is not None:
            try:
                self._persisted(row_id)
            except Exception:
                log.exception("A listener to stored rows failed")


def sent_fields(text: str, note: str) -> dict[str, str]:
    """Return the column for the sent text, where reading the row would give a different one.

    That is the case with a note, and with a typed mark of remembered text, which is removed when
    rows are read.
    """
    if note.strip():
        return {"api_content": f"{note.strip()}\n\n{text}"}
    return {} if without_memory(text) == text.strip() else {"api_content": text}


def text_to_send(typed: str) -> str:
    """Return the user's typed text, as it is stored and sent.

    Raises:
        UsageError: It is blank.
    """
    text = clean_text(typed)
    if not text.strip():
        raise UsageError("There is nothing to send.", "The message is blank.", "Write something.")
    return text
