"""The usage of models: the share of one model, and what several shares cost together."""

from collections.abc import Sequence
from dataclasses import dataclass

_TASKS = {
    "": "",
    "compression": "for summaries",
    "title_generation": "for session titles",
    "vision": "for pictures",
}


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Usage of one model in a session.

    Attributes:
        task: The side task of the calls, "" for replies.
        calls: Number of calls.
        input_tokens: Uncached input; cached input is in ``cache_read_tokens``.
        cost_usd: As far as it is known; None when no price was reported.
        cost_estimated: The price was calculated, not reported by the provider.
        cost_partial: Only a part of the calls has a reported price.
    """

    model: str
    provider: str
    task: str
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    cost_estimated: bool = False
    cost_partial: bool = False

    @property
    def tokens(self) -> int:
        """All tokens of input and output."""
        read = self.input_tokens + self.cache_read_tokens + self.cache_write_tokens
        return read + self.output_tokens


@dataclass(frozen=True, slots=True)
class Cost:
    """The combined cost of several shares.

    Attributes:
        usd: As far as it is known; None: nothing is.
        estimated: A part was calculated, not reported by the provider.
        partial: There are additional costs of unknown amount.
    """

    usd: float | None
    estimated: bool = False
    partial: bool = False


def cost_of(shares: Sequence[ModelUsage]) -> Cost:
    """Return the combined cost of shares. An unknown cost is never taken for zero."""
    known = [each for each in shares if each.cost_usd is not None]
    if not known:
        return Cost(None)
    partial = len(known) < len(shares) or any(each.cost_partial for each in known)
    guessed = any(each.cost_estimated for each in known)
    return Cost(sum(each.cost_usd or 0.0 for each in known), guessed, partial)


def task_label(task: str) -> str:
    """Return a readable name of the auxiliary task of a model call; "" for answering."""
    return _TASKS.get(task, f"for {task.replace('_', ' ')}")
