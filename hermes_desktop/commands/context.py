"""The context of a command: its chat, the sessions, and the gateway operations it may call.

Commands may use state and agent. Operations that only the gateway can perform are behind
:class:`CommandHost`.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from hermes_desktop.agent.compression.context_compression import Compactor
from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.tools.processes.process_table import ProcessTable
from hermes_desktop.agent.types import CancelSignal, ModelChoice
from hermes_desktop.commands.registry import CommandDef
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.state import SessionDB

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The result of a command.

    Attributes:
        text: The answer; "" for none.
        ask: A message for the assistant to answer now, as if the sender had typed it; None for
            none.
    """

    text: str = ""
    ask: str | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a command, and the chat it came from.

    Attributes:
        platform: Value of the platform.
        chat_type: ``dm``, ``group``, …
        in_window: Whether it is this program's own chat.
        prefix: The prefix of commands there.
        session_key: The key of the chat.
        restricted: Whether only some senders may use all commands here.
        is_admin: Whether this sender may.
        command_names: The commands that the others may use.
    """

    platform: str
    chat_id: str
    chat_type: str = "dm"
    chat_name: str = ""
    user_id: str | None = None
    user_name: str = ""
    in_window: bool = False
    prefix: str = "/"
    session_key: str = ""
    restricted: bool = False
    is_admin: bool = True
    command_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Work:
    """Something that runs or waits on behalf of a chat.

    Attributes:
        id: The id by which it can be stopped.
        what: The request, or the command.
        since: Its start, in seconds since the epoch.
        where: The chat it belongs to.
    """

    id: str
    kind: Literal["reply", "background task", "process", "approval", "question"]
    what: str
    since: float
    where: str = ""
    state: str = "running"


class CommandHost(Protocol):
    """Gateway operations for a command, on the chat it came from. Called on the event loop."""

    async def session_id(self, *, begin: bool = False) -> str | None:
        """Return the session that the chat's messages go to; None when there is none yet.

        Args:
            begin: Start a session if needed.

        Raises:
            HermesError: state.db cannot be read.
        """
        ...

    def is_busy(self) -> bool:
        """Return whether a reply is being written, or a message waits, in the chat."""
        ...

    def running_since(self) -> float | None:
        """Return the start of the running turn in seconds since the epoch; None: none runs."""
        ...

    def alone_in(self, session_id: str) -> AbstractAsyncContextManager[None]:
        """Return a context during which no other turn runs in a session.

        Raises:
            BusyError: A turn of another chat runs there.
        """
        ...

    def working_on(self, words: str) -> AbstractContextManager[CancelSignal]:
        """Return a context for a long operation, which the window shows while it lasts.

        Args:
            words: The operation, as a sentence.

        Returns:
            A context whose signal says whether it was stopped, in the window or with ``/stop``.
        """
        ...

    async def stop_turn(self) -> bool:
        """Stop the running turn and drop waiting messages; return False when there was nothing."""
        ...

    async def begin_anew(self, title: str) -> str:
        """Start a new session in the chat, and return the text of the reply."""
        ...

    async def switch_to(self, session_id: str) -> None:
        """Continue the chat in another session; choices made for the old one are discarded.

        Raises:
            HermesError: It cannot be done; nothing was changed.
        """
        ...

    async def shortened(self, old_id: str, new_id: str) -> None:
        """Record that the chat's session was compacted and continues as ``new_id``, often the same.

        Raises:
            HermesError: It could not be recorded.
        """
        ...

    def forget_agent(self) -> None:
        """Discard the cached agent, so that the next turn re-reads the session."""
        ...

    async def steer(self, text: str) -> bool:
        """Pass a message to the running turn; return False when it no longer accepts one."""
        ...

    async def queue(self, text: str) -> int:
        """Queue a message to be answered after the running turn; return how many wait now.

        Raises:
            BusyError: Too many wait.
        """
        ...

    def model_override(self) -> Mapping[str, str]:
        """Return ``model`` and ``provider`` as far as they were chosen for this session."""
        ...

    async def set_model_override(self, override: Mapping[str, str]) -> None:
        """Set these choices; an empty mapping resets them."""
        ...

    async def chosen(self) -> Mapping[str, str]:
        """Return ``reasoning_effort`` and ``service_tier`` as far as they were chosen here."""
        ...

    async def choose(self, name: str, value: str) -> None:
        """Set one of these choices for this session; "" resets it.

        Raises:
            HermesError: It cannot be stored; nothing was changed.
        """
        ...

    def shows_thinking(self) -> bool:
        """Return whether the model's thinking is shown in the chat."""
        ...

    def show_thinking(self, *, shown: bool) -> None:
        """Switch the display of the model's thinking on or off."""
        ...

    async def begin_background(self, prompt: str) -> str:
        """Start a background task that answers a prompt, and return its name.

        Raises:
            HermesError: It cannot be started.
        """
        ...

    def work(self, *, everywhere: bool) -> tuple[Work, ...]:
        """Return the replies being written and background tasks, of the chat or of all chats."""
        ...

    async def stop_work(self, name: str, *, everywhere: bool) -> bool:
        """Stop a reply or a task; return False when there is none of that name."""
        ...

    async def restart(self) -> bool:
        """Schedule a restart of the gateway; return False where that is not possible."""
        ...

    def platforms(self) -> tuple[PlatformHealth, ...]:
        """Return the health of the platforms."""
        ...

    async def pause(self, platform: str) -> None:
        """Disconnect a platform until it is resumed.

        Raises:
            RefusedError: It is not served here.
        """
        ...

    async def resume(self, platform: str) -> None:
        """Resume a paused platform. Errors as in :meth:`pause`."""
        ...

    async def set_home(self) -> None:
        """Make this chat the platform's home channel from the next start on.

        Raises:
            HermesError: The platform has no such setting, or it cannot be written.
        """
        ...


