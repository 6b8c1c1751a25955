"""State of a gateway runner. Every instance has its own, even without ``__init__``."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.session import SessionStore
from hermes_desktop.gateway.status import IdentityHolder
from hermes_desktop.gateway.turns.agent_cache import CacheEntry
from hermes_desktop.gateway.turns.agents import AgentFactory
from hermes_desktop.gateway.turns.turn import TurnRecord
from hermes_desktop.state import AsyncSessionDB

if TYPE_CHECKING:
    from hermes_desktop.gateway.access.access import Access
    from hermes_desktop.gateway.runner.chat_approvals import ChatApprovals
    from hermes_desktop.gateway.runner.chat_questions import ChatQuestions
    from hermes_desktop.gateway.turns.program_locks import ProgramLocks
    from hermes_desktop.gateway.turns.turn_places import WaitQueue

MAX_TURNS = 10
SIDE_THREADS = 4

Phase = Literal["stopped", "starting", "running", "stopping"]


@dataclass(frozen=True, slots=True)
class RunnerReport:
    """Status of a runner, passed to its ``announce`` on the loop after each change.

    Attributes:
        running_turns: The number of turns that run or are being prepared.
        platforms: The messaging platforms, sorted by name; none for a private runner.
    """

    phase: Phase
    running_turns: int = 0
    platforms: tuple[PlatformHealth, ...] = ()


CommandDispatch = Callable[[MessageEvent, str], Awaitable[MessageEvent | str]]
"""Inspects a message of an authorized sender before anything else does, with its session key.

