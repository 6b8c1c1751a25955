"""Methods of SessionDB on rows of sessions: titles, lineage, lists, usage, pins, archiving.

The first parameter of each is the open store; ``SessionDB`` takes them as its methods.
"""

import logging
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any, Literal, Unpack

from hermes_desktop.core.errors import BusyError, StateError
from hermes_desktop.core.usage import ModelUsage
from hermes_desktop.state.facade.store import Store, reads, writes
from hermes_desktop.state.records.content_codec import clean_text
from hermes_desktop.state.records.records import SessionRow, SessionSummary
from hermes_desktop.state.sessions import (
    deletion,
    lineage,
    list_order,
    pins,
    session_list,
    sessions_table,
    titles,
    usage_table,
)
from hermes_desktop.state.sessions.session_list import ListFilter, ListOptions
from hermes_desktop.state.sessions.sessions_table import OptionalFields, SessionFields
from hermes_desktop.state.sessions.usage_table import ContextSize, RecordingOptions, Usage
from hermes_desktop.state.shared_tables import desktop_database

log = logging.getLogger(__name__)


@writes
def create_session(db: Store, session_id: str, source: str, **fields: Unpack[SessionFields]) -> str:
    """Create a session; in an existing one only fill in missing values. Returns the id.

    Raises:
        MissingSessionError: ``parent_session_id`` names no session.
    """
    now = db._clock.time()
    layout = db.layout
    db._execute_write(
        lambda conn: sessions_table.insert(conn, session_id, source, now, fields, layout)
    )
    return session_id


@writes
def ensure_session(
    db: Store,
    session_id: str,
    source: str = "unknown",
    model: str | None = None,
    **fields: Unpack[OptionalFields],
) -> str:
    """Create a session like :meth:`create_session`, when it may already exist."""
    return create_session(db, session_id, source, model=model, **fields)


@writes
def end_session(db: Store, session_id: str, end_reason: str) -> None:
    """End an open session; the first reason stays."""
    now = db._clock.time()
    db._execute_write(lambda conn: sessions_table.end(conn, session_id, end_reason, now))


@writes
def reopen_session(db: Store, session_id: str) -> None:
    """Reopen an ended session."""
    db._execute_write(lambda conn: sessions_table.reopen(conn, session_id))


@writes
def promote_to_session_reset(db: Store, session_id: str, reason: str = "session_reset") -> bool:
    """End a session deliberately, also one that only lost its agent. Never raises StateError.

    Returns:
        Whether this call ended it.
    """
    now = db._clock.time()
    try:
        return db._execute_write(
            lambda conn: sessions_table.end_by_reset(conn, session_id, reason, now)
        )
    except StateError:
        return False


@reads
def get_session(db: Store, session_id: str) -> SessionRow | None:
    """Return all columns of a session by name, None if there is none."""
    return db.read(lambda conn: sessions_table.get(conn, session_id))


@reads
def resolve_session_id(db: Store, session_id_or_prefix: str) -> str | None:
    """Return the id that is this text or the only one that begins with it; "" finds nothing."""
    return db.read(lambda conn: sessions_table.find_by_prefix(conn, session_id_or_prefix))


@reads
def ids_with_prefix(db: Store, text: str, *, limit: int) -> list[str]:
    """Return at most ``limit`` ids that begin with the text; "" finds nothing."""
    return db.read(lambda conn: sessions_table.ids_with_prefix(conn, text, limit=limit))


@reads
def get_session_title(db: Store, session_id: str) -> str | None:
    """Return a session's title, None without one."""
    title = db.read(lambda conn: sessions_table.column(conn, session_id, "title"))
    return title if isinstance(title, str) else None


@reads
def get_session_by_title(db: Store, title: str) -> SessionRow | None:
    """Return the session with exactly this title."""

    def find(conn: sqlite3.Connection) -> SessionRow | None:
        row = conn.execute("SELECT * FROM sessions WHERE title = ?", (clean_text(title),))
        found = row.fetchone()
        return None if found is None else dict(found)

    return db.read(find)


@reads
def resolve_session_by_title(db: Store, title: str) -> str | None:
    """Return the id for a title: the newest ``title #…`` if any exists, else the exact one."""
    return db.read(lambda conn: titles.find_by_title(conn, clean_text(title)))


