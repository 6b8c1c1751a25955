"""Construction of the :class:`AgentResult` of a turn, and its outcome."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hermes_desktop.agent.conversation_loop import Reply
from hermes_desktop.agent.types import AgentResult, ConversationMessage
from hermes_desktop.core.errors import HermesError, NotFoundError

Outcome = Literal["done", "stopped", "failed"]


def outcome_of(result: Mapping[str, Any]) -> Outcome:
    """Return how a turn ended; a result without keys counts as done."""
    if result.get("failed"):
        return "failed"
    return "stopped" if result.get("interrupted") else "done"


def gone_error(session_id: str) -> NotFoundError:
    """Return the error for a session whose row was deleted during the turn."""
    return NotFoundError(
        "This session is no longer there.",
        f"Another program deleted {session_id}.",
        "Start a new session; what you typed is kept.",
    )


def failed_result(
    session_id: str, error: HermesError, kind: str, history: Sequence[ConversationMessage]
) -> AgentResult:
    """Return the result of a turn that ended before the model was called."""
    result = _base(session_id, history, [])
    result["failed"] = True
    _add_error(result, error, kind)
    return result


def finished_result(
    session_id: str,
    reply: Reply,
    history: Sequence[ConversationMessage],
    written: list[int],
    lost: HermesError | None,
) -> AgentResult:
    """Return the result of a turn in which the model was called.

    Args:
        session_id: The session.
        reply: The reply.
        history: The history in memory after the turn.
        written: Ids of the rows it stored.
        lost: Why the reply could not be stored, None when it was or when there was none.
    """
    result = _base(session_id, history, written)
    result.update(
        {"api_calls": 1, "final_response": reply.text, "last_reasoning": reply.reasoning or None}
    )
    whole = reply.finished is not None
    result["partial"] = not whole and bool(reply.text)
    if reply.finished is not None:
        result["input_tokens"] = reply.finished.input_tokens
        result["output_tokens"] = reply.finished.output_tokens
    if lost is not None:
        kind = "session_gone" if isinstance(lost, NotFoundError) else "state"
        result["failed"] = True
        _add_error(result, lost, kind)
    elif reply.error is not None:
        result["failed"] = True
        _add_error(result, reply.error, reply.error.kind)
    elif whole:
        result["completed"] = True
    else:
        result["interrupted"] = True
    return result


def _base(
    session_id: str, history: Sequence[ConversationMessage], written: list[int]
) -> AgentResult:
    return AgentResult(
        final_response="",
        messages=list(history),
        session_id=session_id,
        api_calls=0,
        completed=False,
        interrupted=False,
        failed=False,
        partial=False,
        error=None,
        written_message_ids=list(written),
    )


def _add_error(result: AgentResult, error: HermesError, kind: str) -> None:
    result["error"] = " ".join(part for part in (error.title, error.detail) if part)
    result["error_kind"] = kind
    result["error_title"] = error.title
    result["error_detail"] = error.detail
    result["error_hint"] = error.hint
