"""The words between the agent and whoever runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict

ConversationMessage = dict[str, Any]
"""One entry of a history: ``role``, ``content`` and what ``get_messages_as_conversation`` adds."""

StreamCallback = Callable[[str], None]
"""Gets each piece of reply text, on the thread of the turn."""


class AgentResult(TypedDict, total=False):
    """What a turn ended in. Names follow the field; every key may be missing in foreign results.

    Ours always carries ``final_response``, ``session_id``, ``api_calls``, ``completed``,
    ``interrupted``, ``failed``, ``partial``, ``error``, ``agent_persisted`` and
    ``written_message_ids``.
    """

    final_response: str | None
    messages: list[ConversationMessage]
    session_id: str
    api_calls: int
    completed: bool
    interrupted: bool
    failed: bool
    partial: bool
    error: str | None
    error_kind: str
    error_title: str
    error_detail: str
    error_hint: str
    agent_persisted: bool
    written_message_ids: list[int]
    last_reasoning: str | None
    input_tokens: int
    output_tokens: int
    turn_exit_reason: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a provider is asked: a finished list of messages in the wire's own shape."""

    model: str
    messages: tuple[Mapping[str, Any], ...]
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's thinking, not part of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply is complete.

    Attributes:
        finish_reason: ``stop``, ``length`` or what the endpoint said.
        input_tokens: From the usage chunk, 0 when the endpoint sent none.
    """

    finish_reason: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0


StreamEvent = TextDelta | ReasoningDelta | Finished


class CancelSignal(Protocol):
    """Tells a blocking call that it should end; a ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether the call should end now."""
        ...


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model answers, where, and with which key.

    Attributes:
        model: Name sent on the wire.
        base_url: Up to and with ``/v1``; no slash at the end.
        api_key: Secret, or None for an endpoint without one. Never logged, never shown.
        provider: Name for a person and for ``billing_provider``.
        origin: Where the model was named, for a person ("config.yaml, model.default").
    """

    model: str
    base_url: str
    api_key: str | None
    provider: str
    origin: str
    kind: Literal["openai", "offline"] = "openai"
    context_length: int | None = None
    max_tokens: int | None = None

    def __repr__(self) -> str:
        return f"ModelChoice({self.model!r} at {self.base_url!r} from {self.origin!r})"
