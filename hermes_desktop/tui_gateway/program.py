"""What the program hands to this package: the store, the agents, the settings, the trash."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hermes_desktop.agent.tools.asking.approval_queue import ApprovalQueue
from hermes_desktop.agent.tools.asking.question_queue import QuestionQueue
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.commands.context import ProgramFacts
from hermes_desktop.commands.registry import CommandDef
from hermes_desktop.core.clock import Clock
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks


@dataclass(frozen=True, slots=True)
class AgentWish:
    """What an agent is wanted for.

    Attributes:
        session_id: The conversation.
        source: ``sessions.source`` of a row that the agent makes.
        fields: Further columns of such a row.
        model: ``model`` and ``provider`` as far as they were chosen for this conversation.
    """

    session_id: str
    source: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, str] = field(default_factory=dict)


def _does_nothing(_args: str, _given_up: Callable[[], bool]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """A command that the person made in the settings.

    Attributes:
        definition: As it stands in lists.
        stands_for: Of an alias: the other command, with what follows it; else "".
        run: Does it and gives its answer: what was typed behind it, and what is asked now and then
            whether nobody wants it any more. Blocks for a bounded time; any thread.
    """

    definition: CommandDef
    stands_for: str = ""
    run: Callable[[str, Callable[[], bool]], str] = _does_nothing


class AgentMaker(Protocol):
    """Makes agents. Blocking; any thread."""

    def build(self, wish: AgentWish) -> Any:
        """Make one.

        Raises:
            HermesError: No model is set, or the settings make no sense.
        """
        ...

    def choose_model(self, chosen: Mapping[str, str]) -> ModelChoice:
        """Which model would answer. Raises as :meth:`build`."""
        ...

    def fingerprint(self) -> str:
        """Changes when agents have to be made anew. Raises as :meth:`build`."""
        ...


class HomeSettings(Protocol):
    """The settings of the home as they stand now, without secrets. Blocking; any thread.

    All may raise :class:`ConfigError`.
    """

    def document(self) -> Mapping[str, Any]:
        """config.yaml with secrets blanked."""
        ...

    def mtime(self) -> float:
        """When config.yaml was last written, 0 when there is none."""
        ...

    def providers(self) -> Sequence[Mapping[str, Any]]:
        """Who could answer, as far as the settings tell."""
        ...

    def busy_mode(self) -> str:
        """What a message does that comes while a reply is being written."""
        ...

    def most_sessions(self) -> int | None:
        """How many conversations all programs may have open at once; None: any number."""
        ...


class Places(Protocol):
    """The places that ``max_concurrent_sessions`` counts, shared with other programs. Blocking."""

    def take(self, session_id: str, limit: int) -> str | None:
        """Take a place; its name, None when all are taken."""
        ...

    def give_back(self, lease: str) -> None:
        """Give it back."""
        ...

    def move(self, lease: str, session_id: str) -> None:
        """Its conversation goes on under another id."""
        ...


class Trash(Protocol):
    """Where deleted conversations go. Blocking; any thread."""

    def plan(self, session_id: str) -> Any:
        """What a delete takes; its ``segments`` and ``subagents`` are session ids."""
        ...

    def delete(self, plan: Any) -> None:
        """Do it. Raises :class:`HermesError`; nothing was deleted then."""
        ...


@dataclass(frozen=True, slots=True)
class RpcProgram:
    """Everything handed in.

    Attributes:
        db: Opens the conversations, once.
        find: Turns an id, a title or the beginning of an id into an id; raises HermesError.
        fill_in: Words for a turn that ended without text: result, text, length of the history.
        is_platform: Whether sessions of a source belong to a messaging platform.
        facts: What commands tell of the program.
        saved_dir: Where ``session.save`` writes.
        own_commands: The person's own commands as the settings stand now, once plugins are loaded,
            whose commands stand beside them. Blocks for a bounded time; any thread; never raises.
        approvals: What waits for a person's word; None: nothing does.
        questions: What the assistant asks; None: it asks nothing.
        locks: One turn per conversation among all our programs, made once; None: there are none.
    """

    db: Callable[[], SessionDB]
    agents: AgentMaker
    settings: HomeSettings
    places: Places
    trash: Trash
    find: Callable[[SessionDB, str], str]
    fill_in: Callable[[Mapping[str, Any], str, int], str]
    is_platform: Callable[[str], bool]
    facts: ProgramFacts
    home: Path
    saved_dir: Path
    clock: Clock
    own_commands: Callable[[], Sequence[OwnCommand]] = tuple
    approvals: ApprovalQueue | None = None
    questions: QuestionQueue | None = None
    locks: Callable[[], ConversationLocks] | None = None
