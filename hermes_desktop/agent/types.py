"""The words between the agent and whoever runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict
from urllib.parse import urlsplit

from hermes_desktop.agent.known_endpoints import provider_title

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
    compression_exhausted: bool
    pending_steer: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Something the model wants done.

    Attributes:
        id: Ties the result to the call; unique within one answer.
        arguments: JSON as the model wrote it; it may be broken.
    """

    id: str
    name: str
    arguments: str

    def stored(self) -> dict[str, Any]:
        """The shape it has in ``messages.tool_calls`` and on the wire."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolNews:
    """A tool begins or is over, for whoever watches.

    Attributes:
        subject: What it works on, in one line without secrets.
        ok: None while it runs.
        seconds: How long it took.
        step: Which answer of the model wants it, from 1.
        arguments: What it was called with, without secrets.
        result: What the model is told of it, likewise; "" while it runs.
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
    """How much of what its model can be told a conversation takes now.

    Attributes:
        used_tokens: With the last answer.
        context_length: How much the model can be told; None when nobody knows.
        threshold: From where on it is shortened; None when it is not.
        about: It was estimated; else the model counted.
    """

    used_tokens: int
    context_length: int | None = None
    threshold: int | None = None
    about: bool = False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a provider is asked: a finished list of messages in the wire's own shape.

    Attributes:
        tools: Definitions of the tools that may be called, in the wire's own shape.
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
        marked: It stood in the text between marks; else the server sent it apart from the text.
    """

    text: str
    marked: bool = False


RETRACTED = "What stands above of this reply was the model's thinking."
"""For a person, where text that was shown cannot be taken away."""


@dataclass(frozen=True, slots=True)
class TextRetracted:
    """The text of this reply so far was thinking, as came out only now.

    Attributes:
        text: All of it.
    """

    text: str


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """The reply is asked for anew: what came of it so far does not count."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply is complete.

    Attributes:
        finish_reason: ``stop``, ``length`` or what the endpoint said.
        input_tokens: From the usage chunk, 0 when the endpoint sent none.
        tool_calls: What is to be done before the reply goes on.
        cost_usd: What the endpoint says that the call costs; None when it says nothing.
        instead: What stands in a conversation in the place of a reply without a word.
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
    """Something about a call that the person should know; no part of the reply.

    Attributes:
        text: One sentence; "" takes a passing note away.
        lasting: It stays with the reply; else it goes when the call goes on.
    """

    text: str
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class CallBegun:
    """The model has named a tool and begins to write what it wants of it; no part of the reply."""

    name: str


StreamEvent = (
    TextDelta | ReasoningDelta | TextRetracted | AskedAgain | CallNote | CallBegun | Finished
)

NoteListener = Callable[[CallNote | CallBegun | TextRetracted], None]
"""Told of notes, of tools that are being asked for, and of text that was no part of the reply."""

TurnNews = ToolNews | ContextNews | CallNote | CallBegun | TextRetracted
ToolListener = Callable[[TurnNews], None]
"""Told of tools, of notes and of the context, on any thread of the turn."""


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
        context_length: How much it can be told at once, as the settings say; None: they do not.
        max_tokens: How long its answers may be, likewise.
        reasoning_effort: How much it should think; "" leaves that to it, ``none``: not at all.
        service_tier: How fast it is to answer, in the provider's words; "" as usual.
        ca_bundle: A file with certificates that this endpoint's own is trusted by, too.
        request_timeout_s: How long it may be silent before it begins to answer; None: the usual.
        stale_timeout_s: How long it may be silent in between; None: the usual.
        wants_no_check: The settings say that its certificate is not to be looked at. It is.
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
        """Where it is asked, without a name and a password; the provider's name where nowhere."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2] or self.provider

    @property
    def who(self) -> str:
        """Whom a sentence is about: a provider that people know by its name, else the server."""
        return self.host if self.provider == "custom" else provider_title(self.provider)

    def __repr__(self) -> str:
        return f"ModelChoice({self.model!r} at {self.base_url!r} from {self.origin!r})"
