"""Interfaces that the host program provides to this package: store, agents, settings, trash."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hermes_desktop.agent.tools.asking.request_queue import RequestQueue
from hermes_desktop.agent.types import AgentRequest, ModelChoice
from hermes_desktop.commands.added_commands import AddedCommand
from hermes_desktop.commands.context import ProgramFacts
from hermes_desktop.core.clock import Clock
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks


class AgentMaker(Protocol):
    """Factory of agents. Blocking; any thread."""

    def build(self, request: AgentRequest) -> Any:
        """Create an agent.

        Raises:
            HermesError: No model is set, or the settings are invalid.
        """
        ...

    def choose_model(self, chosen: Mapping[str, str]) -> ModelChoice:
        """Return the model that would answer. Raises as :meth:`build`."""
        ...

    def fingerprint(self) -> str:
        """Return a value that changes when agents have to be recreated. Raises as :meth:`build`."""
        ...


class HomeSettings(Protocol):
    """The current settings of the home, without secrets. Blocking; any thread.

    All may raise :class:`ConfigError`.
    """

    def document(self) -> Mapping[str, Any]:
        """Return config.yaml with secrets blanked."""
        ...

    def mtime(self) -> float:
        """Return when config.yaml was last written, 0 when there is none."""
        ...

    def providers(self) -> Sequence[Mapping[str, Any]]:
        """Return the available providers, as far as the settings tell."""
        ...

    def busy_mode(self) -> str:
        """Return the effect of a message that arrives while a reply is being written."""
        ...

    def most_sessions(self) -> int | None:
        """Return the limit of open sessions of all programs; None: no limit."""
        ...


class SessionLeases(Protocol):
    """The leases that ``max_concurrent_sessions`` limits, shared with other programs. Blocking."""

    def take(self, session_id: str, limit: int) -> str | None:
        """Claim a lease; return its id, None when all are taken."""
        ...

    def give_back(self, lease: str) -> None:
        """Release it."""
        ...

    def move(self, lease: str, session_id: str) -> None:
        """Move it to a new session id."""
        ...


class Trash(Protocol):
    """The trash for deleted sessions. Blocking; any thread."""

    def plan(self, session_id: str) -> Any:
        """Return what a delete removes; its ``segments`` and ``subagents`` are session ids."""
        ...

    def delete(self, plan: Any) -> None:
        """Delete it. Raises :class:`HermesError`; nothing was deleted then."""
        ...


@dataclass(frozen=True, slots=True)
class RpcProgram:
    """The dependencies that the host program provides.

    Attributes:
        db: Opens the session database, once.
        find: Resolves an id, a title or the beginning of an id to an id; raises HermesError.
        is_platform: Returns whether sessions of a source belong to a messaging platform.
        facts: Information about the program for commands.
        saved_dir: The folder to which ``session.save`` writes.
        own_commands: Returns the user's current own commands, after plugins are loaded, whose
            commands are listed beside them. Blocks for a bounded time; any thread; never raises.
        requests: The pending approvals and questions; None: there are none.
        locks: One turn per conversation among all our programs, created once; None: no locks.
    """

    db: Callable[[], SessionDB]
    agents: AgentMaker
    settings: HomeSettings
    places: SessionLeases
    trash: Trash
    find: Callable[[SessionDB, str], str]
    is_platform: Callable[[str], bool]
    facts: ProgramFacts
    home: Path
    saved_dir: Path
    clock: Clock
    own_commands: Callable[[], Sequence[AddedCommand]] = tuple
    requests: RequestQueue | None = None
    locks: Callable[[], ConversationLocks] | None = None
