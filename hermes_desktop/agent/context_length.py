"""The size of a model's context window, and how certain it is.

The settings come first, then what a local server reports about itself, then what is known of
models by name. For all others there is a guess, which is marked as one: it may cause an early
summary, but never a refusal. The limit that an endpoint names when it refuses takes precedence.
"""

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hermes_desktop.agent.types import ConversationMessage, ModelChoice
from hermes_desktop.core.text.stored_text import estimate_text
from hermes_desktop.state.records.content_codec import plain_text

GUESS = 128_000
"""For unknown models."""
LEAST = 1_024
ENOUGH = 64_000
"""With less, instructions, tools and a few tool results fill a model's context."""
_PER_MESSAGE = 4
_PER_PICTURE = 1_000

_KNOWN: tuple[tuple[str, int], ...] = (
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("o4-mini", 200_000),
    ("o3", 200_000),
    ("o1", 200_000),
    ("claude", 200_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini", 1_048_576),
    ("deepseek", 128_000),
    ("grok-4", 256_000),
    ("grok-3", 131_072),
    ("kimi-k2", 131_072),
    ("mistral-large", 128_000),
    ("llama-3.1", 131_072),
    ("llama-3.3", 131_072),
    ("qwen3", 131_072),
)
"""Prefixes of model names, after the vendor's name; longer prefixes come first."""

_LIMIT = re.compile(
    r"(?:context (?:length|window|size)|maximum context|max_model_len|n_ctx|limit|maximum"
    r"|must be <=)[^\d.;]{0,40}?(\d[\d,_]{3,9})"
    r"|tokens > (\d[\d,_]{3,9}) maximum",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Window:
    """How many tokens fit into a request with its answer.

    Attributes:
        certain: The size was reported, configured or known; otherwise it is a guess.
    """

    tokens: int
    certain: bool


def known_length(model: str) -> int | None:
    """Return the window known for a model's name."""
    name = model.lower().rpartition("/")[2]
    return next((length for start, length in _KNOWN if name.startswith(start)), None)


def limit_in(words: str) -> int | None:
    """Return the limit that an endpoint names when it refuses a request; None if it names none."""
    found = _LIMIT.search(words)
    length = int(re.sub(r"\D", "", found[1] or found[2])) if found else 0
    return length if length >= LEAST else None


class ContextWindows:
    """The known context windows of models. Thread-safe.

    Args:
        probe: Queries a local server; blocking, short; None to query none.
    """

    def __init__(self, probe: Callable[[ModelChoice], int | None] | None = None) -> None:
        self._probe = probe
        self._lock = threading.Lock()
        self._learned: dict[tuple[str, str], int] = {}
        self._probed: dict[tuple[str, str], int | None] = {}
        self._told: set[tuple[str, str]] = set()

    def window(self, choice: ModelChoice, *, ask: bool = True) -> Window:
        """Return the window of a model. Blocks while a local server is queried, once.

        Args:
            choice: The model.
            ask: Whether a server that has not been queried yet may be.
        """
        with self._lock:
            learned = self._learned.get(_key(choice))
        length = learned or choice.context_length
        if length is None:
            length = self._asked(choice, ask=ask) or known_length(choice.model)
        return Window(length or GUESS, length is not None)

    def found_small(self, choice: ModelChoice) -> int | None:
        """Return the window that a local server reported, if it is small; once, else None.

        Such servers often load a model with a smaller context than it supports, and some silently
        cut off what does not fit.
        """
        key = _key(choice)
        with self._lock:
            length = self._probed.get(key)
            if choice.context_length is not None or key in self._told:
                return None
            if length is None or length >= ENOUGH:
                return None
            self._told.add(key)
            return length

    def learn(self, choice: ModelChoice, words: str, sent_tokens: int) -> Window:
        """Learn from a refusal: the limit it names, else less than was sent."""
        known = self.window(choice, ask=False)
        length = limit_in(words)
        if length is None or length >= known.tokens:
            length = min(known.tokens, max(LEAST, int(sent_tokens * 0.9)))
        with self._lock:
            self._learned[_key(choice)] = length
        return Window(length, certain=True)

    def _asked(self, choice: ModelChoice, *, ask: bool) -> int | None:
        key = _key(choice)
        with self._lock:
            if self._probe is None or not ask or key in self._probed:
                return self._probed.get(key)
        length = self._probe(choice)
        with self._lock:
            self._probed[key] = length
        return length


def _key(choice: ModelChoice) -> tuple[str, str]:
    return choice.base_url, choice.model


# ------------------------------------------------------------------------------------ estimates


def estimate_message(message: ConversationMessage) -> int:
    """Estimate the tokens of a message."""
    sent = message.get("api_content")
    content: Any = sent if isinstance(sent, str) and sent else message.get("content")
    tokens = _PER_MESSAGE
    if isinstance(content, list):
        pictures = sum(isinstance(part, dict) and part.get("type") != "text" for part in content)
        tokens += pictures * _PER_PICTURE
    tokens += estimate_text(content if isinstance(content, str) else plain_text(content))
    calls = message.get("tool_calls")
    return tokens + (estimate_text(str(calls)) if calls else 0)


def estimate(messages: Iterable[ConversationMessage]) -> int:
    """Estimate the total tokens of messages."""
    return sum(map(estimate_message, messages))
