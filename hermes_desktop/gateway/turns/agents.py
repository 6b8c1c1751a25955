"""What the gateway needs of an agent, and how it gets one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hermes_desktop.agent.types import AgentResult, ConversationMessage, StreamCallback

PersistedCallback = Callable[[int], None]
"""Told the id of each stored row, the prompt's first, on the thread of the turn."""


class TurnAgent(Protocol):
    """An agent as the gateway uses it: it owns clients and callbacks, not a conversation."""

    session_id: str

    def bind(
        self,
        session_id: str,
        history: list[ConversationMessage] | None,
        *,
        has_row: bool = False,
    ) -> None:
        """Turn to a conversation, as it stands in state.db; None keeps what is in memory.

        ``has_row`` says that the conversation has a row there, which must not be made anew.
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
        """Answer one message in the conversation it is bound to. Blocks.

        ``turn_note`` stands before the message in what the model is told, now and whenever the
        conversation is told again; it is not part of what the person is shown as typed.
        """

    def interrupt(self, message: str | None = None) -> None:
        """Make a running turn end soon; from any thread."""

    def release_clients(self) -> None:
        """Let go of connections; the agent may be used again."""

    def close(self) -> None:
        """Let go of everything for good."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """What an agent is wanted for.

    Attributes:
        session_id: The conversation it will be bound to first.
        source: ``sessions.source`` of a conversation that it begins.
        session_key: The chat.
        session_fields: Further columns of the row of a conversation that it begins.
        settings: What the settings say of agents, in a few characters without a secret; an agent
            made under others is not used again.
        model_override: ``model``, ``provider`` and ``base_url`` as far as they were chosen for
            this conversation; an agent made with others is not used again.
    """

    session_id: str
    source: str
    session_key: str
    session_fields: Mapping[str, Any] = field(default_factory=dict)
    settings: str = ""
    model_override: Mapping[str, str] = field(default_factory=dict)


AgentFactory = Callable[[AgentRequest], TurnAgent]
"""Makes an agent, on a turn's worker thread. May raise :class:`HermesError`."""