@reads
def get_next_title_in_lineage(db: Store, base_title: str) -> str:
    """Return the next free title of this name: the name itself, or numbered ``#2`` and up."""
    return db.read(lambda conn: titles.next_title(conn, clean_text(base_title)))


@writes
def set_session_title(db: Store, session_id: str, title: str | None) -> bool:
    """Set the title of a session; a blank one removes it. False: no such session.

    Raises:
        TitleError: Too long, or another session has it.
    """
    clean = titles.sanitize_title(title)
    wanted = clean_text(session_id)
    return db._execute_write(
        lambda conn: titles.set_title(conn, wanted, clean, chosen_by=_noted(db, "user"))
    )


@writes
def set_auto_title_if_empty(db: Store, session_id: str, title: str) -> bool:
    """Set a generated title of a session that has none. False: nothing was done.

    Raises:
        TitleError: Too long, or another session has it.
    """
    clean = titles.sanitize_title(title)
    wanted = clean_text(session_id)
    return clean is not None and db._execute_write(
        lambda conn: titles.set_if_empty(conn, wanted, clean, chosen_by=_noted(db, "llm"))
    )


def _noted(db: Store, chosen_by: str) -> str | None:
    """Return the origin of a title for files that store it (later versions do), else None."""
    return chosen_by if "title_source" in db.layout.columns["sessions"] else None


@reads
def get_compression_tip(db: Store, session_id: str) -> str:
    """Return the last continuation of a conversation that was compressed."""
    return db.read(lambda conn: lineage.compression_tip(conn, clean_text(session_id)))


@reads
def get_compression_lineage(db: Store, session_id: str) -> list[str]:
    """Return all segments of the conversation a session belongs to, in order."""
    return db.read(lambda conn: lineage.compression_lineage(conn, clean_text(session_id)))


@reads
def get_conversation_root(db: Store, session_id: str) -> str:
    """Return the oldest ancestor of a session, the session itself if it has none."""
    return db.read(lambda conn: lineage.conversation_root(conn, clean_text(session_id)))


@reads
def resolve_resume_session_id(db: Store, session_id: str) -> str:
    """Return the session to continue when this one is resumed."""
    return db.read(lambda conn: lineage.resume_target(conn, clean_text(session_id)))


@reads
def list_sessions_rich(
    db: Store, source: str | None = None, **options: Unpack[ListOptions]
) -> list[SessionRow]:
    """Return the session list as rows; the options are those of ``ListFilter``."""
    choice = ListFilter(source=source, **options)
    return db.read(lambda conn: list_order.list_rich(conn, choice, db.layout, db._times))


@reads
def search_sessions(
    db: Store, source: str | None = None, limit: int = 20, offset: int = 0
) -> list[SessionRow]:
    """Return all sessions, children and archived ones too, the latest activity first."""
    return db.read(lambda conn: session_list.recent_rows(conn, source, limit, offset))


@reads
def session_count(
    db: Store,
    source: str | None = None,
    *,
    exclude_children: bool = False,
    **options: Unpack[ListOptions],
) -> int:
    """Return the number of sessions; limit and order do not matter."""
    options["include_children"] = not exclude_children
    choice = ListFilter(source=source, **options)
    return db.read(lambda conn: session_list.count(conn, choice, db.layout))


@reads
def list_summaries(  # noqa: PLR0913 - each is a choice of the list page
    db: Store,
    *,
    source: str | None = None,
    exclude_sources: Sequence[str] = ("tool",),
    limit: int | None = 20,
    offset: int = 0,
    order: Literal["created", "activity"] = "created",
    query: str | None = None,
    include_archived: bool = False,
    empty: bool | None = None,
) -> list[SessionSummary]:
    """Return the session list as records.

    Args:
        source: Only this one, exactly as stored; then nothing is excluded.
        exclude_sources: Left out when no source is named.
        limit: Maximum number of records; None for all.
        offset: Number of records to skip.
        order: By start, or by the latest message; newest first.
        query: Part of a title or id.
        include_archived: Include archived ones too.
        empty: True for sessions without messages only, False for those with.
    """
    choice = ListFilter(
        source=source,
        exclude_sources=() if source is not None else tuple(exclude_sources),
        limit=limit,
        offset=offset,
        order_by_last_active=order == "activity",
        include_archived=include_archived,
        search_query=query,
        search_by_start=bool(query),
        empty=empty,
    )
    pinned = own_pins_if_readable(db)
    return db.read(
        lambda conn: list_order.list_summaries(conn, choice, db.layout, db._times, pinned)
    )


