"""A scripted model for the real agent: only the outside world is replaced."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hermes_desktop.agent.turns.agent import AIAgent
from hermes_desktop.agent.types import (
    AgentRequest,
    AgentResult,
    CancelSignal,
    ChatRequest,
    Finished,
    ModelChoice,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCall,
)
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import ProviderError
from hermes_desktop.state import SessionDB
from tests.fakes.prompts import prompts_beside

CHOICE = ModelChoice(
    model="scripted",
    base_url="http://model.invalid/v1",
    api_key=None,
    provider="test",
    origin="a test",
)


@dataclass
class ScriptedModel:
    """Answers "reply 1", "reply 2", …, unless scripted otherwise, and records its requests.

    Attributes:
        pieces: The text pieces of the next answers, one list per answer; numbered replies when
            empty.
        failure: Raised instead of an answer, as long as it is set.
        on_ask: Called on the turn's thread with each request.
        calls: The tool calls that end each of the next answers; none when empty.
        hold: Answers wait until this is set (or until they are cancelled).
        asked: Set whenever a request has arrived.
    """

    choice: ModelChoice = CHOICE
    requests: list[ChatRequest] = field(default_factory=list)
    pieces: list[list[str]] = field(default_factory=list)
    calls: list[tuple[ToolCall, ...]] = field(default_factory=list)
    on_ask: Callable[[ChatRequest], object] = lambda _request: None
    thoughts: list[str] = field(default_factory=list)
    failure: ProviderError | None = None
    hold: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    closed: int = 0
    at_once: int = 0
    most_at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.hold.set()

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            calls = self.calls.pop(0) if self.calls else ()
            words = self.pieces.pop(0) if self.pieces else ["reply ", str(number)]
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.on_ask(request)
        self.asked.set()
        try:
            while not self.hold.wait(0.005):
                if cancel.is_set():
                    return
            if self.failure is not None:
                raise self.failure
            for thought in self.thoughts:
                yield ReasoningDelta(thought)
            for word in words:
                if cancel.is_set():
                    return
                yield TextDelta(word)
            yield Finished("tool_calls" if calls else "stop", tool_calls=calls)
        finally:
            with self._lock:
                self.at_once -= 1

    def close(self) -> None:
        self.closed += 1

    def texts(self, number: int = -1) -> list[str]:
        """Return the messages of a request after the system prompt, as "role: text"."""
        return [f"{m['role']}: {m['content']}" for m in self.requests[number].messages[1:]]


class CountingFactory:
    """A factory of real agents over a scripted model, which records them."""

    def __init__(self, db: SessionDB, model: ScriptedModel) -> None:
        self._db = db
        self._model = model
        self.made: list[AIAgent] = []
        self.kind: type[AIAgent] = AIAgent
        self.on_make: Callable[[AgentRequest], object] = lambda _request: None
        self.failure: ProviderError | None = None

    def __call__(self, request: AgentRequest) -> AIAgent:
        if self.failure is not None:
            raise self.failure
        self.on_make(request)
        agent = self.kind(
            provider=self._model,
            store=self._db,
            prompts=prompts_beside(self._db),
            session_id=request.session_id,
            source=request.source,
            clock=SystemClock(),
            session_fields=request.session_fields,
        )
        self.made.append(agent)
        return agent


class RotatingAgent(AIAgent):
    """An agent whose session continues under a new id after each turn."""

    def run_conversation(self, *args: Any, **kwargs: Any) -> AgentResult:
        result = super().run_conversation(*args, **kwargs)
        old, new = self.session_id, f"{self.session_id}-next"
        self._store.end_session(old, "compression")
        self._store.create_session(new, source=self._source, parent_session_id=old)
        self._store.append_message(new, role="user", content="summary of before")
        self.bind(new, None)
        return AgentResult(**{**result, "session_id": new})


class DeafAgent(AIAgent):
    """An agent that hangs and ignores interrupts until ``wakes`` is set."""

    wakes = threading.Event()

    def run_conversation(self, *args: Any, **kwargs: Any) -> AgentResult:
        self.wakes.wait(60)
        return super().run_conversation(*args, **kwargs)
