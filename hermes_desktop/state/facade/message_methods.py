"""Methods of SessionDB on messages: adding, reading, undoing, compacting, branching, searching.

The first parameter of each is the open store; ``SessionDB`` takes them as its methods.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from hermes_desktop.state.conversations import compaction, conversation, messages_table
from hermes_desktop.state.conversations.branching import Branch
from hermes_desktop.state.conversations.compaction import Compaction
from hermes_desktop.state.conversations.messages_table import MessageFields
from hermes_desktop.state.database.chunked_writes import MOST_ROWS, Ended, fits_one, in_steps
from hermes_desktop.state.facade import long_sessions
from hermes_desktop.state.facade.long_sessions import message_pieces
from hermes_desktop.state.facade.store import Store, reads, writes
from hermes_desktop.state.records import transcript_rows
from hermes_desktop.state.records.cancellation import CancelSignal, OnProgress, silent
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import Message, SessionMark
from hermes_desktop.state.records.stored_rows import chunks, marks
from hermes_desktop.state.search import search_rows
from hermes_desktop.state.search.search import Search
from hermes_desktop.state.search.search_records import SearchHit, SearchOutcome, SearchQuery
from hermes_desktop.state.sessions import lineage

Conversation = list[dict[str, Any]]


@writes
def append_message(
    db: Store, session_id: str, role: str, content: Any = None, **fields: Unpack[MessageFields]
) -> int:
    """Add a message and update the session's counters. Returns the row id.

    Raises:
        MissingSessionError: The session has no row (any more).
    """
    message = {"role": role, "content": content, **fields}
    add = messages_table.addition(
        session_id, message, db._clock.time(), notes_time=db._file.notes_activity
    )
    return db._execute_write(add)


@writes
def replace_messages(
    db: Store,
    session_id: str,
    messages: Sequence[Mapping[str, Any]],
    active_only: bool = False,  # noqa: FBT001, FBT002 - see __init__
) -> None:
    """Replace all messages, or the active ones, by other messages."""
    now = db._clock.time()
    db._execute_write(
        lambda conn: messages_table.replace(
            conn, session_id, messages, now, active_only=active_only
        )
    )


@writes
def archive_and_compact(
    db: Store, session_id: str, compacted_messages: Sequence[Mapping[str, Any]]
) -> int:
    """Archive the active messages, still visible, and insert a new context.

    Returns:
        How many messages were archived.
    """
    now = db._clock.time()
    return db._execute_write(
        lambda conn: messages_table.archive_and_compact(conn, session_id, compacted_messages, now)
    )


@reads
def get_messages(
    db: Store,
    session_id: str,
    include_inactive: bool = False,  # noqa: FBT001, FBT002 - see __init__
    limit: int | None = None,
    offset: int = 0,
) -> list[dict[str, Any]]:
    """Return messages with all columns, in order, content and tool calls decoded."""
    rows = db.read(
        lambda conn: messages_table.select(
            conn, [session_id], include_inactive=include_inactive, limit=limit, offset=offset
        )
    )
    return [messages_table.decoded(row) for row in rows]


@reads
def message_count(db: Store, session_id: str | None = None) -> int:
    """Return the number of message rows, inactive ones included."""
    return db.read(lambda conn: messages_table.count(conn, session_id))


@reads
def read_messages(
    db: Store,
    session_id: str,
    *,
    before_id: int | None = None,
    after_id: int | None = None,
    limit: int = 60,
) -> list[Message]:
    """Return a page of visible messages, in order of their ids.

    Args:
        session_id: The session; messages of other segments are not included.
        before_id: The last ``limit`` messages before this row.
        after_id: The first ``limit`` messages after this row.
        limit: Size of the page. Without an edge: the newest messages.
    """
    return db.read(
        lambda conn: transcript_rows.read_page(
            conn, session_id, before_id=before_id, after_id=after_id, limit=limit
        )
    )


@reads
def messages_by_ids(db: Store, ids: Collection[int]) -> list[Message]:
    """Return messages by row id in order, hidden ones too; missing ones are left out."""
    return db.read(lambda conn: transcript_rows.messages_by_ids(conn, ids))


@reads
def count_not_told(db: Store, session_id: str, before_id: int, mark: str) -> int:
    """Return how many messages a summary replaces.

    See :func:`transcript_rows.count_not_told`.
    """
    return db.read(lambda conn: transcript_rows.count_not_told(conn, session_id, before_id, mark))


@reads
def session_mark(db: Store, session_id: str) -> SessionMark | None:
    """Return a fingerprint of a session, to be compared later; None if the session is gone."""
    return db.read(lambda conn: db._marks.read(conn, session_id))


@reads
def list_recent_user_messages(
    db: Store,
    session_id: str,
    limit: int = 20,
    include_inactive: bool = False,  # noqa: FBT001, FBT002 - see above
) -> list[dict[str, Any]]:
    """Return ``id``, ``timestamp`` and ``preview`` of the last user messages, newest first."""
    return db.read(
        lambda conn: messages_table.recent_user_messages(
            conn, session_id, limit, include_inactive=include_inactive
        )
    )


@writes
def set_latest_user_api_content(db: Store, session_id: str, content: Any, api_content: str) -> int:
    """Store the text that was sent for the last user message, if that is ``content``.

    Returns:
        1, or 0 when the last user message has another content.
    """
    return db._execute_write(
        lambda conn: messages_table.set_sent_text(conn, session_id, content, api_content)
    )


@reads
def get_messages_as_conversation(
    db: Store,
    session_id: str,
    include_ancestors: bool = False,  # noqa: FBT001, FBT002 - positional in programs that use this class
    include_inactive: bool = False,  # noqa: FBT001, FBT002
    repair_alternation: bool = False,  # noqa: FBT001, FBT002
) -> Conversation:
    """Return messages in the model's format.

    Args:
        session_id: The session.
        include_ancestors: Include the messages of all ancestors before its own.
        include_inactive: Include messages that were undone or summarized away.
        repair_alternation: Repair to the order that endpoints require; see :mod:`conversation`.
    """

    def select(conn: sqlite3.Connection) -> list[sqlite3.Row]:
        start = clean_text(session_id)
        ids = lineage.ancestry(conn, start) if include_ancestors else [start]
        return messages_table.select(conn, ids, include_inactive=include_inactive)

    found = conversation.conversation(db.read(select), drop_replayed=include_ancestors)
    return conversation.repaired(found) if repair_alternation else found


@writes
def create_branch(
    db: Store,
    branch: Branch,
    *,
    on_progress: OnProgress = silent,
    cancel: CancelSignal | None = None,
) -> int:
    """Copy a conversation into a new session; see :class:`Branch`.

    A long one is copied in many transactions and stays hidden until it is complete.

    Args:
        branch: The session to copy, and its destination.
        on_progress: Receives the progress of a long copy.
        cancel: Once set, the partial copy is removed.

    Returns:
        How many messages were copied.

    Raises:
        MissingSessionError: The origin has no row.
        RefusedError: The id of the copy is taken.
        TitleError: The title is too long.
        CancelledError: ``cancel`` was set.
    """
    now = db._clock.time()
    return long_sessions.create_branch(db, branch, now, on_progress=on_progress, cancel=cancel)


@writes
def compact_in_place(db: Store, wanted: Compaction) -> int:
    """Archive messages, still visible, and insert a new context.

    See :func:`compaction.in_place`.

    Returns:
        How many messages were added by other writers in the meantime and kept.

    Raises:
        MissingSessionError: The session has no row.
        BusyError: Another holder compresses it.
        RefusedError: It was changed in the meantime; nothing was done.
    """
    now = db._clock.time()
    return db._execute_write(lambda conn: compaction.in_place(conn, wanted, now))


@writes
def rotate_session(db: Store, wanted: Compaction, new_id: str) -> int:
    """End a session and continue in a new one; see :func:`compaction.rotate`.

    Returns and raises as :meth:`compact_in_place`.
    """
    now, layout = db._clock.time(), db.layout
    return db._execute_write(lambda conn: compaction.rotate(conn, wanted, new_id, now, layout))


@writes
def rewind_to_message(db: Store, session_id: str, target_message_id: int) -> dict[str, Any]:
    """Undo a user message and everything after it; see :func:`messages_table.rewind`.

    Many messages are undone in short transactions, the newest first. So a reader in between, or
    after a crash, finds a conversation that ends earlier, never one with a hole. Repeating the
    operation finishes it. Replacing many messages by *others* (``replace_messages``,
    ``archive_and_compact``) has no such order: half of it would be a conversation that never took
    place, or none at all, and the search index is rewritten row by row in any case. That remains
    one transaction.

    Raises:
        ValueError: The message is not in this session, or not the user's; nothing was changed.
        BusyError: Another program keeps the file locked; the newest messages may be undone.
    """
    name = clean_text(session_id)
    db.read(lambda conn: messages_table.target(conn, name, target_message_id))
    before = _rewind_in_steps(db, name, target_message_id)
    done = db._execute_write(lambda conn: messages_table.rewind(conn, name, target_message_id))
    return {**done, "rewound_count": done["rewound_count"] + before}


def _rewind_in_steps(db: Store, session_id: str, message_id: int) -> int:
    """Undo what exceeds one transaction, all but the last step. Returns how many rows."""
    which = "session_id = ? AND id > ? AND active = 1"
    pieces = db.read(lambda conn: message_pieces(conn, which, (session_id, message_id)))
    if fits_one(len(pieces), sum(piece.bytes for piece in pieces)):
        return 0
    changed = 0

    def work(conn: sqlite3.Connection, ids: Sequence[int]) -> Ended | None:
        nonlocal changed
        for chunk in chunks(list(ids)):
            changed += conn.execute(
                f"UPDATE messages SET active = 0 WHERE id IN ({marks(chunk)}) "
                "AND session_id = ? AND active <> 0",
                (*chunk, session_id),
            ).rowcount
        return None

    in_steps(db, pieces[::-1], work)
    return changed


@reads
def active_message_ids(db: Store, session_id: str, since: int) -> list[int]:
    """Return the ids of the active messages of a session from one on, in order."""
    return db.read(lambda conn: messages_table.active_ids(conn, session_id, since))


@writes
def restore_messages(db: Store, session_id: str, ids: Sequence[int]) -> int:
    """Revert :func:`rewind_to_message`; see :func:`messages_table.restore`.

    Many messages are restored in short transactions, the oldest first. So a reader in between, or
    after a crash, finds a conversation that ends earlier. Repeating the operation finishes it.
    """
    changed, ordered = 0, sorted(ids)
    for start in range(0, len(ordered), MOST_ROWS):
        some = ordered[start : start + MOST_ROWS]
        changed += db._execute_write(
            partial(messages_table.restore, session_id=session_id, ids=some)
        )
    return changed


@reads
def search(
    db: Store,
    query: SearchQuery,
    *,
    on_hits: Callable[[Sequence[SearchHit]], None],
    cancel: CancelSignal | None = None,
) -> SearchOutcome:
    """Find messages and deliver them in pages.

    Args:
        query: The query.
        on_hits: Called on the calling thread with each page, in order.
        cancel: Set from another thread to stop; a running SQLite query ends within
            milliseconds, soonest by an
            :class:`~hermes_desktop.state.search.search_cancellation.SearchCancelSignal`.

    Raises:
        BusyError: Another program keeps the file locked.
        StateError: The messages cannot be read.
    """
    return Search(db, query, cancel).run(on_hits)


@reads
def search_messages(  # noqa: PLR0913, PLR0917 - called so by programs that use this class
    db: Store,
    query: str,
    source_filter: Collection[str] | None = None,
    exclude_sources: Collection[str] | None = None,
    role_filter: Collection[str] | None = None,
    limit: int = 20,
    offset: int = 0,
    sort: str | None = None,
    include_inactive: bool = False,  # noqa: FBT001, FBT002 - see SessionDB
) -> list[dict[str, Any]]:
    """Find messages as rows with a snippet (``>>>hit<<<``) and the surrounding messages.

    Args:
        query: Words, "phrases", ``prefixes*``, AND, OR, NOT; never an error.
        source_filter: Only in conversations of these sources.
        exclude_sources: Not in these.
        role_filter: Only messages of these roles.
        limit: Maximum number of rows.
        offset: Number of rows to skip.
        sort: ``newest`` or ``oldest``; anything else: the best match first.
        include_inactive: Also messages that the user undid.
    """
    request = search_rows.Request(
        SearchQuery(
            query,
            sources=source_filter or None,
            exclude_sources=exclude_sources or (),
            roles=role_filter or None,
            include_rewound=include_inactive,
        ),
        limit=limit,
        offset=offset,
        sort=sort if sort in {"newest", "oldest"} else None,
    )
    return db.read(lambda conn: search_rows.find(conn, db.layout, request))
