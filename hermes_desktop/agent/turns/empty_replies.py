"""Replies for turns that ended without any text: no silence without a reason."""

from collections.abc import Mapping
from typing import Any

_TOO_LONG_SIGNS = ("context", "token", "too large", "too long", "exceed", "payload")
_LONG_HISTORY = 50

TOO_LONG = (
    "This session no longer fits into the model's context window. "
    "Shorten it with /compact, or begin a new one with /reset."
)
NOT_REACHED = (
    "This message was interrupted before the model saw it. Please send it again if it still counts."
)
NO_TEXT = "The model finished without writing anything. Please try again, perhaps in other words."
NOT_PROCESSED = "This message was not processed. Please send it again."


def normalize_empty_agent_response(
    agent_result: Mapping[str, Any], response: str, *, history_len: int = 0
) -> str:
    """Return a text for a turn that may have none.

    Args:
        agent_result: The result of the turn; every key may be missing.
        response: The text it wrote, "" for none.
        history_len: The number of messages in the session; a refusal without explanation ("400") is
            interpreted as an overflow only in a long one.

    Returns:
        ``response`` if there is one; else an explanation of what happened; "" where silence is
        correct, i.e. after an interruption in the middle.
    """
    if response:
        return response
    if agent_result.get("failed"):
        return _failure(str(agent_result.get("error") or ""), history_len)
    if not agent_result.get("api_calls"):
        return NOT_REACHED if agent_result.get("interrupted") else NOT_PROCESSED
    if agent_result.get("interrupted"):
        return ""
    return _unfinished(agent_result)


def _unfinished(agent_result: Mapping[str, Any]) -> str:
    if not agent_result.get("partial"):
        return NO_TEXT
    error = str(agent_result.get("error") or "")
    if "remained incomplete after" in error:
        return ""
    return f"The model stopped early: {error[:200]}. Please try again."


def _failure(error: str, history_len: int) -> str:
    lowered = error.lower()
    if any(sign in lowered for sign in _TOO_LONG_SIGNS):
        return TOO_LONG
    if "400" in lowered and history_len > _LONG_HISTORY:
        return TOO_LONG
    return (
        f"The model could not answer: {error[:300] or 'no reason was given'}\n"
        "Please try again; /reset begins a new session."
    )