@reads
def summaries(db: Store, ids: Collection[tuple[str, str]]) -> dict[str, SessionSummary]:
    """Return list records for pairs of (root id, tip id), by tip id, without missing rows."""
    pinned = own_pins_if_readable(db)
    return db.read(lambda conn: list_order.summaries(conn, ids, pinned))


@reads
def summary(db: Store, session_id: str) -> SessionSummary | None:
    """Return the list record that covers this session: fields of its root, as of its tip."""
    pinned = own_pins_if_readable(db)

    def find(conn: sqlite3.Connection) -> SessionSummary | None:
        own = clean_text(session_id)
        root = lineage.conversation_start(conn, own)
        tip = lineage.compression_tip(conn, root)
        return list_order.summaries(conn, [(root, tip)], pinned).get(tip)

    return db.read(find)


@reads
def list_cron_job_runs(
    db: Store, job_id: str, limit: int = 20, offset: int = 0
) -> list[SessionRow]:
    """Return the runs of a scheduled job, the latest first."""
    return db.read(
        lambda conn: session_list.runs_of_job(conn, job_id, db.layout, limit=limit, offset=offset)
    )


@writes
def update_token_counts(
    db: Store,
    /,
    session_id: str,
    input_tokens: int = 0,
    output_tokens: int = 0,
    *,
    absolute: bool = False,
    only_existing: bool = False,
    **amounts: Any,
) -> None:
    """Add one call's tokens and costs to a session, or set its totals (``absolute``).

    Args:
        session_id: Created with source ``unknown`` if it has no row, unless ``only_existing``.
        input_tokens: Of the request.
        output_tokens: Of the reply.
        absolute: The numbers are totals.
        only_existing: Do not create a session that has no row (any more).
        amounts: The other fields of ``usage_table.Usage``.
    """
    usage = Usage(input_tokens, output_tokens, **amounts)
    now = db._clock.time()
    db._execute_write(
        lambda conn: usage_table.update(
            conn,
            session_id,
            usage,
            RecordingOptions(now, absolute, only_existing, db.layout.counts_usage),
        )
    )


@writes
def record_auxiliary_usage(
    db: Store, /, session_id: str, task: str, *, only_existing: bool = False, **amounts: Any
) -> None:
    """Record one call of a side task (``vision``, ``title_generation``, …), outside the totals.

    Args:
        session_id: As in :meth:`update_token_counts`.
        task: The purpose of the call.
        only_existing: As in :meth:`update_token_counts`.
        amounts: Fields of ``usage_table.Usage``.
    """
    usage = Usage(**{"api_call_count": 1, **amounts})
    now = db._clock.time()
    db._execute_write(
        lambda conn: usage_table.add_auxiliary(
            conn,
            session_id,
            task,
            usage,
            RecordingOptions(now, only_existing=only_existing, shares=db.layout.counts_usage),
        )
    )


@reads
def usage_of(db: Store, session_ids: Sequence[str]) -> tuple[ModelUsage, ...]:
    """Return the combined usage of sessions by model, the largest first."""
    ids = [clean_text(each) for each in session_ids]
    return db.read(lambda conn: usage_table.usage_by_model(conn, ids))


@reads
def context_size(db: Store, session_id: str) -> ContextSize:
    """Return the size of a session's context for the model, without its system prompt."""
    return db.read(lambda conn: usage_table.context_size(conn, clean_text(session_id)))


@writes
def update_session_meta(
    db: Store, session_id: str, model_config_json: str, model: str | None = None
) -> None:
    """Overwrite a session's settings; the marks of its origin (``_…``) stay.

    Args:
        session_id: The session; an unknown one changes nothing.
        model_config_json: A JSON object; blank for none.
        model: A new model, None to keep the old one.

    Raises:
        ValueError: The text is not a JSON object, which would break every list of sessions.
    """
    config = sessions_table.parse_config(model_config_json)
    db._execute_write(lambda conn: sessions_table.set_config(conn, session_id, config, model))


