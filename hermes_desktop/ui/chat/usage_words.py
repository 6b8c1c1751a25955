"""What a session used, in words. No Qt."""

from collections.abc import Sequence

from hermes_desktop.state.session_usage import ModelUsage
from hermes_desktop.ui.chat.context_words import short_tokens

_TASKS = {
    "": "",
    "compression": "for summaries",
    "title_generation": "for names of sessions",
    "vision": "for pictures",
}
_SMALL_USD = 0.01


def task_words(task: str) -> str:
    """What beside answering a model was asked for."""
    return _TASKS.get(task, f"for {task.replace('_', ' ')}")


def calls_text(count: int) -> str:
    """``1 call``, ``12 calls``."""
    return "1 call" if count == 1 else f"{count:,} calls"


def cost_text(cost: float | None, *, estimated: bool = False) -> str:
    """``$0.25``, ``about $0.25``, ``cost unknown``."""
    if cost is None:
        return "cost unknown"
    amount = f"${cost:.2f}" if cost >= _SMALL_USD or cost == 0 else f"${cost:.4f}"
    return f"about {amount}" if estimated else amount


def share_words(usage: ModelUsage) -> str:
    """``openrouter · 12 calls · 10,000 read, 2,000 from the cache, 300 written · $0.25``."""
    counts = [f"{usage.input_tokens:,} read"]
    before = usage.cache_read_tokens + usage.cache_write_tokens
    if before:
        counts.append(f"{before:,} from the cache")
    counts.append(f"{usage.output_tokens:,} written")
    parts = [
        usage.provider,
        task_words(usage.task),
        calls_text(usage.calls) if usage.calls else "",
        ", ".join(counts),
        cost_text(usage.cost_usd, estimated=usage.cost_estimated),
    ]
    return " · ".join(part for part in parts if part)


def total_words(models: Sequence[ModelUsage], parts: int) -> str:
    """One sentence about all of it."""
    if not models:
        return "Nothing was counted in this session."
    tokens = sum(each.tokens for each in models)
    known = [each.cost_usd for each in models if each.cost_usd is not None]
    cost = cost_text(sum(known) if known else None, estimated=any(m.cost_estimated for m in models))
    if known and len(known) < len(models):
        cost += " for a part of it, the rest unknown"
    calls = sum(each.calls for each in models)
    words = [f"{short_tokens(tokens)} tokens", calls_text(calls) if calls else "", cost]
    if parts > 1:
        words.append(f"all {parts} parts together")
    return " · ".join(part for part in words if part)
