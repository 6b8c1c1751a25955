"""The types shared by the agent and its callers, and the interface of an agent to them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict
from urllib.parse import urlsplit

from hermes_desktop.agent.known_endpoints import provider_title

ConversationMessage = dict[str, Any]
"""One entry of a history: ``role``, ``content`` and what ``get_messages_as_conversation`` adds."""

StreamCallback = Callable[[str], None]
"""Receives each piece of reply text, on the thread of the turn."""


class AgentResult(TypedDict, total=False):
    """The result of a turn. Names follow the field; every key may be missing in foreign results.

    A result of this program always contains ``final_response``, ``session_id``, ``api_calls``,
    ``completed``, ``interrupted``, ``failed``, ``partial``, ``error`` and ``written_message_ids``.
    ``runs_later`` are files that the turn changed and that other programs run automatically later.
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
    written_message_ids: list[int]
    last_reasoning: str | None
    input_tokens: int
    output_tokens: int
    compression_exhausted: bool
    pending_steer: str
    runs_later: list[str]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of the model.

    Attributes:
        id: Ties the result to the call; unique within one answer.
        arguments: JSON as the model wrote it; it may be broken.
    """

    id: str
    name: str
    arguments: str

    def stored(self) -> dict[str, Any]:
        """Return the call in the format of ``messages.tool_calls`` and of the API."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """The start or end of a tool, for listeners.

    Attributes:
        subject: What it works on, in one line without secrets.
        ok: None while it runs.
        seconds: How long it took.
        step: Number of the model's answer that requested it, from 1.
        arguments: Its arguments, without secrets.
        result: The result for the model, likewise; "" while it runs.
    """

    call_id: str
    name: str
    subject: str = ""
    ok: bool | None = None
    seconds: float = 0.0
    step: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""


@dataclass(frozen=True, slots=True)
class ContextNews:
    """The context usage of a conversation.

    Attributes:
        used_tokens: Tokens used with the last answer.
        context_length: The size of the model's context; None if unknown.
        threshold: The usage at which it is compacted; None if it never is.
        about: It was estimated; otherwise the model counted it.
    """

    used_tokens: int
    context_length: int | None = None
    threshold: int | None = None
    about: bool = False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a provider: a finished list of messages in the format of the API.

    Attributes:
        tools: Definitions of the tools that may be called, in the format of the API.
    """

    model: str
    messages: tuple[Mapping[str, Any], ...]
    max_tokens: int | None = None
    tools: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's thinking, not part of the reply.

    Attributes:
        marked: It was in the text between marks; otherwise the server sent it separately.
    """

    text: str
    marked: bool = False


RETRACTED = "The reply above turned out to be the model's thinking."
"""For the user, where text that was shown cannot be removed."""


@dataclass(frozen=True, slots=True)
class TextRetracted:
    """The text of this reply so far turned out to be thinking.

    Attributes:
        text: All of it.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ReplyRestarted:
    """The reply is requested again: what was received so far is discarded."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply is complete.

    Attributes:
        finish_reason: ``stop``, ``length`` or the value sent by the endpoint.
        input_tokens: From the usage chunk, 0 when the endpoint sent none.
        tool_calls: Calls to run before the reply continues.
        cost_usd: The cost of the call reported by the endpoint; None when it reports none.
        instead: The text stored in place of a reply without text.
    """

    finish_reason: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    instead: str = ""


@dataclass(frozen=True, slots=True)
class CallNote:
    """A note about a call for the user; not part of the reply.

    Attributes:
        text: One sentence; "" removes a passing note.
        lasting: It stays with the reply; otherwise it is removed when the call continues.
    """

    text: str
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallAnnounced:
    """The model has named a tool and starts to write its arguments; not part of the reply."""

    name: str


StreamEvent = (
    TextDelta
    | ReasoningDelta
    | TextRetracted
    | ReplyRestarted
    | CallNote
    | ToolCallAnnounced
    | Finished
)

NoteListener = Callable[[CallNote | ToolCallAnnounced | TextRetracted], None]
"""Receives notes, announced tool calls, and text that was not part of the reply."""

TurnNews = ToolProgress | ContextNews | CallNote | ToolCallAnnounced | TextRetracted
ToolListener = Callable[[TurnNews], None]
"""Receives news of tools, notes and the context usage, on any thread of the turn."""


class CancelSignal(Protocol):
    """A signal for a blocking call to end; a ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Return whether the call should end now."""
        ...


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model with its address and its key.

    Attributes:
        model: Name sent in requests.
        base_url: Up to and including ``/v1``; without a trailing slash.
        api_key: Secret, or None for an endpoint without one. Never logged, never shown.
        provider: Name for the user and for ``billing_provider``.
        origin: Where the model was set, for the user ("config.yaml, model.default").
        context_length: The configured size of its context; None if it is not configured.
        max_tokens: How long its answers may be, likewise.
        reasoning_effort: How much it should think; "" leaves that to it, ``none``: not at all.
        service_tier: How fast it is to answer, as named by the provider; "" for the default.
        ca_bundle: A file with certificates that are also trusted for this endpoint.
        request_timeout_s: How long it may be silent before it begins to answer; None: the default.
        stale_timeout_s: How long it may be silent in between; None: the default.
        wants_no_check: The settings ask not to verify its certificate. It is verified anyway.
    """

    model: str
    base_url: str
    api_key: str | None
    provider: str
    origin: str
    kind: Literal["openai", "offline"] = "openai"
    context_length: int | None = None
    max_tokens: int | None = None
    reasoning_effort: str = ""
    service_tier: str = ""
    ca_bundle: str = ""
    request_timeout_s: float | None = None
    stale_timeout_s: float | None = None
    wants_no_check: bool = False

    @property
    def host(self) -> str:
        """The host of its address, without name and password; else the provider's name."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2] or self.provider

    @property
    def who(self) -> str:
        """The subject of a sentence: the provider if it is known by its name, else the server."""
        return self.host if self.provider == "custom" else provider_title(self.provider)

    def __repr__(self) -> str:
        return f"ModelChoice({self.model!r} at {self.base_url!r} from {self.origin!r})"


def amounts_of(finished: Finished, choice: ModelChoice) -> dict[str, Any]:
    """Return the figures of one answered call, as ``update_token_counts`` takes them.

    An unreported price stays unknown; it is never guessed and never 0.

    Args:
        finished: The end of the answer.
        choice: The model that gave it.
    """
    known = finished.cost_usd is not None
    cached = finished.cache_read_tokens + finished.cache_write_tokens
    return {
        "input_tokens": max(0, finished.input_tokens - cached),
        "output_tokens": finished.output_tokens,
        "cache_read_tokens": finished.cache_read_tokens,
        "cache_write_tokens": finished.cache_write_tokens,
        "reasoning_tokens": finished.reasoning_tokens,
        "actual_cost_usd": finished.cost_usd,
        "cost_status": "actual" if known else "unknown",
        "cost_source": "provider" if known else None,
        "model": choice.model,
        "billing_provider": choice.provider,
        "billing_base_url": choice.base_url or None,
        "api_call_count": 1,
    }


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
        """Release all resources; the agent is not used again."""


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
        folder: The working folder that is stored with the session, "" for none; an agent created
            for another one is not reused.
    """

    session_id: str
    source: str
    session_key: str
    session_fields: Mapping[str, Any] = field(default_factory=dict)
    settings: str = ""
    model_override: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""


AgentFactory = Callable[[AgentRequest], TurnAgent]
"""Creates an agent, on a turn's worker thread. May raise :class:`HermesError`."""
