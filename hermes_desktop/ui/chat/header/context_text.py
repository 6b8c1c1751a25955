"""The context usage of a session as display text. No Qt."""

from hermes_desktop.core.events import ContextUsed

NEAR = 0.9
"""Share of the threshold from which the usage is drawn as a warning."""


def short_tokens(tokens: int) -> str:
    """Return a count such as ``950``, ``12.3 k``, ``2.1 M``."""
    if tokens < 1_000:  # noqa: PLR2004
        return str(tokens)
    if tokens < 1_000_000:  # noqa: PLR2004
        return f"{tokens / 1_000:.1f} k"
    return f"{tokens / 1_000_000:.1f} M"


def share_of(used: ContextUsed) -> float | None:
    """Return the used share of the context window, 0 to 1; None if its size is unknown."""
    if not used.context_length:
        return None
    return min(used.used_tokens / used.context_length, 1.0)


def is_near(used: ContextUsed) -> bool:
    """Return whether the session will soon be compacted, or refused where it is not compacted."""
    limit = used.threshold or used.context_length
    return limit is not None and used.used_tokens >= limit * NEAR


def strip_words(used: ContextUsed) -> str:
    """Return ``context 31 %``, or the tokens alone if the context window is unknown."""
    share = share_of(used)
    if share is None:
        return f"context {_about(used)}{short_tokens(used.used_tokens)} tokens"
    return f"context {_about(used)}{share * 100:.0f} %"


def head_words(used: ContextUsed) -> str:
    """Return the used tokens: ``12.3 k tokens``."""
    return f"{_about(used)}{short_tokens(used.used_tokens)} tokens"


def whole_words(used: ContextUsed) -> str:
    """Return ``About 12,300 of 40,000 tokens, shortened at 30,000``."""
    tokens = f"{_rounded(used):,}"
    begin = f"About {tokens}" if used.about else tokens
    words = f"{begin} tokens"
    if used.context_length:
        words = f"{begin} of {used.context_length:,} tokens"
    if used.threshold:
        words += f", shortened at {used.threshold:,}"
    return words


def tip_words(used: ContextUsed) -> str:
    """Return an explanation of the usage, one sentence per line."""
    lines = [f"{whole_words(used)}."]
    if used.about:
        lines.append("This is an estimate. The next reply brings the exact number.")
    if not used.context_length:
        lines.append("The size of the model's context window is not known.")
    if not used.threshold:
        lines.append("Automatic compression is off in the settings.")
    elif is_near(used):
        lines.append("The earlier part will be summarized soon. Nothing is deleted.")
    return "\n".join(lines)


def _about(used: ContextUsed) -> str:
    return "about " if used.about else ""


def _rounded(used: ContextUsed) -> int:
    """Return the used tokens; an estimate is rounded to hundreds."""
    if not used.about or used.used_tokens < 1_000:  # noqa: PLR2004
        return used.used_tokens
    return round(used.used_tokens, -2)
