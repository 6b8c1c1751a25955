"""AsyncSessionDB: the methods of SessionDB as coroutine functions."""

import functools
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.facade.store import Thread, thread_of
from hermes_desktop.state.records.records import StoreCondition

P = ParamSpec("P")
T = TypeVar("T")


def _awaitable(
    method: Callable[Concatenate[SessionDB, P], T],
) -> "Callable[Concatenate[AsyncSessionDB, P], Coroutine[Any, Any, T]]":
    """Return a method of SessionDB as a coroutine function with the same parameters.

    It runs on the thread that the method declares. The method is looked up by its name when it is
    called, so that an object which has only some of the methods can replace the database.
    """
    thread = thread_of(method)

    @functools.wraps(method)
    async def call(store: "AsyncSessionDB", /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound: Callable[P, T] = getattr(store._db, method.__name__)
        return await store._workers[thread].run(bound, *args, **kwargs)

    return call


class AsyncSessionDB:
    """A SessionDB whose methods run on worker threads and can be awaited.

    Every public method of :class:`SessionDB` has its line below and keeps its parameters and
    result; it is documented there, and declares there whether it may write. ``export_each`` is
    missing: its iterator reads while it is iterated, which would be on the event loop. Methods that
    may write share one thread and run in the order of the calls.

    Args:
        db: The database, or any object with the methods that are used; also available as ``_db``.
        read: Workers for reads; created on demand if not given.
        write: Workers for writes; a single thread.
    """

    def __init__(
        self,
        db: SessionDB,
        *,
        read: WorkerThreads | None = None,
        write: WorkerThreads | None = None,
    ) -> None:
        self._db = db
        given = {Thread.READ: read, Thread.WRITE: write}
        self._workers = {
            thread: workers or WorkerThreads(thread.value) for thread, workers in given.items()
        }
        self._own = [self._workers[thread] for thread, workers in given.items() if not workers]

    def close_workers(self) -> None:
        """Stop the worker threads created by this object; given ones, and the store, are left."""
        for workers in self._own:
            workers.close()

    @property
    def db_path(self) -> Path:
        """The path of the file."""
        return self._db.db_path

    @property
    def condition(self) -> StoreCondition:
        """Whether the file may be written, and if not why."""
        return self._db.condition

    @property
    def layout(self) -> FileLayout:
        """The tables and columns the file actually has."""
        return self._db.layout

    @property
    def keeps_deliveries(self) -> bool:
        """Whether deliveries can be stored in the file."""
        return self._db.keeps_deliveries

    @property
    def shares_pins(self) -> bool:
        """Whether pins are stored in the file itself."""
        return self._db.shares_pins

    async def sanitize_title(self, title: str | None) -> str | None:
        """Call :meth:`SessionDB.sanitize_title`."""
        return self._db.sanitize_title(title)

    async def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Call :meth:`SessionDB.read`."""
        return await self._workers[Thread.READ].run(self._db.read, fn)

    async def _execute_write(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        return await self._workers[Thread.WRITE].run(self._db._execute_write, fn)

    look_again = _awaitable(SessionDB.look_again)
    require_writable = _awaitable(SessionDB.require_writable)
    close = _awaitable(SessionDB.close)

    # Rows of sessions

    create_session = _awaitable(SessionDB.create_session)
    ensure_session = _awaitable(SessionDB.ensure_session)
    end_session = _awaitable(SessionDB.end_session)
    reopen_session = _awaitable(SessionDB.reopen_session)
    promote_to_session_reset = _awaitable(SessionDB.promote_to_session_reset)
    get_session = _awaitable(SessionDB.get_session)
    resolve_session_id = _awaitable(SessionDB.resolve_session_id)
    ids_with_prefix = _awaitable(SessionDB.ids_with_prefix)
    get_session_title = _awaitable(SessionDB.get_session_title)
    get_session_by_title = _awaitable(SessionDB.get_session_by_title)
    resolve_session_by_title = _awaitable(SessionDB.resolve_session_by_title)
    get_next_title_in_lineage = _awaitable(SessionDB.get_next_title_in_lineage)
    set_session_title = _awaitable(SessionDB.set_session_title)
    set_auto_title_if_empty = _awaitable(SessionDB.set_auto_title_if_empty)
    get_compression_tip = _awaitable(SessionDB.get_compression_tip)
    get_compression_lineage = _awaitable(SessionDB.get_compression_lineage)
    get_conversation_root = _awaitable(SessionDB.get_conversation_root)
    resolve_resume_session_id = _awaitable(SessionDB.resolve_resume_session_id)
    list_sessions_rich = _awaitable(SessionDB.list_sessions_rich)
    search_sessions = _awaitable(SessionDB.search_sessions)
    session_count = _awaitable(SessionDB.session_count)
    list_summaries = _awaitable(SessionDB.list_summaries)
    summaries = _awaitable(SessionDB.summaries)
    summary = _awaitable(SessionDB.summary)
    list_cron_job_runs = _awaitable(SessionDB.list_cron_job_runs)
    update_token_counts = _awaitable(SessionDB.update_token_counts)
    record_auxiliary_usage = _awaitable(SessionDB.record_auxiliary_usage)
    usage_of = _awaitable(SessionDB.usage_of)
    context_size = _awaitable(SessionDB.context_size)
    update_session_meta = _awaitable(SessionDB.update_session_meta)
    update_session_cwd = _awaitable(SessionDB.update_session_cwd)
    own_pins_if_readable = _awaitable(SessionDB.own_pins_if_readable)
    set_session_pinned = _awaitable(SessionDB.set_session_pinned)
    set_session_archived = _awaitable(SessionDB.set_session_archived)
    own_fact = _awaitable(SessionDB.own_fact)
    put_own_fact = _awaitable(SessionDB.put_own_fact)
    recent_folders = _awaitable(SessionDB.recent_folders)

    # Messages

    append_message = _awaitable(SessionDB.append_message)
    replace_messages = _awaitable(SessionDB.replace_messages)
    archive_and_compact = _awaitable(SessionDB.archive_and_compact)
    get_messages = _awaitable(SessionDB.get_messages)
    message_count = _awaitable(SessionDB.message_count)
    read_messages = _awaitable(SessionDB.read_messages)
    messages_by_ids = _awaitable(SessionDB.messages_by_ids)
    count_not_told = _awaitable(SessionDB.count_not_told)
    session_mark = _awaitable(SessionDB.session_mark)
    list_recent_user_messages = _awaitable(SessionDB.list_recent_user_messages)
    set_latest_user_api_content = _awaitable(SessionDB.set_latest_user_api_content)
    get_messages_as_conversation = _awaitable(SessionDB.get_messages_as_conversation)
    create_branch = _awaitable(SessionDB.create_branch)
    compact_in_place = _awaitable(SessionDB.compact_in_place)
    rotate_session = _awaitable(SessionDB.rotate_session)
    rewind_to_message = _awaitable(SessionDB.rewind_to_message)
    active_message_ids = _awaitable(SessionDB.active_message_ids)
    restore_messages = _awaitable(SessionDB.restore_messages)
    search = _awaitable(SessionDB.search)
    search_messages = _awaitable(SessionDB.search_messages)

    # Deletion, pruning, archiving, maintenance

    lineage_ids_for_delete = _awaitable(SessionDB.lineage_ids_for_delete)
    selection = _awaitable(SessionDB.selection)
    candidates = _awaitable(SessionDB.candidates)
    ended_session_of = _awaitable(SessionDB.ended_session_of)
    prune_selection = _awaitable(SessionDB.prune_selection)
    delete_sessions = _awaitable(SessionDB.delete_sessions)
    prune = _awaitable(SessionDB.prune)
    prune_empty_ghost_sessions = _awaitable(SessionDB.prune_empty_ghost_sessions)
    finish_what_was_cut_short = _awaitable(SessionDB.finish_what_was_cut_short)
    archive = _awaitable(SessionDB.archive)
    finalize_orphaned_compression_sessions = _awaitable(
        SessionDB.finalize_orphaned_compression_sessions
    )
    maybe_auto_prune_and_vacuum = _awaitable(SessionDB.maybe_auto_prune_and_vacuum)
    last_auto_prune = _awaitable(SessionDB.last_auto_prune)
    auto_prune_due_at = _awaitable(SessionDB.auto_prune_due_at)
    optimize_fts = _awaitable(SessionDB.optimize_fts)
    rebuild_fts = _awaitable(SessionDB.rebuild_fts)
    vacuum = _awaitable(SessionDB.vacuum)

    # Chats, routes, hand-offs, compression locks, deliveries

    find_latest_gateway_session_for_peer = _awaitable(
        SessionDB.find_latest_gateway_session_for_peer
    )
    record_gateway_session_peer = _awaitable(SessionDB.record_gateway_session_peer)
    set_expiry_finalized = _awaitable(SessionDB.set_expiry_finalized)
    load_gateway_routing_entries = _awaitable(SessionDB.load_gateway_routing_entries)
    save_routing_changes = _awaitable(SessionDB.save_routing_changes)
    get_handoff_state = _awaitable(SessionDB.get_handoff_state)
    list_pending_handoffs = _awaitable(SessionDB.list_pending_handoffs)
    request_handoff = _awaitable(SessionDB.request_handoff)
    claim_handoff = _awaitable(SessionDB.claim_handoff)
    complete_handoff = _awaitable(SessionDB.complete_handoff)
    fail_handoff = _awaitable(SessionDB.fail_handoff)
    get_compression_lock_holder = _awaitable(SessionDB.get_compression_lock_holder)
    compression_lock = _awaitable(SessionDB.compression_lock)
    try_acquire_compression_lock = _awaitable(SessionDB.try_acquire_compression_lock)
    refresh_compression_lock = _awaitable(SessionDB.refresh_compression_lock)
    release_compression_lock = _awaitable(SessionDB.release_compression_lock)
    get_compression_failure_cooldown = _awaitable(SessionDB.get_compression_failure_cooldown)
    record_compression_failure_cooldown = _awaitable(SessionDB.record_compression_failure_cooldown)
    clear_compression_failure_cooldown = _awaitable(SessionDB.clear_compression_failure_cooldown)
    get_compression_fallback_streak = _awaitable(SessionDB.get_compression_fallback_streak)
    set_compression_fallback_streak = _awaitable(SessionDB.set_compression_fallback_streak)
    open_deliveries = _awaitable(SessionDB.open_deliveries)
    delivery_owed_since = _awaitable(SessionDB.delivery_owed_since)
    owe_delivery = _awaitable(SessionDB.owe_delivery)
    set_delivery_state = _awaitable(SessionDB.set_delivery_state)
    take_over_delivery = _awaitable(SessionDB.take_over_delivery)
    forgive_delivery_attempt = _awaitable(SessionDB.forgive_delivery_attempt)
    prune_deliveries = _awaitable(SessionDB.prune_deliveries)
    last_message_row = _awaitable(SessionDB.last_message_row)
    reply_after = _awaitable(SessionDB.reply_after)
    prompt_stored_after = _awaitable(SessionDB.prompt_stored_after)
    overtaken_after = _awaitable(SessionDB.overtaken_after)
    chat_has_message = _awaitable(SessionDB.chat_has_message)

    # Export and import

    export_session_lineage = _awaitable(SessionDB.export_session_lineage)
    export_all = _awaitable(SessionDB.export_all)
    import_sessions = _awaitable(SessionDB.import_sessions)
