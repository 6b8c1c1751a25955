"""State that the parts of a gateway runner share, and its report to the host."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, TypedDict, TypeVar

from hermes_desktop.agent.types import AgentFactory
from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import TaskSet, WorkerThreads
from hermes_desktop.core.concurrency.bounded_calls import BoundedCalls
from hermes_desktop.core.concurrency.keyed_locks import KeyedLocks
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.gateway.access.refusals import closing, no_database
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.platforms.base import MessageEvent, PlatformAdapter
from hermes_desktop.gateway.runner.chats import Chats
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.gateway.status import IdentityHolder
from hermes_desktop.state import AsyncSessionDB, SessionDB

if TYPE_CHECKING:
    from hermes_desktop.gateway.access.authorization import Access
    from hermes_desktop.gateway.delivery.delivery import DeliveryParts
    from hermes_desktop.gateway.runner.background import BackgroundTask
    from hermes_desktop.gateway.runner.chat_requests import ChatApprovals, ChatQuestions
    from hermes_desktop.gateway.runner.claims import WaitQueue
    from hermes_desktop.gateway.turns.program_locks import ProgramLocks

log = logging.getLogger(__name__)

MAX_TURNS = 10
SIDE_THREADS = 4

P = ParamSpec("P")
T = TypeVar("T")

Phase = Literal["stopped", "starting", "running", "stopping"]

_PHASE_IN_STATE_FILE: dict[Phase, str] = {
    "starting": "starting",
    "running": "running",
    "stopping": "draining",
    "stopped": "draining",
}
"""The names of the phases in the state file; the identity holder writes ``stopped`` at its end."""


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


class RunnerArguments(TypedDict, total=False):
    """Optional arguments of a runner.

    Attributes:
        session_store: The chats; a memory-only store when there is none.
        session_db: The sessions; without a database every message is refused.
        agent_factory: Creates agents, on a worker thread.
        agent_settings: Returns, on a worker thread, the settings that agents would be created from
            now; see :attr:`AgentRequest.settings`. May raise :class:`HermesError`.
        bus: Receives the events of turns.
        turn_workers: Worker threads for blocking calls; at least :data:`MAX_TURNS` of them.
        turn_leases: One turn per session at a time, shared by the runners of a program.
        turn_slots: No more turns than workers, shared likewise.
        adapters: The platforms.
        announce: Called on the loop with the runner's status, after each change.
        home: The home whose gateway this is; none for a private runner, which writes no file.
        identity: The holder of the home's identity; none for a private runner.
        hooks: The event hooks of the gateway.
        command_dispatch: Filters commands out of the messages.
        restart_handler: Restarts the gateway, after :meth:`GatewayRunner.request_restart` has
            returned.
        access: Authorizes senders; without it: the lists in ``config``.
    """

    session_store: SessionStore | None
    session_db: AsyncSessionDB | None
    agent_factory: AgentFactory | None
    agent_settings: Callable[[], str] | None
    bus: EventBus | None
    turn_workers: WorkerThreads | None
    turn_leases: KeyedLocks | None
    turn_slots: asyncio.Semaphore | None
    clock: Clock | None
    adapters: Iterable[PlatformAdapter]
    announce: Callable[[RunnerReport], None] | None
    home: Path | None
    identity: IdentityHolder | None
    hooks: EventHooks | None
    command_dispatch: CommandDispatch | None
    restart_handler: Callable[[], None] | None
    access: "Access | None"


class ClosableTasks(TaskSet):
    """A task set that starts nothing while it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def start(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> "asyncio.Task[T]":
        """Run a coroutine on the running loop.

        Raises:
            RefusedError: The set is closed.
        """
        if self.closed:
            coroutine.close()
            raise closing()
        return super().start(coroutine, name=name)


@dataclass(eq=False)
class RunnerState:
    """Settings, resources and phase of a runner.

    Attributes:
        access: Authorizes senders; None: the lists in ``config``.
        announce: Called with the runner's status after each change, on the loop.
        approvals: Asks for approvals in chats; None: they are not shown there.
        questions: Asks the assistant's questions in chats; None: they are not shown there.
        rooms: The queues in which turns wait for the user; their slots are lent out until then.
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
        mail: Inbox and outbox; None for a private runner, whose chat is on this machine.
        inbox_kept: Messages that were not stored in their session are kept elsewhere and are
            processed again automatically.
        interrupt_grace_s: How many seconds an interrupted turn has to end before it is given up.
        restart_handler: Restarts the gateway; None: a restart is not possible.
        task_file: The file that records unfinished background tasks; None: they are not recorded.
        tasks: The unfinished background tasks by name.
        queued_turns: Ids of turns that were queued and are not over.
        left_for_next_run: Ids of turns whose messages the next run answers.
        finalized: Sessions whose end was reported to plugins during shutdown.
        refusing: Why no turns are started; None: they are.
        entrance: Messages of one chat are admitted one after the other.
        turn_order: One turn per session key at a time, in the order they arrived.
        turn_leases: One turn per session at a time; shared between runners of one program.
        turn_slots: No more turns than workers; shared likewise.
        restored: Set once chats that a restart interrupted are resumed; messages wait for it.
        message_tasks: Messages whose turns may start; closed from the moment a stop is requested.
        late_messages: Messages that arrive after that.
        background_runs: The background tasks; closed likewise.
        side_workers: Worker threads for blocking calls beside turns, which may occupy all of their
            own.
    """

    config: GatewayConfig = field(default_factory=GatewayConfig)
    access: "Access | None" = None
    adapters: dict[Platform, PlatformAdapter] = field(default_factory=dict)
    agent_factory: AgentFactory | None = None
    agent_settings: Callable[[], str] | None = None
    announce: Callable[[RunnerReport], None] | None = None
    bus: EventBus = field(default_factory=EventBus)
    clock: Clock = field(default_factory=SystemClock)
    approvals: "ChatApprovals | None" = None
    questions: "ChatQuestions | None" = None
    rooms: "tuple[WaitQueue, ...]" = ()
    command_dispatch: CommandDispatch | None = None
    event_hooks_s: float = 10.0
    program_locks: "ProgramLocks | None" = None
    turn_gate: Callable[[str, asyncio.Event], Awaitable[None]] | None = None
    platforms_failed: Callable[[], bool] = lambda: False
    home: Path | None = None
    hooks: EventHooks | None = None
    identity: IdentityHolder | None = None
    mail: "DeliveryParts | None" = None
    inbox_kept: bool = False
    interrupt_grace_s: float = 5.0
    restart_handler: Callable[[], None] | None = None
    session_db: AsyncSessionDB | None = None
    task_file: Path | None = None
    tasks: "dict[str, BackgroundTask]" = field(default_factory=dict)
    queued_turns: set[str] = field(default_factory=set)
    left_for_next_run: set[str] = field(default_factory=set)
    finalized: set[str] = field(default_factory=set)

    phase: Phase = "stopped"
    running: bool = False
    draining: bool = False
    refusing: HermesError | None = None
    restart_requested: bool = False
    restart_drain_timeout: float | None = None
    stop_task: "asyncio.Task[None] | None" = None
    last_session_store_prune_ts: float = 0.0
    agent_cache_lock: "threading.Lock | None" = field(default_factory=threading.Lock)
    shutdown_event: asyncio.Event = field(default_factory=asyncio.Event)
    startup_restore_in_progress: bool = False
    restored: asyncio.Event = field(default_factory=asyncio.Event)

    entrance: KeyedLocks = field(default_factory=KeyedLocks)
    turn_order: KeyedLocks = field(default_factory=KeyedLocks)
    turn_leases: KeyedLocks = field(default_factory=KeyedLocks)
    turn_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_TURNS))

    message_tasks: ClosableTasks = field(default_factory=ClosableTasks)
    late_messages: TaskSet = field(default_factory=TaskSet)
    background_runs: ClosableTasks = field(default_factory=ClosableTasks)
    notices: TaskSet = field(default_factory=TaskSet)
    watchers: TaskSet = field(default_factory=TaskSet)
    bounded: BoundedCalls = field(default_factory=BoundedCalls)
    turn_workers: WorkerThreads = field(
        default_factory=lambda: WorkerThreads("agent-turn", size=MAX_TURNS)
    )
    side_workers: WorkerThreads = field(
        default_factory=lambda: WorkerThreads("gateway-side", size=SIDE_THREADS)
    )

    @cached_property
    def session_store(self) -> SessionStore:
        """The store of chats and their sessions."""
        return SessionStore(Path(), self.config, persist=False)

    def set(self, arguments: RunnerArguments) -> None:
        """Set the attributes that a runner is created with; None keeps what there is."""
        given: dict[str, Any] = {
            key: value for key, value in arguments.items() if value is not None
        }
        for adapter in given.pop("adapters", ()):
            self.adapters[adapter.platform] = adapter
        for name, value in given.items():
            setattr(self, name, value)

    def use_config(self, config: GatewayConfig) -> None:
        """Use other settings from now on.

        A running turn keeps the values that it read when it started.
        """
        self.config = config
        self.session_store.config = config
        if self.access is not None:
            self.access.use(config)

    def session_key(self, source: SessionSource) -> str:
        """Return the session key of a chat."""
        return self.session_store._generate_session_key(source)  # noqa: SLF001 - see session

    def database(self) -> SessionDB:
        """Return the database, for blocking calls.

        Raises:
            HermesError: There is none.
        """
        if self.session_db is None:
            raise no_database()
        return self.session_db._db  # noqa: SLF001 - the blocking face of the same database

    async def aside(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await a blocking call that is not part of a turn.

        Raises:
            RefusedError: The runner has stopped.
        """
        try:
            future = self.side_workers.submit(call, *args, **kwargs)
        except RuntimeError:
            raise closing() from None
        return await asyncio.wrap_future(future)

    def without_secrets(self, text: str) -> str:
        """Return a text without secrets."""
        return self.mail.deliverer.without_secrets(text) if self.mail is not None else text

    def refuse_new_turns(self) -> None:
        """Let no further turn start: a stop was requested."""
        self.running = False
        self.draining = True
        self.message_tasks.closed = self.background_runs.closed = True

    def accept_turns(self) -> None:
        """Let turns start again, before a runner starts."""
        self.draining = False
        self.message_tasks.closed = self.background_runs.closed = False


class StateField(Generic[T]):
    """Attribute of a runner for the field of the same name in its :class:`RunnerState`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.lstrip("_")

    def __get__(self, runner: Any, owner: object) -> T:
        value: T = getattr(runner.state, self._name)
        return value

    def __set__(self, runner: Any, value: T) -> None:
        setattr(runner.state, self._name, value)


class RunnerStatus:
    """Reports the phase and the number of running turns to the host and to other programs.

    Args:
        write: Publishes the runner's state, by its name in the state file, to other programs.
    """

    def __init__(
        self, state: RunnerState, chats: Chats, write: Callable[[str | None], None]
    ) -> None:
        self._state = state
        self._chats = chats
        self._write = write

    def enter(self, phase: Phase) -> None:
        """Enter a phase and report it."""
        self._state.phase = phase
        self.report()

    def report(self) -> None:
        """Report the status to the host and to other programs."""
        state = self._state
        self._write(self._name_for_others())
        if state.announce is None:
            return
        try:
            running = len(self._chats.agents) + self.running_tasks()
            state.announce(RunnerReport(state.phase, running))
        except Exception:
            # A bug in a listener must not end a turn or prevent the shutdown.
            log.exception("The status of the gateway could not be announced")

    def running_tasks(self) -> int:
        """Return the number of background tasks that occupy a turn slot."""
        return sum(each.state == "running" for each in self._state.tasks.values())

    def _name_for_others(self) -> str:
        state = self._state
        if state.phase == "running" and state.refusing is not None:
            return "draining"
        if state.phase == "running" and state.platforms_failed():
            return "degraded"
        return _PHASE_IN_STATE_FILE[state.phase]

    def refuse_turns(self, why: HermesError | None) -> None:
        """Start no more turns and answer messages with an error; None accepts messages again.

        Running turns continue, and commands are still executed.
        """
        self._state.refusing = why
        self.report()
