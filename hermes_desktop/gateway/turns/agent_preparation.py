"""Preparation of an agent for a turn, and the cache entry after it. Blocking."""

import hashlib
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hermes_desktop.agent.turns.baseline import must_read_again, seen_after_turn
from hermes_desktop.agent.turns.turn_agent import AgentFactory, AgentRequest, TurnAgent
from hermes_desktop.agent.types import AgentResult
from hermes_desktop.gateway.access.refusals import gone, no_model
from hermes_desktop.gateway.turns.agent_cache import (
    NEVER_SEEN,
    PENDING,
    CachedAgent,
    CacheEntry,
    Reuse,
    decide,
)
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import SessionMark

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

    It covers neither session nor sender: an agent serves all sessions that a chat switches to.
    """
    override = sorted(request.model_override.items())
    parts = json.dumps([request.source, request.session_key, request.settings, override])
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
    """Close agents for good. Blocks; failures are logged."""
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
        log.warning("An agent did not let go of its clients", exc_info=True)


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
