"""The compaction settings of config.yaml, and the limits derived from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes_desktop.agent.context_length import Window
from hermes_desktop.settings.options import setting

_SECTION = "Long sessions"
THRESHOLD = 0.5
SMALL_THRESHOLD = 0.75
"""The threshold for windows below :data:`LARGE`, where half would be too little."""
LARGE = 512_000
LEAST = 64_000
"""No conversation is compacted below this, unless the window is smaller."""
MOST = 0.85
"""The threshold for windows below :data:`LEAST`, and for a gateway's compaction before a turn."""


@dataclass(frozen=True, slots=True)
class CompressionSettings:
    """The section ``compression``. Invalid values are replaced by the defaults.

    Attributes:
        enabled: Whether conversations are compacted automatically.
        threshold: At which part of the window.
        target_ratio: Which part of that may stay as it is at the end.
        in_place: The conversation keeps its row; otherwise it continues in a new one.
        most_messages: A gateway compacts a conversation with this many before its next turn.
    """

    enabled: bool = setting(
        "compression.enabled",
        default=True,
        title="Compact long sessions",
        help="Summarizes the oldest messages before the context window is full. You can still "
        "read the original messages.",
        section=_SECTION,
    )
    threshold: float = setting(
        "compression.threshold",
        THRESHOLD,
        title="Compact at this share of the context",
        help="The share of the context window at which a session is compacted. In windows "
        "below 512,000 tokens, never before three quarters.",
        section=_SECTION,
        minimum=0.05,
        maximum=0.95,
    )
    target_ratio: float = 0.2
    protect_first_n: int = 3
    protect_last_n: int = 20
    in_place: bool = setting(
        "compression.in_place",
        default=True,
        title="Stay in the same session",
        help="Compacts within the session. Otherwise a new session continues it, with the "
        "next number after its name.",
        section=_SECTION,
    )
    most_messages: int = 5_000

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any]) -> "CompressionSettings":
        """Read ``compression.*``."""
        usual, section = cls(), config.get("compression")
        if not isinstance(section, Mapping):
            return usual
        most = section.get("hygiene_hard_message_limit")
        return cls(
            enabled=_flag(section.get("enabled"), default=usual.enabled),
            threshold=_part(section.get("threshold"), usual.threshold),
            target_ratio=_part(section.get("target_ratio"), usual.target_ratio),
            protect_first_n=_count(section.get("protect_first_n"), usual.protect_first_n, least=0),
            protect_last_n=_count(section.get("protect_last_n"), usual.protect_last_n, least=2),
            in_place=_flag(section.get("in_place"), default=usual.in_place),
            most_messages=_count(most, usual.most_messages, least=50),
        )

    def threshold_tokens(self, window: Window, max_tokens: int | None) -> int:
        """Return the number of tokens from which a conversation is compacted."""
        part = self.threshold
        if window.tokens < LARGE:
            part = max(part, SMALL_THRESHOLD)
        tokens = max(int((window.tokens - (max_tokens or 0)) * part), LEAST)
        return int(window.tokens * MOST) if tokens >= window.tokens else tokens


def _flag(value: Any, *, default: bool) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in {"1", "true", "yes", "on"}
    return value if isinstance(value, bool) else default


def _part(value: Any, default: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 < value < 1 else default


def _count(value: Any, default: int, *, least: int) -> int:
    number = isinstance(value, int) and not isinstance(value, bool)
    return value if number and value >= least else default
