"""The usage of a session as display text. No Qt."""

from collections.abc import Sequence

from hermes_desktop.core.usage import Cost, ModelUsage, cost_of, task_label
from hermes_desktop.ui.chat.header.context_text import short_tokens

_SMALL_USD = 0.01


def calls_text(count: int) -> str:
    """Return ``1 call``, ``12 calls``."""
    return "1 call" if count == 1 else f"{count:,} calls"


def cost_text(cost: Cost) -> str:
    """Return ``about $0.25``, ``$0.25 for a part of it, the rest unknown``, ``cost unknown``."""
    if cost.usd is None:
        return "cost unknown"
    amount = f"${cost.usd:.2f}" if cost.usd >= _SMALL_USD or cost.usd == 0 else f"${cost.usd:.4f}"
    amount = f"about {amount}" if cost.estimated else amount
    return f"{amount} for a part of it, the rest unknown" if cost.partial else amount


def share_words(usage: ModelUsage) -> str:
    """Return ``openrouter · 12 calls · 10,000 read, 2,000 from the cache, 300 written · $0.25``."""
    counts = [f"{usage.input_tokens:,} read"]
    before = usage.cache_read_tokens + usage.cache_write_tokens
    if before:
        counts.append(f"{before:,} from the cache")
    counts.append(f"{usage.output_tokens:,} written")
    parts = [
        usage.provider,
        task_label(usage.task),
        calls_text(usage.calls) if usage.calls else "",
        ", ".join(counts),
        cost_text(cost_of([usage])),
    ]
    return " · ".join(part for part in parts if part)


def total_words(models: Sequence[ModelUsage], parts: int) -> str:
    """Return one line about the total usage."""
    if not models:
        return "No usage was recorded in this session."
    tokens = sum(each.tokens for each in models)
    calls = sum(each.calls for each in models)
    cost = cost_text(cost_of(models))
    words = [f"{short_tokens(tokens)} tokens", calls_text(calls) if calls else "", cost]
    if parts > 1:
        words.append(f"all {parts} parts together")
    return " · ".join(part for part in words if part)