@dataclass(frozen=True, slots=True)
class UndoneTurns:
    """What undoing turns did.

    Attributes:
        turns: The number of turns.
        rows: The number of messages that were undone.
        text: The first of them.
        notes: What happened to files, as sentences.
    """

    turns: int
    rows: int
    text: str
    notes: tuple[str, ...] = ()


class TurnUndo(Protocol):
    """Undoes turns, and the files that they changed. Blocking; any thread.

    All methods may raise :class:`HermesError`. The caller keeps turns out of the session while one
    of them changes something.
    """

    def preview(self, session_id: str, turns: int) -> str:
        """Return what undoing would do to files, with the difference; "" for nothing."""
        ...

    def undo(self, session_id: str, turns: int) -> UndoneTurns | None:
        """Undo the last turns; None when there are none."""
        ...

    def restore(self, session_id: str) -> str:
        """Revert the latest undo, and return a description of what was restored."""
        ...


def _no_model(_override: Mapping[str, str]) -> ModelChoice | None:
    return None


def _no_care(_override: Mapping[str, str]) -> Compactor | None:
    return None


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """Facts about the program, and parts of it, for commands.

    Attributes:
        profile: Name of the profile.
        home: Its folder.
        choose_model: Returns the model that would answer with these choices (``model``,
            ``provider``); blocking; raises :class:`HermesError`. None: unknown.
        care: Builds the compaction service for the same choices; likewise.
        requests: The queue of approvals and questions; None: there are none here.
        processes: The background processes; None: there are none.
        undo: Undoes turns together with what they changed in files; None: only messages are taken
            back.
        change_setting: Writes one setting of the home, None unsets it; blocking; raises
            :class:`HermesError`. None: settings are not written here.
    """

    version: str
    profile: str = "default"
    home: Path | None = None
    choose_model: Callable[[Mapping[str, str]], ModelChoice | None] = _no_model
    care: Callable[[Mapping[str, str]], Compactor | None] = _no_care
    requests: RequestQueue | None = None
    processes: ProcessTable | None = None
    undo: TurnUndo | None = None
    change_setting: Callable[[str, object], None] | None = None


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The arguments and services that a command receives.

    Attributes:
        args: The text after the command.
        store: The sessions. Blocking: use it inside :attr:`run`.
        run: Runs a blocking call on a worker thread.
        listed: The sessions that the chat was last shown in a numbered list, in order, number 1
            first; the command that shows a list fills it.
        added: The commands added by the user and by plugins, for lists.
        aside: Runs a long blocking call on a thread where it delays nothing else; None: :attr:`run`
            does.
    """

    args: str
    sender: Sender
    host: CommandHost
    store: SessionDB
    run: Callable[[Callable[[], T]], Awaitable[T]]
    clock: Clock
    facts: ProgramFacts
    listed: list[str] = field(default_factory=list)
    added: tuple[CommandDef, ...] = ()
    aside: Callable[[Callable[[], Any]], Awaitable[Any]] | None = None

    async def run_aside(self, call: Callable[[], T]) -> T:
        """Run a long blocking call."""
        if self.aside is None:
            return await self.run(call)
        done: T = await self.aside(call)
        return done

    def name(self, command: str) -> str:
        """Return a command with the prefix of this chat."""
        return f"{self.sender.prefix}{command}"


Handler = Callable[[CommandContext], Awaitable[CommandReply]]
"""Runs a command. May raise :class:`HermesError`, whose text becomes the answer."""