Returns the message to continue with, the same or another one, or a text when the message was a
command and has been processed: the text is sent to the chat, "" sends nothing. Messages of one chat
are inspected sequentially, so that a command and what follows it keep their order; long-running
work is to be started, not awaited.
"""


class EventHooks(Protocol):
    """Receiver of the gateway's events (``session:start``, ``agent:end``, …)."""

    def emit(self, event_type: str, context: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        """Notify all handlers of the event."""
        ...


class RunnerState:
    """Defaults of a runner: immutable ones here, mutable ones created on demand per instance.

    Attributes:
        access: Authorizes senders; None: the lists in ``config``.
        announce: Called with the runner's status after each change, on the loop.
        approvals: Asks for approvals in chats; None: they are not shown there.
        questions: Asks the assistant's questions in chats; None: they are not shown there.
        command_dispatch: Filters commands out of the messages; None: all messages are for the
            agent.
        event_hooks_s: The time-out of all event hooks together, per event.
        home: The home whose gateway this is; None for a private runner, which writes no file.
        program_locks: Keeps turns of our other programs out of a conversation; None: no such locks.
        turn_gate: Awaited when a turn holds the lease of its session, before anything is read;
            called with the session and the event that ends the wait. It may raise
            :class:`HermesError`.
        platforms_failed: Whether no platform of several works, which is reported to other programs.
        hooks: The event hooks; None: there are none.
        identity: The holder of the home's identity; None for a private runner.
        inbox_kept: Messages that were not stored in their session are kept elsewhere and are
            processed again automatically.
        interrupt_grace_s: How many seconds an interrupted turn has to end before it is given up.
        restart_handler: Restarts the gateway; None: a restart is not possible.
        _agent_cache: Cached agents by session key, the longest unused first.
        _running_agents: By session key: the agent of the running turn, or the sentinel before.
        _running_agents_ts: By session key: when that turn started, in seconds since the epoch.
        _turns: By session key: the running turn.
        _long_commands: By session key: the event that stops the long-running command there.
        _queued_events: By session key: the turns that wait, in order.
        _session_run_generation: By session key: the number of its latest claim.
        _entrance: Messages of one chat are admitted one after the other.
        _turn_order: One turn per session key at a time, in the order they arrived.
        _turn_leases: One turn per session at a time; shared between runners of one program.
        _turn_slots: No more turns than workers; shared likewise.
        rooms: The queues in which turns wait for the user; their slots are lent out meanwhile.
        _restored: Set once chats that a restart interrupted are resumed; messages wait for it.
        _session_model_overrides: By session key: the model chosen there.
    """

    access: "Access | None" = None
    agent_factory: AgentFactory | None = None
    agent_settings: Callable[[], str] | None = None
    announce: "Callable[[RunnerReport], None] | None" = None
    clock: Clock = SystemClock()
    approvals: "ChatApprovals | None" = None
    questions: "ChatQuestions | None" = None
    rooms: "tuple[WaitQueue, ...]" = ()
    command_dispatch: CommandDispatch | None = None
    event_hooks_s = 10.0
    program_locks: "ProgramLocks | None" = None
    turn_gate: Callable[[str, asyncio.Event], Awaitable[None]] | None = None
    platforms_failed: Callable[[], bool] = staticmethod(lambda: False)
    home: Path | None = None
    hooks: EventHooks | None = None
    identity: IdentityHolder | None = None
    inbox_kept = False
    interrupt_grace_s = 5.0
    restart_handler: Callable[[], None] | None = None
    _draining = False
    _refusing: HermesError | None = None
    _drain_until: float | None = None
    _exit_code: int | None = None
    _exit_reason: str | None = None
    _last_session_store_prune_ts = 0.0
    _phase: Phase = "stopped"
    _restart_drain_timeout: float | None = None
    _restart_requested = False
    _running = False
    _session_db: AsyncSessionDB | None = None
    _startup_restore_in_progress = False
    _starting: "asyncio.Task[None] | None" = None
    _stop_task: "asyncio.Task[None] | None" = None

    @cached_property
    def config(self) -> GatewayConfig:
        """The settings."""
        return GatewayConfig()

    @cached_property
    def session_store(self) -> SessionStore:
        """The store of chats and their sessions."""
        return SessionStore(Path(), self.config, persist=False)

    @cached_property
    def _long_commands(self) -> dict[str, threading.Event]:
        return {}

    @cached_property
    def bus(self) -> EventBus:
        """The event bus."""
        return EventBus()

    @cached_property
    def turn_workers(self) -> WorkerThreads:
        """The worker threads of turns."""
        return WorkerThreads("agent-turn", size=MAX_TURNS)

    @cached_property
    def adapters(self) -> dict[Platform, PlatformAdapter]:
        """The adapters by platform."""
        return {}

    @cached_property
    def _agent_cache(self) -> dict[str, CacheEntry]:
        return {}

    @cached_property
    def _agent_cache_lock(self) -> "threading.Lock | None":
        return threading.Lock()

    @cached_property
    def _agent_last_used(self) -> dict[str, float]:
        return {}

    @cached_property
    def _running_agents(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _running_agents_ts(self) -> dict[str, float]:
        return {}

    @cached_property
    def _busy_ack_ts(self) -> dict[str, float]:
        return {}

    @cached_property
    def _turns(self) -> dict[str, TurnRecord]:
        return {}

    @cached_property
    def _queued_events(self) -> dict[str, list[TurnRecord]]:
        return {}

    @cached_property
    def _queued_turns(self) -> set[str]:
        """Ids of turns that were queued and are not over."""
        return set()

    @cached_property
    def _left_for_next_run(self) -> set[str]:
        """Ids of turns whose messages the next run answers."""
        return set()

    @cached_property
    def _session_run_generation(self) -> dict[str, int]:
        return {}

    @cached_property
    def _told_of(self) -> set[str]:
        """Sessions whose end was reported to plugins during shutdown."""
        return set()

    @cached_property
    def _expiry_failures(self) -> dict[str, int]:
        return {}

    # State of the current session of a chat, cleared at each boundary

    @cached_property
    def _session_model_overrides(self) -> dict[str, dict[str, str]]:
        return {}

    @cached_property
    def _session_reasoning_overrides(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _session_service_tier_overrides(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _pending_model_notes(self) -> dict[str, str]:
        return {}

    @cached_property
    def _pending_one_turn_model_restores(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _pending_turn_sidecar_notes(self) -> dict[str, str]:
        return {}

    @cached_property
    def _last_resolved_model(self) -> dict[str, str]:
        return {}

    @cached_property
    def _pending_approvals(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _voice_mode(self) -> dict[str, str]:
        return {}

    def _conversation_scope(self) -> tuple[MutableMapping[str, Any], ...]:
        """Return all maps by session key that apply to one session only."""
        return (
            self._session_model_overrides,
            self._session_reasoning_overrides,
            self._session_service_tier_overrides,
            self._pending_model_notes,
            self._pending_one_turn_model_restores,
            self._pending_turn_sidecar_notes,
            self._last_resolved_model,
            self._pending_approvals,
        )

    # Ordering

    @cached_property
    def _entrance(self) -> KeyedLocks:
        return KeyedLocks()

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
    def _restored(self) -> asyncio.Event:
        return asyncio.Event()

    @cached_property
    def _drain_changed(self) -> asyncio.Event:
        return asyncio.Event()

    @cached_property
    def _shutdown_event(self) -> asyncio.Event:
        return asyncio.Event()

    # Workers and tasks

    @cached_property
    def _side_workers(self) -> WorkerThreads:
        """Worker threads for blocking calls beside turns, which may occupy all of their own."""
        return WorkerThreads("gateway-side", size=SIDE_THREADS)

    @cached_property
    def _bounded(self) -> BoundedCalls:
        return BoundedCalls()

    @cached_property
    def _message_tasks(self) -> TaskSet:
        return TaskSet()

    @cached_property
    def _notices(self) -> TaskSet:
        return TaskSet()

    @cached_property
    def _watchers(self) -> TaskSet:
        return TaskSet()
