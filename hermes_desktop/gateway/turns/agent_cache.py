"""Agents cached between the turns of a chat: reuse, preparation for a turn, the entry after it.

Another process may append to, rewind or rewrite the session that a cached agent has in memory.
Therefore an entry records what the agent has seen, and before each turn this is compared with the
current state.db. Entries are tuples of two to five fields; older shapes record less and are
protected less.
"""

import enum
import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from hermes_desktop.agent.compression.compression_turn import ContextLimiter
from hermes_desktop.agent.turns.turn_results import must_read_again, seen_after_turn
from hermes_desktop.agent.types import (
    AgentFactory,
    AgentRequest,
    AgentResult,
    ToolListener,
    TurnAgent,
)
from hermes_desktop.core.errors import HermesError
from hermes_desktop.gateway.access.refusals import gone, no_model
from hermes_desktop.gateway.sessions.session_records import SessionEntry
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionMark

MAX_AGENTS = 128
IDLE_S = 3600.0

NEVER_SEEN: Final = -1
"""A count that no row can have: the next turn reads the session again."""


class _Pending:
    """Placeholder for an agent that is being created."""

    def __repr__(self) -> str:
        return "<agent pending>"


PENDING: Final = _Pending()

CacheEntry = tuple[Any, ...]
"""``(agent, signature[, message_count[, session_id[, extra]]])``."""


class CachedAgent(NamedTuple):
    """A cached agent and what it has seen.

    Attributes:
        agent: The agent, or :data:`PENDING`.
        signature: What it was created from; a different one requires a different agent.
        message_count: The ``sessions.message_count`` that it has seen, None when nothing was stored
            yet.
        session_id: The session that it has in memory, None in entries that do not record it.
        extra: The :class:`SessionMark` that the count is part of, None for the count alone.
    """

    agent: Any
    signature: str
    message_count: int | None = None
    session_id: str | None = None
    extra: SessionMark | None = None


class Reuse(enum.Enum):
    """How to reuse a cached agent for the next turn."""

    BUILD = "build"
    """There is no suitable agent: create one that reads the session."""
    KEEP = "keep"
    """It knows the whole session: continue, repeating the bytes of the last request."""
    RELOAD = "reload"
    """Same agent, but it has to read the session first."""
    GONE = "gone"
    """The session that it knows was deleted."""


def decide(
    cached: CacheEntry | None, signature: str, session_id: str, live: SessionMark | None
) -> Reuse:
    """Decide how to reuse a cached agent.

    Args:
        cached: The entry of the chat, in any of its shapes.
        signature: What an agent would be created from now.
        session_id: The session of the coming turn.
        live: The session's current mark, None when there is no such row.
    """
    if cached is None:
        return Reuse.BUILD
    known = CachedAgent(*cached)
    if known.agent is PENDING or known.signature != signature:
        return Reuse.BUILD
    if len(cached) <= CachedAgent._fields.index("message_count"):
        return Reuse.KEEP  # the oldest shape is not protected
    if known.session_id is not None and known.session_id != session_id:
        return Reuse.RELOAD  # counts of different sessions are not comparable
    if live is None:
        vanished = known.session_id is not None and known.message_count is not None
        return Reuse.GONE if vanished else Reuse.KEEP
    return Reuse.KEEP if _has_seen(known, live) else Reuse.RELOAD


def _has_seen(known: CachedAgent, live: SessionMark) -> bool:
    if known.extra is not None:
        return known.extra == live
    return known.message_count is None or known.message_count == live.message_count


def with_mark(cached: CacheEntry, session_id: str, live: SessionMark) -> CacheEntry:
    """Return the entry with a new baseline and the same length.

    An entry of another session, one without a baseline and one whose agent is being created are
    returned unchanged.
    """
    known = CachedAgent(*cached)
    counted = CachedAgent._fields.index("message_count") + 1
    if len(cached) < counted or known.agent is PENDING:
        return cached
    if known.session_id is not None and known.session_id != session_id:
        return cached
    updated = known._replace(message_count=live.message_count)
    if len(cached) == len(CachedAgent._fields):
        return updated._replace(extra=live)
    return tuple(updated)[: len(cached)]


