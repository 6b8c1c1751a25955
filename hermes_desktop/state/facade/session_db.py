"""SessionDB: a thread-safe facade of one state.db that delegates to the modules of this package."""

import os
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.paths import resolve_paths
from hermes_desktop.state.database.connection import Patience
from hermes_desktop.state.facade import (
    deletion_methods,
    gateway_methods,
    message_methods,
    session_methods,
    transfer_methods,
)
from hermes_desktop.state.facade.store import Store
from hermes_desktop.state.sessions import titles


class SessionDB(Store):
    """The conversations of one home. Thread-safe, starts no thread.

    Every write is one short transaction. While another program locks the file a write waits, about
    20 s at most. All methods may raise ``BusyError`` and ``StateError`` (among them
    ``StateReadOnlyError`` for writes to a file that is only read, see :attr:`condition`).

    Args:
        db_path: The file; created (mode 0600) if missing. None: that of the home the environment
            names.
        read_only: Never create or write anything.
        clock: The source of times.
        patience: How long writes wait for other programs.

    Raises:
        StateUnavailableError: The file cannot be opened or is not a conversation store; it was left
            unchanged.
        BusyError: Another program keeps it locked.
    """

    def __init__(
        self,
        db_path: Path | str | None = None,
        read_only: bool = False,  # noqa: FBT001, FBT002 - positional in programs that use this class
        *,
        clock: Clock | None = None,
        patience: Patience | None = None,
    ) -> None:
        path = Path(db_path) if db_path is not None else resolve_paths(os.environ).state_db
        super().__init__(
            path,
            read_only=read_only,
            patience=patience or Patience(),
            clock=clock or SystemClock(),
        )

    sanitize_title = staticmethod(titles.sanitize_title)

    @property
    def shares_pins(self) -> bool:
        """Whether the shared file stores pins, so that `hermes` sees them, too."""
        return session_methods.shares_pins(self)

    @property
    def keeps_deliveries(self) -> bool:
        """Whether the outbox may be stored in this file."""
        return gateway_methods.keeps_deliveries(self)

    # Rows of sessions

    create_session = session_methods.create_session
    ensure_session = session_methods.ensure_session
    end_session = session_methods.end_session
    reopen_session = session_methods.reopen_session
    promote_to_session_reset = session_methods.promote_to_session_reset
    get_session = session_methods.get_session
    resolve_session_id = session_methods.resolve_session_id
    ids_with_prefix = session_methods.ids_with_prefix
    get_session_title = session_methods.get_session_title
    get_session_by_title = session_methods.get_session_by_title
    resolve_session_by_title = session_methods.resolve_session_by_title
    get_next_title_in_lineage = session_methods.get_next_title_in_lineage
    set_session_title = session_methods.set_session_title
    set_auto_title_if_empty = session_methods.set_auto_title_if_empty
    get_compression_tip = session_methods.get_compression_tip
    get_compression_lineage = session_methods.get_compression_lineage
    get_conversation_root = session_methods.get_conversation_root
    resolve_resume_session_id = session_methods.resolve_resume_session_id
    list_sessions_rich = session_methods.list_sessions_rich
    search_sessions = session_methods.search_sessions
    session_count = session_methods.session_count
    list_summaries = session_methods.list_summaries
    summaries = session_methods.summaries
    summary = session_methods.summary
    list_cron_job_runs = session_methods.list_cron_job_runs
    update_token_counts = session_methods.update_token_counts
    record_auxiliary_usage = session_methods.record_auxiliary_usage
    usage_of = session_methods.usage_of
    context_size = session_methods.context_size
    update_session_meta = session_methods.update_session_meta
    update_session_cwd = session_methods.update_session_cwd
    recent_folders = session_methods.recent_folders
    own_pins_if_readable = session_methods.own_pins_if_readable
    set_session_pinned = session_methods.set_session_pinned
    set_session_archived = session_methods.set_session_archived
    own_fact = session_methods.own_fact
    put_own_fact = session_methods.put_own_fact

    # Messages

    append_message = message_methods.append_message
    replace_messages = message_methods.replace_messages
    archive_and_compact = message_methods.archive_and_compact
    get_messages = message_methods.get_messages
    message_count = message_methods.message_count
    read_messages = message_methods.read_messages
    messages_by_ids = message_methods.messages_by_ids
    count_not_told = message_methods.count_not_told
    session_mark = message_methods.session_mark
    list_recent_user_messages = message_methods.list_recent_user_messages
    set_latest_user_api_content = message_methods.set_latest_user_api_content
    get_messages_as_conversation = message_methods.get_messages_as_conversation
    create_branch = message_methods.create_branch
    compact_in_place = message_methods.compact_in_place
    rotate_session = message_methods.rotate_session
    rewind_to_message = message_methods.rewind_to_message
    active_message_ids = message_methods.active_message_ids
    restore_messages = message_methods.restore_messages
    search = message_methods.search
    search_messages = message_methods.search_messages

    # Deletion, pruning, archiving, maintenance

    lineage_ids_for_delete = deletion_methods.lineage_ids_for_delete
    selection = deletion_methods.selection
    candidates = deletion_methods.candidates
    ended_session_of = deletion_methods.ended_session_of
    prune_selection = deletion_methods.prune_selection
    delete_sessions = deletion_methods.delete_sessions
    prune = deletion_methods.prune
    prune_empty_ghost_sessions = deletion_methods.prune_empty_ghost_sessions
    finish_what_was_cut_short = deletion_methods.finish_what_was_cut_short
    archive = deletion_methods.archive
    finalize_orphaned_compression_sessions = deletion_methods.finalize_orphaned_compression_sessions
    maybe_auto_prune_and_vacuum = deletion_methods.maybe_auto_prune_and_vacuum
    last_auto_prune = deletion_methods.last_auto_prune
    auto_prune_due_at = deletion_methods.auto_prune_due_at
    optimize_fts = deletion_methods.optimize_fts
    rebuild_fts = deletion_methods.rebuild_fts
    vacuum = deletion_methods.vacuum

    # Chats, routes, hand-offs, compression locks, deliveries

    find_latest_gateway_session_for_peer = gateway_methods.find_latest_gateway_session_for_peer
    record_gateway_session_peer = gateway_methods.record_gateway_session_peer
    set_expiry_finalized = gateway_methods.set_expiry_finalized
    load_gateway_routing_entries = gateway_methods.load_gateway_routing_entries
    save_routing_changes = gateway_methods.save_routing_changes
    get_handoff_state = gateway_methods.get_handoff_state
    list_pending_handoffs = gateway_methods.list_pending_handoffs
    request_handoff = gateway_methods.request_handoff
    claim_handoff = gateway_methods.claim_handoff
    complete_handoff = gateway_methods.complete_handoff
    fail_handoff = gateway_methods.fail_handoff
    get_compression_lock_holder = gateway_methods.get_compression_lock_holder
    compression_lock = gateway_methods.compression_lock
    try_acquire_compression_lock = gateway_methods.try_acquire_compression_lock
    refresh_compression_lock = gateway_methods.refresh_compression_lock
    release_compression_lock = gateway_methods.release_compression_lock
    get_compression_failure_cooldown = gateway_methods.get_compression_failure_cooldown
    record_compression_failure_cooldown = gateway_methods.record_compression_failure_cooldown
    clear_compression_failure_cooldown = gateway_methods.clear_compression_failure_cooldown
    get_compression_fallback_streak = gateway_methods.get_compression_fallback_streak
    set_compression_fallback_streak = gateway_methods.set_compression_fallback_streak
    open_deliveries = gateway_methods.open_deliveries
    delivery_owed_since = gateway_methods.delivery_owed_since
    owe_delivery = gateway_methods.owe_delivery
    set_delivery_state = gateway_methods.set_delivery_state
    take_over_delivery = gateway_methods.take_over_delivery
    forgive_delivery_attempt = gateway_methods.forgive_delivery_attempt
    prune_deliveries = gateway_methods.prune_deliveries
    last_message_row = gateway_methods.last_message_row
    reply_after = gateway_methods.reply_after
    prompt_stored_after = gateway_methods.prompt_stored_after
    overtaken_after = gateway_methods.overtaken_after
    chat_has_message = gateway_methods.chat_has_message

    # Export and import

    export_session_lineage = transfer_methods.export_session_lineage
    export_all = transfer_methods.export_all
    export_each = transfer_methods.export_each
    import_sessions = transfer_methods.import_sessions
