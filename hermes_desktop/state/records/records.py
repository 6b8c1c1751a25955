"""Immutable records with decoded values that the state layer returns.

This module does not use SQLite, so every layer may import it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.core.errors import StateReadOnlyError
from hermes_desktop.core.home_kind import SHARED, HomeKind

SessionRow = dict[str, Any]
"""Result of ``get_session``: all columns of the row by name, as stored."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One row of the session list.

    For a compression chain this is the projected row: fields of the root, with id, title, end,
    counts, model and preview of the tip (state-store, "Projection").

    Attributes:
        id: Session id; of a chain, the tip's.
        root_id: Id of the database row that is shown; equal to ``id`` without a chain.
        source: Where the session was started (``cli``, ``telegram``, …), exactly as stored.
        title: Title, or None.
        preview: Beginning of the first user message, "" if there is none.
        started_at: Epoch seconds; of a chain, the root's.
        last_active: Epoch seconds of the latest message, else ``started_at``.
        ended_at: Epoch seconds, None while open.
        end_reason: Why it ended, None while open.
        message_count: The row's own counter (not the number of active rows).
        display_name: Name of the chat on its platform, None if unknown.
        pinned: Whether the conversation is pinned, here or by `hermes`.
    """

    id: str
    root_id: str
    source: str
    title: str | None
    preview: str
    started_at: float
    last_active: float
    ended_at: float | None = None
    end_reason: str | None = None
    message_count: int = 0
    tool_call_count: int = 0
    model: str | None = None
    parent_session_id: str | None = None
    archived: bool = False
    cwd: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    user_id: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    display_name: str | None = None
    pinned: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the session never had a message."""
        return self.message_count == 0

    @property
    def label(self) -> str:
        """The display name: the title, else the preview, else a fixed phrase; never the id."""
        return self.title or self.preview or "Untitled session"


@dataclass(frozen=True, slots=True)
class Message:
    """One stored message, decoded.

    Attributes:
        id: Row id; messages are ordered by it.
        role: ``user``, ``assistant``, ``tool``, ``system``, ``session_meta`` or a role of a later
            version.
        content: Text of the message; structured content is flattened to its text parts.
        parts: Structured content as stored, None when the content was plain text.
        tool_calls: Decoded calls, () when there are none. Each is the mapping as stored.
        active: False when it is no longer part of the model's context.
        compacted: True when it was summarized away (still shown); ``active`` is False then.
        stands_for: Of a summary: how many messages it replaces in the model's context; None for all
            other messages, and where the number is not known.
    """

    id: int
    session_id: str
    role: str
    content: str
    timestamp: float
    parts: Any = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    finish_reason: str | None = None
    reasoning: str | None = None
    token_count: int | None = None
    active: bool = True
    compacted: bool = False
    observed: bool = False
    stands_for: int | None = None


@dataclass(frozen=True, slots=True)
class SessionMark:
    """A fingerprint of a session: equal marks mean that nothing was added, undone or rewritten.

    The message count alone is not enough: an undo by another program, or a rewrite with the same
    number of rows, leaves it unchanged.
    """

    message_count: int
    rewind_count: int
    newest_message_id: int


@dataclass(frozen=True, slots=True)
class StateChanges:
    """The changes that the change watcher found since its last check.

    Attributes:
        touched: Sessions with new or changed rows.
        removed: Sessions whose row was deleted.
        reload_all: The changed sessions cannot be determined; reload everything.
        file_replaced: The path now refers to another file; connections were reopened.
    """

    touched: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    reload_all: bool = False
    file_replaced: bool = False

    def __bool__(self) -> bool:
        return bool(self.touched or self.removed or self.reload_all or self.file_replaced)


@dataclass(frozen=True, slots=True)
class StoreCondition:
    """Whether and why a state.db may be written, and what kind of home it is in.

    Attributes:
        schema_version: The number stored in the file, None when there is none.
        writable: Whether this program may append to it.
        reason: Why not, "" when writable; a sentence for the user.
        hint: What to do about it.
        notice: What the user should know about a store that is written; "" if nothing.
        home: The kind of home it is in, see :mod:`hermes_desktop.core.home_kind`.
    """

    schema_version: int | None
    writable: bool
    reason: str = ""
    hint: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    notice: str = ""
    home: HomeKind = SHARED

    @property
    def title(self) -> str:
        """Why nothing is written, in one sentence; "" when the store is writable."""
        if self.writable:
            return ""
        return self.home.title or "This history is read-only."

    def refusal(self) -> StateReadOnlyError:
        """Return the error with which a change is refused."""
        return StateReadOnlyError(self.title, self.reason, self.hint)