def surplus(
    cache: Collection[str],
    last_used: Mapping[str, float],
    busy: Collection[str],
    now: float,
) -> list[str]:
    """Return the keys of agents to evict: the oldest above the limit, and those long idle.

    Args:
        cache: The keys of all entries, the longest unused first.
        last_used: When each was used last, monotonic seconds.
        busy: Keys with a running turn; never part of the result.
        now: Monotonic seconds.
    """
    oldest = list(cache)[: max(0, len(cache) - MAX_AGENTS)]
    idle = [key for key in cache if now - last_used.get(key, now) > IDLE_S]
    return [key for key in dict.fromkeys(oldest + idle) if key not in busy]


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PreparedAgent:
    """An agent that is ready for a turn.

    Attributes:
        signature: What it was created from.
        mark: What it has seen of the session, None when nothing is stored yet.
        reuse: How the cached agent was reused.
        warning: A message for the chat before the reply; "" for none.
    """

    agent: TurnAgent
    signature: str
    mark: SessionMark | None
    reuse: Reuse
    warning: str = ""


def signature_of(request: AgentRequest) -> str:
    """Return the signature of an agent for this request, as 16 hex digits.

    It covers neither session nor sender: an agent serves all sessions that a chat switches to, as
    long as they work in the same folder.
    """
    override = sorted(request.model_override.items())
    what = [request.source, request.session_key, request.settings, override, request.folder]
    parts = json.dumps(what)
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def prepare_agent(
    cached: CacheEntry | None, request: AgentRequest, db: SessionDB, factory: AgentFactory | None
) -> PreparedAgent:
    """Reuse the cached agent or create one, and have it read the session where needed.

    Raises:
        NotFoundError: The session that the cached agent knows was deleted.
        NotConfiguredError: There is no agent factory.
        HermesError: The agent cannot be created, or state.db cannot be read.
    """
    signature = signature_of(request)
    session_id = request.session_id
    mark = db.session_mark(session_id)  # before the history: rows in between are read again
    reuse = decide(cached, signature, session_id, mark)
    if reuse is Reuse.GONE:
        raise gone(session_id)
    agent: TurnAgent
    if cached is None or reuse is Reuse.BUILD:
        if factory is None:
            raise no_model()
        agent = factory(request)
    else:
        agent = cached[0]
    if reuse is Reuse.KEEP and agent.session_id == session_id:
        agent.bind(session_id, None)
    else:
        history = db.get_messages_as_conversation(session_id)
        agent.bind(session_id, history, has_row=mark is not None)
    return PreparedAgent(agent, signature, mark, reuse)


def close_agents(entries: Iterable[CacheEntry]) -> None:
    """Close agents. Blocks; failures are logged."""
    for agent, *_ in entries:
        if agent is PENDING:
            continue
        try:
            agent.close()
        except Exception:
            # A client that cannot be closed must not keep the program alive.
            log.warning("An agent could not be closed", exc_info=True)


def release_agent(agent: Any) -> None:
    """Release an agent's connections; it may be used again. Blocks, never raises."""
    if agent is PENDING:
        return
    try:
        agent.release_clients()
    except Exception:  # no reason to refuse a message
        log.warning("An agent did not release its clients", exc_info=True)


def entry_after_turn(prepared: PreparedAgent, session_id: str, result: AgentResult) -> CachedAgent:
    """Return the cache entry for an agent whose turn has ended.

    Args:
        prepared: The agent, and what it had seen.
        session_id: The session in which the turn began.
        result: The result of the turn. After anything but a normal end, and after a rotation, the
            agent reads the session again next time.
    """
    ended_in = result.get("session_id") or session_id
    seen = seen_after_turn(prepared.mark, result.get("written_message_ids", ()))
    entry = CachedAgent(prepared.agent, prepared.signature, None, ended_in)
    if seen is None:
        return entry
    if must_read_again(result, session_id):
        return entry._replace(message_count=NEVER_SEEN)
    return entry._replace(message_count=seen.message_count, extra=seen)


NOT_SHORTENED = (
    "This session is nearly too long for the model, and it could not be summarized. Send "
    "/compress to try again, or /reset to start a new one."
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
        messages = prepared.mark.message_count if prepared.mark is not None else 0
        done = room.tidy(session_id, messages, entry.last_prompt_tokens, _Stopped(record))
        if done is None:
            return prepared
        log.info("%s was checked before a turn: %s", session_id, done.kind)
        if done.kind == "failed":
            return replace(prepared, warning=NOT_SHORTENED)
        if not done.changed or done.session_id != session_id:
            return prepared
        mark = db.session_mark(session_id)
        prepared.agent.bind(session_id, db.get_messages_as_conversation(session_id))
    except HermesError as error:  # the turn itself will report the error
        log.warning("%s was not checked before a turn: %s", session_id, error.title)
        return prepared
    entry.last_prompt_tokens = 0
    return replace(prepared, mark=mark, reuse=Reuse.RELOAD)
