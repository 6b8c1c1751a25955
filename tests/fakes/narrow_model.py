"""A model with a small context: counts tokens, refuses long requests, and writes summaries."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.model_server import ModelServer, Recorded, Reply, error, text


@dataclass
class NarrowModel:
    """The responder of a :class:`ModelServer`.

    Args:
        window: How many tokens a request may have.
        reply: The text of each reply.
        summary: The text of each summary; None: the request for one fails.
        on_turn: Called before each answer that is not a summary, on the server's thread.
        on_summary: The same, before each summary.
    """

    window: int = 10_000
    reply: str = "That is noted, and here are a few more words about it."
    summary: str | None = "The person talks about numbers; nothing is open."
    on_turn: Callable[[], object] = lambda: None
    on_summary: Callable[[], object] = lambda: None
    refusals: int = 0
    summaries: list[Recorded] = field(default_factory=list)
    turns: list[list[dict[str, Any]]] = field(default_factory=list)

    def __call__(self, request: Recorded) -> Reply:
        size = sum(len(json.dumps(each)) for each in request.messages) // 4
        if is_summary_request(request):
            self.summaries.append(request)
            self.on_summary()
            if self.summary is None:
                return error(403, "Not allowed.")
        if size > self.window:
            self.refusals += 1
            said = f"This model's maximum context length is {self.window} tokens."
            return error(400, said, code="context_length_exceeded")
        if is_summary_request(request):
            return text(self.summary or "", usage=(size, 12))
        self.turns.append(request.messages)
        self.on_turn()
        return text(self.reply, usage=(size, 12))

    def serve(self) -> ModelServer:
        return ModelServer(responder=self)


def is_summary_request(request: Recorded) -> bool:
    return request.body[:400].find(b"You shorten a conversation") >= 0
