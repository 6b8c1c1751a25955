"""AsyncSessionDB: the methods of SessionDB as coroutine functions."""

import functools
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.state.database.schema import FileLayout
from hermes_desktop.state.facade.session_db import SessionDB
from hermes_desktop.state.records.records import StoreCondition

P = ParamSpec("P")
T = TypeVar("T")


def _awaitable(
    method: Callable[Concatenate[SessionDB, P], T],
    workers_of: "Callable[[AsyncSessionDB], WorkerThreads]",
) -> "Callable[Concatenate[AsyncSessionDB, P], Coroutine[Any, Any, T]]":
    """Return a method of SessionDB as a coroutine function with the same parameters.

    The method is looked up by its name when it is called, so that an object which has only some of
    the methods can replace the database.
    """

    @functools.wraps(method)
    async def call(store: "AsyncSessionDB", /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound: Callable[P, T] = getattr(store._db, method.__name__)  # noqa: SLF001 - its own method
        return await workers_of(store).run(bound, *args, **kwargs)

    return call


def _reads(
    method: Callable[Concatenate[SessionDB, P], T],
) -> "Callable[Concatenate[AsyncSessionDB, P], Coroutine[Any, Any, T]]":
    return _awaitable(method, lambda store: store._read)  # noqa: SLF001 - as above


def _writes(
    method: Callable[Concatenate[SessionDB, P], T],
) -> "Callable[Concatenate[AsyncSessionDB, P], Coroutine[Any, Any, T]]":
    return _awaitable(method, lambda store: store._write)  # noqa: SLF001 - as above


class AsyncSessionDB:
    """A SessionDB whose methods run on worker threads and can be awaited.

    Every public method of :class:`SessionDB` has its line below and keeps its parameters and
    result; it is documented there. ``export_each`` is missing: its iterator reads while it is
    iterated, which would be on the event loop. Methods that may write share one thread and run in
    the order of the calls.

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
        self._read = read or WorkerThreads("state-read")
        self._write = write or WorkerThreads("state-write")
        self._own = [own for own, given in ((self._read, read), (self._write, write)) if not given]

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
        return await self._read.run(self._db.read, fn)

    async def _execute_write(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        return await self._write.run(self._db._execute_write, fn)  # noqa: SLF001

    # Methods that may write

    create_session = _writes(SessionDB.create_session)
    ensure_session = _writes(SessionDB.ensure_session)
    end_session = _writes(SessionDB.end_session)
    reopen_session = _writes(SessionDB.reopen_session)
    promote_to_session_reset = _writes(SessionDB.promote_to_session_reset)
    update_session_model = _writes(SessionDB.update_session_model)
    set_session_title = _writes(SessionDB.set_session_title)
    set_auto_title_if_empty = _writes(SessionDB.set_auto_title_if_empty)
    append_message = _writes(SessionDB.append_message)
    replace_messages = _writes(SessionDB.replace_messages)
    archive_and_compact = _writes(SessionDB.archive_and_compact)
    clear_messages = _writes(SessionDB.clear_messages)
    rewind_to_message = _writes(SessionDB.rewind_to_message)
    restore_rewound = _writes(SessionDB.restore_rewound)
    set_meta = _writes(SessionDB.set_meta)
    put_own_fact = _writes(SessionDB.put_own_fact)
    prune_empty_ghost_sessions = _writes(SessionDB.prune_empty_ghost_sessions)
    finalize_orphaned_compression_sessions = _writes(
        SessionDB.finalize_orphaned_compression_sessions
    )
    maybe_auto_prune_and_vacuum = _writes(SessionDB.maybe_auto_prune_and_vacuum)
    last_auto_prune = _writes(SessionDB.last_auto_prune)
    auto_prune_due_at = _writes(SessionDB.auto_prune_due_at)
    optimize_fts = _writes(SessionDB.optimize_fts)
    rebuild_fts = _writes(SessionDB.rebuild_fts)
    vacuum = _writes(SessionDB.vacuum)
    delete_session = _writes(SessionDB.delete_session)
    delete_sessions = _writes(SessionDB.delete_sessions)
    finish_what_was_cut_short = _writes(SessionDB.finish_what_was_cut_short)
    delete_session_if_empty = _writes(SessionDB.delete_session_if_empty)
    delete_empty_sessions = _writes(SessionDB.delete_empty_sessions)
    prune = _writes(SessionDB.prune)
    prune_sessions = _writes(SessionDB.prune_sessions)
    archive = _writes(SessionDB.archive)
    archive_sessions = _writes(SessionDB.archive_sessions)
    set_session_archived = _writes(SessionDB.set_session_archived)
    import_sessions = _writes(SessionDB.import_sessions)
    set_session_pinned = _writes(SessionDB.set_session_pinned)
    create_branch = _writes(SessionDB.create_branch)
    set_latest_user_api_content = _writes(SessionDB.set_latest_user_api_content)
    compact_in_place = _writes(SessionDB.compact_in_place)
    rotate_session = _writes(SessionDB.rotate_session)
    record_gateway_session_peer = _writes(SessionDB.record_gateway_session_peer)
    set_expiry_finalized = _writes(SessionDB.set_expiry_finalized)
    save_routing_changes = _writes(SessionDB.save_routing_changes)
    save_gateway_routing_entry = _writes(SessionDB.save_gateway_routing_entry)
    replace_gateway_routing_entries = _writes(SessionDB.replace_gateway_routing_entries)
    delete_gateway_routing_entries = _writes(SessionDB.delete_gateway_routing_entries)
    request_handoff = _writes(SessionDB.request_handoff)
    claim_handoff = _writes(SessionDB.claim_handoff)
    complete_handoff = _writes(SessionDB.complete_handoff)
    fail_handoff = _writes(SessionDB.fail_handoff)
    try_acquire_compression_lock = _writes(SessionDB.try_acquire_compression_lock)
    refresh_compression_lock = _writes(SessionDB.refresh_compression_lock)
    release_compression_lock = _writes(SessionDB.release_compression_lock)
    record_compression_failure_cooldown = _writes(SessionDB.record_compression_failure_cooldown)
    clear_compression_failure_cooldown = _writes(SessionDB.clear_compression_failure_cooldown)
    set_compression_fallback_streak = _writes(SessionDB.set_compression_fallback_streak)
    owe_delivery = _writes(SessionDB.owe_delivery)
    set_delivery_state = _writes(SessionDB.set_delivery_state)
    take_over_delivery = _writes(SessionDB.take_over_delivery)
    forgive_delivery_attempt = _writes(SessionDB.forgive_delivery_attempt)
    prune_deliveries = _writes(SessionDB.prune_deliveries)
    update_token_counts = _writes(SessionDB.update_token_counts)
    record_auxiliary_usage = _writes(SessionDB.record_auxiliary_usage)
    usage_of = _writes(SessionDB.usage_of)
    context_size = _writes(SessionDB.context_size)
    update_session_billing_route = _writes(SessionDB.update_session_billing_route)
    update_session_meta = _writes(SessionDB.update_session_meta)
    update_session_cwd = _writes(SessionDB.update_session_cwd)
    backfill_repo_roots = _writes(SessionDB.backfill_repo_roots)

    # Methods that only read

    lineage_ids_for_delete = _reads(SessionDB.lineage_ids_for_delete)
    selection = _reads(SessionDB.selection)
    candidates = _reads(SessionDB.candidates)
    ended_session_of = _reads(SessionDB.ended_session_of)
    list_prune_candidates = _reads(SessionDB.list_prune_candidates)
    prune_selection = _reads(SessionDB.prune_selection)
    count_empty_sessions = _reads(SessionDB.count_empty_sessions)
    export_session = _reads(SessionDB.export_session)
    export_session_lineage = _reads(SessionDB.export_session_lineage)
    export_all = _reads(SessionDB.export_all)
    get_messages_as_conversation = _reads(SessionDB.get_messages_as_conversation)
    get_resume_conversations = _reads(SessionDB.get_resume_conversations)
    get_ancestor_display_prefix = _reads(SessionDB.get_ancestor_display_prefix)
    get_messages_around = _reads(SessionDB.get_messages_around)
    get_anchored_view = _reads(SessionDB.get_anchored_view)
    list_recent_user_messages = _reads(SessionDB.list_recent_user_messages)
    search_sessions_by_id = _reads(SessionDB.search_sessions_by_id)
    list_cron_job_runs = _reads(SessionDB.list_cron_job_runs)
    distinct_session_cwds = _reads(SessionDB.distinct_session_cwds)
    list_gateway_sessions = _reads(SessionDB.list_gateway_sessions)
    find_session_by_origin = _reads(SessionDB.find_session_by_origin)
    find_latest_gateway_session_for_peer = _reads(SessionDB.find_latest_gateway_session_for_peer)
    load_gateway_routing_entries = _reads(SessionDB.load_gateway_routing_entries)
    get_handoff_state = _reads(SessionDB.get_handoff_state)
    list_pending_handoffs = _reads(SessionDB.list_pending_handoffs)
    get_compression_lock_holder = _reads(SessionDB.get_compression_lock_holder)
    compression_lock = _reads(SessionDB.compression_lock)
    get_compression_failure_cooldown = _reads(SessionDB.get_compression_failure_cooldown)
    get_compression_fallback_streak = _reads(SessionDB.get_compression_fallback_streak)
    open_deliveries = _reads(SessionDB.open_deliveries)
    delivery_owed_since = _reads(SessionDB.delivery_owed_since)
    last_message_row = _reads(SessionDB.last_message_row)
    reply_after = _reads(SessionDB.reply_after)
    prompt_stored_after = _reads(SessionDB.prompt_stored_after)
    overtaken_after = _reads(SessionDB.overtaken_after)
    chat_has_message = _reads(SessionDB.chat_has_message)
    search = _reads(SessionDB.search)
    search_messages = _reads(SessionDB.search_messages)
    get_session = _reads(SessionDB.get_session)
    resolve_session_id = _reads(SessionDB.resolve_session_id)
    ids_with_prefix = _reads(SessionDB.ids_with_prefix)
    get_session_title = _reads(SessionDB.get_session_title)
    get_session_by_title = _reads(SessionDB.get_session_by_title)
    resolve_session_by_title = _reads(SessionDB.resolve_session_by_title)
    get_next_title_in_lineage = _reads(SessionDB.get_next_title_in_lineage)
    get_compression_tip = _reads(SessionDB.get_compression_tip)
    get_compression_lineage = _reads(SessionDB.get_compression_lineage)
    get_conversation_root = _reads(SessionDB.get_conversation_root)
    resolve_resume_session_id = _reads(SessionDB.resolve_resume_session_id)
    get_messages = _reads(SessionDB.get_messages)
    message_count = _reads(SessionDB.message_count)
    has_archived_messages = _reads(SessionDB.has_archived_messages)
    has_platform_message_id = _reads(SessionDB.has_platform_message_id)
    list_sessions_rich = _reads(SessionDB.list_sessions_rich)
    search_sessions = _reads(SessionDB.search_sessions)
    session_count = _reads(SessionDB.session_count)
    list_summaries = _reads(SessionDB.list_summaries)
    summaries = _reads(SessionDB.summaries)
    summary = _reads(SessionDB.summary)
    count_not_told = _reads(SessionDB.count_not_told)
    read_messages = _reads(SessionDB.read_messages)
    messages_by_ids = _reads(SessionDB.messages_by_ids)
    session_mark = _reads(SessionDB.session_mark)
    pinned_ids = _reads(SessionDB.pinned_ids)
    own_pins_if_readable = _reads(SessionDB.own_pins_if_readable)
    get_meta = _reads(SessionDB.get_meta)
    own_fact = _reads(SessionDB.own_fact)
    look_again = _reads(SessionDB.look_again)
    require_writable = _reads(SessionDB.require_writable)
    close = _reads(SessionDB.close)
