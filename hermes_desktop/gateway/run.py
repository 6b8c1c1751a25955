"""The gateway runner: composes the parts that answer the messages of its platforms.

A message is processed in this order: authorization → command → check for a busy chat → claim of its
session key → its session → lease of that session → cached or new agent → turn on a worker thread →
rotation and new baseline → text for an empty reply → delivery → event for the end of the turn.
The parts in :mod:`hermes_desktop.gateway.runner` implement the steps.
"""

import asyncio
from collections.abc import Coroutine
from functools import cached_property
from typing import Any, Unpack

from hermes_desktop.agent.turns.turn_results import (
    normalize_empty_agent_response as _normalize_empty_agent_response,
)
from hermes_desktop.gateway import status
from hermes_desktop.gateway.access.authorization import is_authorized
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.chats import ChatMapping, Chats
from hermes_desktop.gateway.runner.parts import RunnerParts
from hermes_desktop.gateway.runner.state import RunnerArguments, RunnerState, StateField
from hermes_desktop.gateway.session import SessionEntry, SessionSource, SessionStore
from hermes_desktop.gateway.turns import agent_cache
from hermes_desktop.gateway.turns.agent_cache import CacheEntry, close_agents

__all__ = ["GatewayRunner", "_normalize_empty_agent_response"]

_AGENT_PENDING_SENTINEL = agent_cache.PENDING


class GatewayRunner:
    """The gateway runner. Methods run on the event loop unless stated otherwise.

    Its parts are made on first use; methods that are replaced before that are the ones that the
    parts call.

    Args:
        config: Authorization lists and reset policies.
        arguments: Everything else, all of it optional.
    """

    config = StateField[GatewayConfig]()
    session_store = StateField[SessionStore]()
    adapters = StateField[dict[Platform, PlatformAdapter]]()
    hooks = StateField[Any]()
    _session_db = StateField[Any]()
    _agent_cache_lock = StateField[Any]()
    _last_session_store_prune_ts = StateField[float]()
    _running = StateField[bool]()
    _draining = StateField[bool]()
    _restart_requested = StateField[bool]()
    _restart_drain_timeout = StateField[float | None]()
    _shutdown_event = StateField[asyncio.Event]()
    _stop_task = StateField["asyncio.Task[None] | None"]()

    _running_agents = ChatMapping[Any]("agent")
    _running_agents_ts = ChatMapping[float]("running_since")
    _agent_cache = ChatMapping[CacheEntry]("cached_agent")
    _session_model_overrides = ChatMapping[dict[str, str]]("model_override")
    _pending_model_notes = ChatMapping[str]("model_note")
    _pending_messages = ChatMapping[Any]("pending_message")
    _pending_approvals = ChatMapping[Any]("pending_approval")
    _voice_mode = ChatMapping[str]("voice_mode")

    def __init__(
        self, config: GatewayConfig | None = None, **arguments: Unpack[RunnerArguments]
    ) -> None:
        if config is not None:
            self.config = config
        self.state.set(arguments)

    @cached_property
    def state(self) -> RunnerState:
        """The state that the parts share."""
        return RunnerState()

    @cached_property
    def chats(self) -> Chats:
        """What is known of each chat."""
        return Chats()

    @cached_property
    def parts(self) -> RunnerParts:
        """The parts, made on first use."""
        return RunnerParts(self)

    async def start(self) -> None:
        """Start the gateway; see :meth:`LifeCycle.start`."""
        await self.parts.life_cycle.start()

    def stop(
        self,
        drain_s: float | None = None,
        *,
        drain_until: float | None = None,
        deadline: float | None = None,
        restart: bool = False,
    ) -> Coroutine[Any, Any, None]:
        """Drain running turns, interrupt the rest, then shut down; afterwards nothing of it runs.

        No further turn begins from the moment of the call, even before its result is awaited.
        Calling it again waits for the same end; new bounds only shorten it, as does
        :meth:`LifeCycle.hurry`. Interrupted turns are resumed by the next run.

        Args:
            drain_s: How many seconds running turns may take to finish; None: as configured.
            drain_until: The latest time to interrupt them, in the clock's monotonic seconds.
            deadline: The latest time for the shutdown to end, likewise; else a few seconds after
                that.
            restart: The gateway is started again immediately.
        """
        return self.parts.life_cycle.stop(drain_s, drain_until, deadline, restart=restart)

    async def request_restart(self, requested_by: SessionSource | None = None) -> bool:
        """Have the gateway restarted once this call has returned.

        Args:
            requested_by: The chat that is notified when the gateway is back.

        Returns:
            False when a restart is not possible.
        """
        return await self.parts.life_cycle.request_restart(requested_by)

    def accept(self, event: MessageEvent) -> "asyncio.Task[str | None]":
        """Accept a message; see :meth:`Admission.accept`."""
        return self.parts.admission.accept(event)

    def interrupt(self, session_key: str, reason: str | None = None) -> bool:
        """Interrupt the running turn of a chat; see :meth:`TurnControl.interrupt`."""
        return self.parts.control.interrupt(session_key, reason)

    # Names that other programs and plugins know, and that may be replaced

    async def _handle_reset_command(self, event: MessageEvent) -> str:
        return await self.parts.boundaries.reset(event)

    async def _session_expiry_watcher(self, interval: float = 300) -> None:
        await self.parts.housekeeping.watch_expiry(interval)

    async def _refresh_agent_cache_message_count(self, session_key: str, session_id: str) -> None:
        await self.parts.agents.refresh_mark(session_key, session_id)

    def _evict_cached_agent(self, session_key: str) -> None:
        self.parts.agents.remove(session_key)

    def _sweep_idle_cached_agents(self) -> int:
        return self.parts.agents.sweep()

    def _cleanup_agent_resources(self, agent: Any) -> None:
        """Close an agent, which is not used again. Blocks."""
        close_agents([(agent,)])

    def _is_user_authorized(self, source: SessionSource | None) -> bool:
        """Return whether a sender may write. May read a file."""
        access = self.state.access
        return access.allows(source) if access is not None else is_authorized(source, self.config)

    def _format_session_info(self) -> str:
        """Return additional information about a new session; "" for none."""
        return ""

    def _update_runtime_status(self, gateway_state: str | None = None) -> None:
        """Publish the runner's status to other programs."""
        running = len(self._running_agents)
        status.write_runtime_status(
            self.state.identity, gateway_state=gateway_state, active_agents=running
        )

    def _adopt_rotated_session(self, session_entry: SessionEntry, new_id: str) -> None:
        """Update a chat's entry to the new id of its session after a rotation. Any thread."""
        session_entry.session_id = new_id
        self.session_store._save()  # noqa: SLF001 - the mapping must outlive a restart
