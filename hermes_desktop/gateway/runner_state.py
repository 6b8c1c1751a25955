"""What a gateway runner keeps. Each instance gets its own, also one made without ``__init__``."""

import asyncio
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.core.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.gateway.agent_cache import CacheEntry
from hermes_desktop.gateway.agents import AgentFactory
from hermes_desktop.gateway.config import GatewayConfig, Platform
from hermes_desktop.gateway.keyed_locks import KeyedLocks
from hermes_desktop.gateway.platforms.base import PlatformAdapter
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.gateway.turn import TurnRecord
from hermes_desktop.state import AsyncSessionDB

MAX_TURNS = 10

Phase = Literal["stopped", "starting", "running", "stopping"]


class RunnerState:
    """Defaults that cannot be shared by mistake: immutable ones here, the others made on demand.

    Attributes:
        interrupt_grace_s: How many seconds an interrupted turn has to end when we leave.
        _agent_cache: Kept agents by session key, the longest unused first.
        _running_agents: By session key: the agent of the running turn, or the sentinel before.
        _turns: By session key: the running turn.
        _session_run_generation: By session key: the number of its latest claim.
        _turn_order: One turn per session key at a time, in the order they came.
        _turn_leases: One turn per conversation at a time.
        _turn_slots: No more turns than workers.
    """

    agent_factory: AgentFactory | None = None
    agent_settings: Callable[[], str] | None = None
    interrupt_grace_s = 5.0
    clock: Clock = SystemClock()
    _session_db: AsyncSessionDB | None = None
    _phase: Phase = "stopped"
    _draining = False
    _stop_task: "asyncio.Task[None] | None" = None

    @cached_property
    def config(self) -> GatewayConfig:
        """The settings."""
        return GatewayConfig()

    @cached_property
    def session_store(self) -> SessionStore:
        """The chats."""
        return SessionStore(Path(), self.config, persist=False)

    @cached_property
    def bus(self) -> EventBus:
        """Where the news go."""
        return EventBus()

    @cached_property
    def turn_workers(self) -> WorkerThreads:
        """Threads for everything that blocks."""
        return WorkerThreads("agent-turn", size=MAX_TURNS)

    @cached_property
    def adapters(self) -> dict[Platform, PlatformAdapter]:
        """The platforms."""
        return {}

    @cached_property
    def _agent_cache(self) -> dict[str, CacheEntry]:
        return {}

    @cached_property
    def _agent_cache_lock(self) -> threading.Lock:
        return threading.Lock()

    @cached_property
    def _agent_last_used(self) -> dict[str, float]:
        return {}

    @cached_property
    def _running_agents(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _turns(self) -> dict[str, TurnRecord]:
        return {}

    @cached_property
    def _session_run_generation(self) -> dict[str, int]:
        return {}

    @cached_property
    def _turn_order(self) -> KeyedLocks:
        return KeyedLocks()

    @cached_property
    def _turn_leases(self) -> KeyedLocks:
        return KeyedLocks()

    @cached_property
    def _turn_slots(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(MAX_TURNS)

    @cached_property
    def _message_tasks(self) -> TaskSet:
        return TaskSet()
