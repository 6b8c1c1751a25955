"""What a command works with: the chat it came from, the conversations, and what the gateway does.

Commands know state and agent. What only the gateway can do they ask of a :class:`CommandHost`.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from hermes_desktop.agent.compression.context_compression import ContextCare
from hermes_desktop.agent.tools.asking.approval_queue import ApprovalQueue
from hermes_desktop.agent.tools.asking.question_queue import QuestionQueue
from hermes_desktop.agent.tools.processes.process_table import ProcessTable
from hermes_desktop.agent.types import CancelSignal, ModelChoice
from hermes_desktop.commands.registry import CommandDef
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.state import SessionDB

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CommandReply:
    """What a command comes to.

    Attributes:
        text: The answer; "" for none.
        ask: A message that the assistant is to answer now, as if the person had typed it; None
            for none.
    """

    text: str = ""
    ask: str | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """Who typed a command, and where.

    Attributes:
        platform: Value of the platform.
        chat_type: ``dm``, ``group``, …
        in_window: It is this program's own chat.
        prefix: What commands begin with there.
        session_key: Names the chat.
        restricted: Whether only some may use all commands here.
        is_admin: Whether this person may.
        command_names: What the others may use.
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
    """Something that runs or waits on somebody's behalf.

    Attributes:
        id: Stopping names it.
        what: The request, or the command.
        since: When it began, in seconds since the epoch.
        where: Which chat it belongs to.
    """

    id: str
    kind: Literal["reply", "background task", "process", "approval", "question"]
    what: str
    since: float
    where: str = ""
    state: str = "running"


class CommandHost(Protocol):
    """What the gateway does for a command, for the chat it came from. On the loop."""

    async def session_id(self, *, begin: bool = False) -> str | None:
        """The session that the chat's messages go to; None when none has begun.

        Args:
            begin: Begin one if need be.

        Raises:
            HermesError: state.db cannot be asked.
        """
        ...

    def is_busy(self) -> bool:
        """Whether a reply is being written, or a message waits, in the chat."""
        ...

    def running_since(self) -> float | None:
        """When the running turn began, in seconds since the epoch; None: none runs."""
        ...

    def alone_in(self, session_id: str) -> AbstractAsyncContextManager[None]:
        """Keep turns out of a session meanwhile.

        Raises:
            BusyError: A turn of another chat runs there.
        """
        ...

    def working_on(self, words: str) -> AbstractContextManager[CancelSignal]:
        """Something that takes long begins: the window shows it while it lasts.

        Args:
            words: What is done, as a sentence.

        Returns:
            What tells whether somebody has stopped it, in the window or with ``/stop``.
        """
        ...

    async def stop_turn(self) -> bool:
        """End the running turn and drop what waits; False when there was nothing."""
        ...

    async def begin_anew(self, title: str) -> str:
        """Begin a new conversation in the chat; the answer for the person."""
        ...

    async def switch_to(self, session_id: str) -> None:
        """Let the chat go on in another session; what was chosen for the old one is forgotten.

        Raises:
            HermesError: It cannot be done; nothing was changed.
        """
        ...

    async def shortened(self, old_id: str, new_id: str) -> None:
        """The chat's conversation was shortened; it goes on as ``new_id``, often the same.

        Raises:
            HermesError: It could not be noted.
        """
        ...

    def forget_agent(self) -> None:
        """Let the next turn read the conversation anew."""
        ...

    async def steer(self, text: str) -> bool:
        """Tell the running turn something; False when it cannot be told."""
        ...

    async def queue(self, text: str) -> int:
        """Have a message answered after what runs; how many wait now.

        Raises:
            BusyError: Too many wait.
        """
        ...

    def model_override(self) -> Mapping[str, str]:
        """``model`` and ``provider`` as far as they were chosen for this conversation."""
        ...

    async def set_model_override(self, override: Mapping[str, str]) -> None:
        """Choose them; an empty mapping takes the choice back."""
        ...

    async def chosen(self) -> Mapping[str, str]:
        """``reasoning_effort`` and ``service_tier`` as far as they were chosen here."""
        ...

    async def choose(self, name: str, value: str) -> None:
        """Choose one of them for this conversation; "" takes the choice back.

        Raises:
            HermesError: It cannot be kept; nothing was changed.
        """
        ...

    def shows_thinking(self) -> bool:
        """Whether what the model thinks is shown in the chat."""
        ...

    def show_thinking(self, *, shown: bool) -> None:
        """Show it from now on, or do not."""
        ...

    async def begin_background(self, prompt: str) -> str:
        """Have something answered beside the conversation; its name.

        Raises:
            HermesError: It cannot be; nothing was begun.
        """
        ...

    def work(self, *, everywhere: bool) -> tuple[Work, ...]:
        """The replies that are written, and the tasks beside them: of the chat, or of all."""
        ...

    async def stop_work(self, name: str, *, everywhere: bool) -> bool:
        """End a reply or a task for good; False when there is none of that name."""
        ...

    async def restart(self) -> bool:
        """Start the gateway anew soon; False when nobody can."""
        ...

    def platforms(self) -> tuple[PlatformHealth, ...]:
        """How the platforms do."""
        ...

    async def pause(self, platform: str) -> None:
        """Leave a platform until it is resumed.

        Raises:
            RefusedError: It is not served here.
        """
        ...

    async def resume(self, platform: str) -> None:
        """Serve a paused platform again. Errors as in :meth:`pause`."""
        ...

    async def set_home(self) -> None:
        """Let unasked news of the platform go to this chat from the next start on.

        Raises:
            HermesError: The platform has no such setting, or it cannot be written.
        """
        ...


