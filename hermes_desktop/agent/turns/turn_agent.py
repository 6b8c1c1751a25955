"""The interface of an agent to the gateway, and the request for creating one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hermes_desktop.agent.types import AgentResult, ConversationMessage, StreamCallback

PersistedCallback = Callable[[int], None]
"""Called with the id of each stored row, the prompt's first, on the thread of the turn."""


class TurnAgent(Protocol):
    """An agent as the gateway uses it: it owns clients and callbacks, not a session."""

    session_id: str

    def bind(
        self,
        session_id: str,
        history: list[ConversationMessage] | None,
        *,
        has_row: bool = False,
    ) -> None:
        """Bind the agent to a session with its history from state.db; None keeps what is in memory.

        ``has_row`` says that the session already has a row there, which must not be created again.
        """

    def run_conversation(
        self,
        user_message: str,
        *,
        stream_callback: StreamCallback | None = None,
        reasoning_callback: StreamCallback | None = None,
        persisted_callback: PersistedCallback | None = None,
        turn_note: str = "",
        platform_message_id: str | None = None,
    ) -> AgentResult:
        """Answer one message in the bound session. Blocks.

        ``turn_note`` precedes the message for the model, now and in later requests; it is not part
        of the message that the user sees.
        """

    def interrupt(self, message: str | None = None) -> None:
        """Make a running turn end soon; from any thread."""

    def release_clients(self) -> None:
        """Release connections; the agent may be used again."""

    def close(self) -> None:
        """Release all resources for good."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """A request for an agent.

    Attributes:
        session_id: The session it will be bound to first.
        source: ``sessions.source`` of a session that it starts.
        session_key: The chat.
        session_fields: Further columns of the row of a session that it starts.
        settings: A short summary of the settings of agents, without secrets; an agent created under
            other settings is not reused.
        model_override: ``model``, ``provider`` and ``base_url`` as far as they were chosen for this
            session; an agent created with others is not reused.
    """

    session_id: str
    source: str
    session_key: str
    session_fields: Mapping[str, Any] = field(default_factory=dict)
    settings: str = ""
    model_override: Mapping[str, str] = field(default_factory=dict)


AgentFactory = Callable[[AgentRequest], TurnAgent]
"""Creates an agent, on a turn's worker thread. May raise :class:`HermesError`."""
