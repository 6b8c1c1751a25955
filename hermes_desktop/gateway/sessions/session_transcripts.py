"""Transcripts of the chats, accessed through the session store; failed writes are retried."""

import functools
import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, cast

from hermes_desktop.core.errors import HermesError, StateUnavailableError
from hermes_desktop.gateway.sessions.session_keeping import EntryStore
from hermes_desktop.state.conversations import conversation
from hermes_desktop.state.conversations.messages_table import MessageFields
from hermes_desktop.state.records.sqlite_errors import MissingSessionError

if TYPE_CHECKING:
    from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

MAX_UNSAVED = 200
"""Limit of the messages of one session that wait in memory to be written to state.db."""

Message = Mapping[str, Any]


class Rewound(TypedDict):
    """The result of a rewind: hidden rows, turns taken back, the text of the first of them."""

    rewound_count: int
    turns_undone: int
    target_text: str


class Transcripts(EntryStore):
    """The part of the store that appends to and rewrites sessions. Blocks; any thread."""

    _index_rebuilt = False

    @functools.cached_property
    def _unsaved(self) -> dict[str, deque[Message]]:
        return {}

    @functools.cached_property
    def _unsaved_lock(self) -> threading.Lock:
        return threading.Lock()

    def append_to_transcript(
        self,
        session_id: str,
        message: Message,
        skip_db: bool = False,  # noqa: FBT001, FBT002 - positional in the contract
    ) -> None:
        """Append a message. One that cannot be stored now waits and is stored before the next.

        Args:
            session_id: The session.
            message: ``role``, ``content`` and further fields.
            skip_db: The agent has stored it already; nothing is done.
        """
        if skip_db or self._db is None:
            return
        with self._unsaved_lock:
            waiting = self._unsaved.setdefault(session_id, deque(maxlen=MAX_UNSAVED))
            if len(waiting) == MAX_UNSAVED:
                log.error("A message of %s could not be stored in time and is lost", session_id)
            waiting.append(message)
            self._store_waiting(self._db, session_id)

    def _store_waiting(self, db: "SessionDB", session_id: str) -> None:
        """Store the waiting messages in order, until a write fails. Call under the lock."""
        waiting = self._unsaved[session_id]
        try:
            while waiting:
                self._append_mending(db, session_id, waiting[0])
                waiting.popleft()
        except HermesError as error:
            log.warning("A message of %s waits to be stored: %s", session_id, error)
            return
        del self._unsaved[session_id]

    def _append_mending(self, db: "SessionDB", session_id: str, message: Message) -> None:
        """Store a message; repair, once, what keeps it from being stored."""
        try:
            _append(db, session_id, message)
        except MissingSessionError:  # deleted while in use: messages from now on are kept
            log.warning("%s has no row any more and gets a new one", session_id)
            db.ensure_session(session_id, source=self._source_of(session_id))
            _append(db, session_id, message)
        except StateUnavailableError as error:
            if self._index_rebuilt or "index" not in error.title:
                raise
            log.warning("The search index is built anew: %s", error)
            self._index_rebuilt = True
            db.rebuild_fts()
            _append(db, session_id, message)

    def _source_of(self, session_id: str) -> str:
        chats = [e for e in dict(self._entries).values() if e.session_id == session_id]
        platform = chats[0].platform if chats else None
        return platform.value if platform is not None else "unknown"

    def load_transcript(self, session_id: str) -> list[dict[str, Any]]:
        """Return the conversation for a model, including messages that wait to be stored.

        Raises:
            HermesError: state.db is not available.
        """
        if self._db is None:
            return []
        with self._unsaved_lock:
            if session_id in self._unsaved:
                self._store_waiting(self._db, session_id)
            unsaved = [dict(message) for message in self._unsaved.get(session_id, ())]
        stored = self._db.get_messages_as_conversation(session_id, repair_alternation=True)
        return conversation.repaired([*stored, *unsaved]) if unsaved else stored

    def rewrite_transcript(self, session_id: str, messages: Sequence[Message]) -> bool:
        """Replace the active messages; summarized ones stay.

        Returns:
            False when that failed: then nothing was changed, and callers must not rely on it.
        """
        if self._db is None:
            return False
        try:
            self._db.replace_messages(session_id, messages, active_only=True)
        except HermesError as error:
            log.warning("%s was not rewritten: %s", session_id, error)
            return False
        with self._unsaved_lock:
            self._unsaved.pop(session_id, None)
        return True

    def rewind_session(self, session_id: str, n: int = 1) -> Rewound | None:
        """Take back the last turns; their rows stay, hidden. None when there are none.

        Args:
            session_id: The session.
            n: The number of turns, counted by the user's messages; fewer if there are no more.

        Raises:
            HermesError: state.db cannot be read or written.
        """
        if self._db is None or n < 1:
            return None
        asked = self._db.list_recent_user_messages(session_id, limit=n)
        if not asked:
            return None
        done = self._db.rewind_to_message(session_id, asked[-1]["id"])
        return Rewound(
            rewound_count=done["rewound_count"],
            turns_undone=len(asked),
            target_text=_text(done["target_message"].get("content")),
        )

    def has_platform_message_id(self, session_id: str, platform_message_id: str) -> bool:
        """Return whether a platform's message is already stored in a session.

        Raises:
            HermesError: state.db is not available.
        """
        if self._db is None:
            return False
        return self._db.has_platform_message_id(session_id, platform_message_id)


def _append(db: "SessionDB", session_id: str, message: Message) -> None:
    fields = {key: value for key, value in message.items() if key in MessageFields.__annotations__}
    db.append_message(
        session_id,
        str(message.get("role") or "user"),
        message.get("content"),
        **cast("MessageFields", fields),
    )


def _text(content: Any) -> str:
    """Return the text of a message, or of its text parts if it has several parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(p["text"]) for p in parts if isinstance(p, Mapping) and p.get("text"))
