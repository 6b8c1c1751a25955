"""The usage of one model call, in the fields of the store."""

from typing import Any

from hermes_desktop.agent.types import Finished, ModelChoice


def amounts_of(finished: Finished, choice: ModelChoice) -> dict[str, Any]:
    """Return the figures of one answered call, as ``update_token_counts`` takes them.

    An unreported price stays unknown; it is never guessed and never 0.

    Args:
        finished: The end of the answer.
        choice: The model that gave it.
    """
    known = finished.cost_usd is not None
    cached = finished.cache_read_tokens + finished.cache_write_tokens
    return {
        "input_tokens": max(0, finished.input_tokens - cached),
        "output_tokens": finished.output_tokens,
        "cache_read_tokens": finished.cache_read_tokens,
        "cache_write_tokens": finished.cache_write_tokens,
        "reasoning_tokens": finished.reasoning_tokens,
        "actual_cost_usd": finished.cost_usd,
        "cost_status": "actual" if known else "unknown",
        "cost_source": "provider" if known else None,
        "model": choice.model,
        "billing_provider": choice.provider,
        "billing_base_url": choice.base_url or None,
        "api_call_count": 1,
    }
