"""How much a model can be told at once, and how sure that is.

What the settings say comes first, then what a server on this machine says of itself, then what is
known of models by name. For all others there is a guess, which is marked as one: it may begin a
summary early, but nobody is refused for it. What an endpoint says when it refuses counts most.
"""

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hermes_desktop.agent.types import ConversationMessage, ModelChoice
from hermes_desktop.state.records.content_codec import plain_text

GUESS = 128_000
"""For models that nobody knows."""
LEAST = 1_024
ENOUGH = 64_000
"""With less the instructions, the tools and a few of their results fill a model's context."""
_PER_MESSAGE = 4
_PER_PICTURE = 1_000
_BYTES_PER_TOKEN = 4

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
"""Names of models by how they begin, behind the name of a vendor; the longer one stands first."""

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
        certain: Somebody said so; else it is a guess.
    """

    tokens: int
    certain: bool


def known_length(model: str) -> int | None:
    """What is known of a model by its name."""
    name = model.lower().rpartition("/")[2]
    return next((length for start, length in _KNOWN if name.startswith(start)), None)


def limit_in(words: str) -> int | None:
    """The limit that an endpoint names when it refuses a request; None when it names none."""
    found = _LIMIT.search(words)
    length = int(re.sub(r"\D", "", found[1] or found[2])) if found else 0
    return length if length >= LEAST else None


class WindowBook:
    """What is known of the windows of models. Any thread.

    Args:
        probe: Asks a server on this machine; blocking, short; None: nobody is asked.
    """

    def __init__(self, probe: Callable[[ModelChoice], int | None] | None = None) -> None:
        self._probe = probe
        self._lock = threading.Lock()
        self._learned: dict[tuple[str, str], int] = {}
        self._probed: dict[tuple[str, str], int | None] = {}
        self._told: set[tuple[str, str]] = set()

    def window(self, choice: ModelChoice, *, ask: bool = True) -> Window:
        """The window of a model. Blocking where a server on this machine is asked, once.

        Args:
            choice: The model.
            ask: Whether a server may be asked that was not asked yet.
        """
        with self._lock:
            learned = self._learned.get(_key(choice))
        length = learned or choice.context_length
        if length is None:
            length = self._asked(choice, ask=ask) or known_length(choice.model)
        return Window(length or GUESS, length is not None)

    def found_small(self, choice: ModelChoice) -> int | None:
        """What a server on this machine said of a model, if it is little; told once, else None.

        Such servers often load a model with less than it could take, and some cut off what does not
        fit without a word.
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
        """Take what a refusal teaches: the limit it names, else less than was sent."""
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


# ------------------------------------------------------------------------------------ estimating


def estimate_text(text: str) -> int:
    """About how many tokens a text has. By its bytes: other scripts take more than letters."""
    return (len(text.encode("utf-8", "replace")) + _BYTES_PER_TOKEN - 1) // _BYTES_PER_TOKEN


def estimate_message(message: ConversationMessage) -> int:
    """About how many tokens a message has."""
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
    """About how many tokens messages have together."""
    return sum(map(estimate_message, messages))
