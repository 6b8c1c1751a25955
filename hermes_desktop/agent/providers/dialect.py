"""The features of OpenAI's chat completions an endpoint accepts; learned from its refusals."""

import re
import threading
from dataclasses import dataclass, replace
from typing import Any

_LACKS = r"(not support|unsupported|unrecognized|unknown|not permitted|not allowed|not available)"
_LIMIT = re.compile(
    r"(?:at most|less than or equal to|maximum(?: value)? (?:is|of)|<=)\s*(\d{2,7})"
)
_LIMIT_NAMES = re.compile(r"max_(completion_)?tokens", re.IGNORECASE)


def _lacks(what: str) -> re.Pattern[str]:
    """Return a pattern that finds a sentence saying that something is not supported."""
    return re.compile(
        rf"no endpoints .{{0,20}}support {what}|{what}\b.{{0,80}}{_LACKS}"
        rf"|({_LACKS}|extra)\S*.{{0,80}}\b{what}\b",
        re.IGNORECASE | re.DOTALL,
    )


_NO_TOOLS = _lacks(r"(tools?|function calling)")
_NO_TIERS = re.compile(r"service_tier")
_NO_STREAM = re.compile(r"\bstream(ing|ed)?\b", re.IGNORECASE)
_NO_REASONING = _lacks(r"reasoning(_effort|\.effort)?")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The features that an endpoint accepts.

    Attributes:
        stream: Answers piece by piece.
        usage: Counts tokens at the end of a stream.
        limit_field: Its name for the maximum number of tokens of an answer.
        most_tokens: The greatest such number it accepts; None: unknown.
        tools: Tools can be passed to the model.
        reasoning: The amount of thinking can be set.
        tiers: It can be asked to answer faster.
        begins_thinking: Its text begins with thinking, whose opening mark the chat template wrote;
            None: not known yet.
    """

    stream: bool = True
    usage: bool = True
    limit_field: str = "max_tokens"
    most_tokens: int | None = None
    tools: bool = True
    reasoning: bool = True
    tiers: bool = True
    begins_thinking: bool | None = None

    def after_refusal(self, said: str) -> "Dialect | None":
        """Return what to try instead, None when the refusal is about something else."""
        if self.stream and self.usage and re.search(r"stream_options|include_usage", said):
            return replace(self, usage=False)
        if _LIMIT_NAMES.search(said) and (other := self._with_other_limit(said)) is not None:
            return other
        for field, does in (
            ("reasoning", _NO_REASONING),
            ("tiers", _NO_TIERS),
            ("tools", _NO_TOOLS),
            ("stream", _NO_STREAM),
        ):
            if getattr(self, field) and does.search(said):
                without: dict[str, Any] = {field: False}
                return replace(self, **without)
        return None

    def _with_other_limit(self, said: str) -> "Dialect | None":
        if self.limit_field == "max_tokens" and "max_completion_tokens" in said:
            return replace(self, limit_field="max_completion_tokens")
        limit = _LIMIT.search(said)
        if limit is not None and (self.most_tokens or 10**9) > int(limit[1]):
            return replace(self, most_tokens=int(limit[1]))
        return None


class DialectCache:
    """What was learned about endpoints, shared by all providers. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Dialect] = {}

    def of(self, base_url: str, model: str) -> Dialect:
        """Return what an endpoint accepts for a model; everything, until it refused something."""
        with self._lock:
            return self._known.get((base_url, model), Dialect())

    def learn(self, base_url: str, model: str, dialect: Dialect) -> None:
        """Remember what an endpoint accepts."""
        with self._lock:
            self._known[base_url, model] = dialect