def _no_model(_override: Mapping[str, str]) -> ModelChoice | None:
    return None


def _no_care(_override: Mapping[str, str]) -> ContextCare | None:
    return None


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """What commands tell about the program they run in.

    Attributes:
        profile: Name of the profile.
        home: Its folder.
        choose_model: Says which model would answer with these choices (``model``,
            ``provider``); blocking; raises :class:`HermesError`. None: nobody knows.
        care: Makes what shortens conversations, with the same choices; likewise.
        approvals: Where questions to a person wait; None: nothing is asked here.
        questions: What the assistant asks; None: it asks nothing here.
        processes: What runs in the background; None: nothing does.
        change_setting: Writes one setting of the home, None unsets it; blocking; raises
            :class:`HermesError`. None: settings are not written here.
    """

    version: str
    profile: str = "default"
    home: Path | None = None
    choose_model: Callable[[Mapping[str, str]], ModelChoice | None] = _no_model
    care: Callable[[Mapping[str, str]], ContextCare | None] = _no_care
    approvals: ApprovalQueue | None = None
    questions: QuestionQueue | None = None
    processes: ProcessTable | None = None
    change_setting: Callable[[str, object], None] | None = None


@dataclass(frozen=True, slots=True)
class CommandContext:
    """All that a command gets.

    Attributes:
        args: What was typed behind it.
        store: The conversations. Blocking: use it inside :attr:`run`.
        run: Runs a blocking call on a worker.
        listed: The sessions that the chat was last shown under numbers, by number from 1 on; the
            command that shows a list fills it.
        added: The commands that the person and plugins made, for lists.
        aside: Runs a blocking call that takes long, where it is in nobody's way; None:
            :attr:`run` does.
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
        """Run a blocking call that takes long."""
        if self.aside is None:
            return await self.run(call)
        done: T = await self.aside(call)
        return done

    def name(self, command: str) -> str:
        """A command as this chat types it."""
        return f"{self.sender.prefix}{command}"


Handler = Callable[[CommandContext], Awaitable[CommandReply]]
"""Does a command. May raise :class:`HermesError`, whose words are the answer then."""