@writes
def update_session_cwd(
    db: Store,
    session_id: str,
    cwd: str,
    git_branch: str | None = None,
    git_repo_root: str | None = None,
    *,
    moved: bool = False,
) -> None:
    """Store the working folder of a session; blank values keep their old value.

    Args:
        session_id: The session.
        cwd: The folder; blank changes nothing.
        git_branch: The branch that is checked out there.
        git_repo_root: The top folder of its repository.
        moved: It is another folder than before, so that blank values clear the old ones.
    """
    places = {"cwd": cwd, "git_branch": git_branch, "git_repo_root": git_repo_root}

    def store(conn: Any) -> None:
        for name, value in places.items():
            if cwd and (value or moved) and name in db.layout.columns["sessions"]:
                sessions_table.set_column(conn, session_id, name, value)

    db._execute_write(store)


@reads
def recent_folders(db: Store, limit: int) -> list[str]:
    """Return the folders in which the latest sessions work, the latest first."""
    if "cwd" not in db.layout.columns["sessions"]:
        return []
    return db.read(lambda conn: session_list.recent_folders(conn, limit))


def shares_pins(db: Store) -> bool:
    """Return whether the shared file stores pins, so that `hermes` sees them, too."""
    return "pinned" in db.layout.columns["sessions"]


def own_pins(db: Store) -> frozenset[str]:
    """Return the pins of desktop.db.

    Raises:
        StateError: desktop.db cannot be read; then it is unknown what is pinned.
    """
    return db._own.read(pins.in_own_store, default=frozenset[str]())


@reads
def own_pins_if_readable(db: Store) -> frozenset[str]:
    """Return the pins of desktop.db for a list; empty when they cannot be read.

    A list without pins is better than none.
    """
    try:
        found = own_pins(db)
    except (BusyError, StateError) as error:
        if not db._pins_failing:
            log.warning("Pins are not shown: %s %s", error.title, error.detail)
        db._pins_failing = True
        return frozenset()
    db._pins_failing = False
    return found


@writes
def set_session_pinned(db: Store, session_id: str, *, pinned: bool) -> bool:
    """Pin or unpin a conversation, all its segments.

    Returns:
        Whether that changed anything; False for an unknown session.
    """
    wanted = clean_text(session_id)
    if shares_pins(db):
        return _pin_in_shared_file(db, wanted, pinned=pinned)
    members = db.read(lambda conn: _members(conn, wanted))
    if pinned:
        now = db._clock.time()
        return bool(members) and bool(db._own.write(lambda own: pins.add(own, members, now)))
    return bool(own_pins(db).intersection(members)) and bool(
        db._own.write(lambda own: pins.remove(own, members))
    )


def _pin_in_shared_file(db: Store, session_id: str, *, pinned: bool) -> bool:
    """Set the shared column, and move pins there from the time before the file had it."""
    moving = own_pins(db)

    def change(conn: sqlite3.Connection) -> bool:
        members = _members(conn, session_id)
        moved = deletion.existing(conn, moving)
        pins.set_column(conn, moved, pinned=True)
        return bool(pins.set_column(conn, members, pinned=pinned))

    changed = db._execute_write(change)
    if moving:
        db._own.write(lambda own: pins.remove(own, moving))
    return changed


def _members(conn: sqlite3.Connection, session_id: str) -> list[str]:
    return deletion.existing(conn, lineage.families(conn, [session_id]))


@writes
def set_session_archived(
    db: Store,
    session_id: str,
    archived: bool,  # noqa: FBT001 - positional in programs that use this class
) -> bool:
    """Hide a conversation, all its segments, from lists, or show it again. False: unknown."""
    wanted = clean_text(session_id)

    def archive(conn: sqlite3.Connection) -> int:
        members = lineage.conversation(conn, wanted)
        return sessions_table.set_archived(conn, members, archived=bool(archived))

    return bool(db._execute_write(archive))


@reads
def own_fact(db: Store, name: str) -> str | None:
    """Return the text stored under a name in desktop.db, None if there is none."""
    return db._own.read(lambda own: desktop_database.fact(own, name), default=None)


@writes
def put_own_fact(db: Store, name: str, value: str) -> None:
    """Store a text under a name in desktop.db, which no other program reads."""
    db._own.write(lambda own: desktop_database.put_fact(own, name, value))
