"""Compaction, before a turn, of a session that nearly exceeds its model's context window.

The agent checks this itself, and earlier; this is for sessions that grew so long elsewhere, under
another model, or by very many small messages. The id stays the same, whatever the settings say,
because the turn has started under it. Blocking; on the turn's worker thread.
"""

import logging
from dataclasses import dataclass, replace

from hermes_desktop.agent.compression.compression_turn import ContextLimiter
from hermes_desktop.agent.types import ToolListener
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.sessions.session_records import SessionEntry
from hermes_desktop.gateway.turns.agent_cache import Reuse
from hermes_desktop.gateway.turns.agent_preparation import PreparedAgent
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

NOT_SHORTENED = (
    "This session is nearly too long for the model, and no summary of it could be made. "
    "/compress tries again; /reset begins a new one."
)


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A turn as a cancellation signal: it is set when the turn is to end."""

    record: TurnRecord

    def is_set(self) -> bool:
        return self.record.stop_requested


def tidied(
    prepared: PreparedAgent,
    entry: SessionEntry,
    record: TurnRecord,
    db: SessionDB,
    tell: ToolListener | None = None,
) -> PreparedAgent:
    """Compact the session of a turn, if necessary.

    Args:
        prepared: The agent of the turn.
        entry: Its chat.
        record: The turn.
        db: The database of the session.
        tell: Called when it is done, and with the context size afterwards.

    Returns:
        The agent with the current session; a failure is its ``warning``.
    """
    room = getattr(prepared.agent, "room", None)
    if not isinstance(room, ContextLimiter):
        return prepared
    session_id = entry.session_id
    room.listener = tell
    try:
        done = room.tidy(session_id, entry.last_prompt_tokens, _Stopped(record))
        if done is None:
            return prepared
        log.info("%s was looked at before a turn: %s", session_id, done.kind)
        if done.kind == "failed":
            return replace(prepared, warning=NOT_SHORTENED)
        if not done.changed or done.session_id != session_id:
            return prepared
        mark = db.session_mark(session_id)
        prepared.agent.bind(session_id, db.get_messages_as_conversation(session_id))
    except HermesError as error:  # the turn itself will report the error
        log.warning("%s was not looked at before a turn: %s", session_id, error.title)
        return prepared
    entry.last_prompt_tokens = 0
    return replace(prepared, mark=mark, reuse=Reuse.RELOAD)
