"""The :class:`AgentResult` of a turn, its outcome, and what the next turn must know about it.

Another process may append to, rewind or rewrite a session between two turns. Therefore every front
end records the session's mark and compares it before the next turn; the functions here decide which
mark a turn leaves behind, and which text a turn without any is reported with.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hermes_desktop.agent.providers.base import Reply
from hermes_desktop.agent.types import AgentResult, ConversationMessage
from hermes_desktop.core.errors import HermesError, NotFoundError
from hermes_desktop.state.records.records import SessionMark

Outcome = Literal["done", "stopped", "failed"]


def outcome_of(result: Mapping[str, Any]) -> Outcome:
    """Return how a turn ended; a result without keys counts as done."""
    if result.get("failed"):
        return "failed"
    return "stopped" if result.get("interrupted") else "done"


def gone_error(session_id: str) -> NotFoundError:
    """Return the error for a session whose row was deleted during the turn."""
    return NotFoundError(
        "This session no longer exists.",
        f"Another program deleted {session_id}.",
        "Start a new session; your text is kept.",
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


def seen_after_turn(before: SessionMark | None, written: Sequence[int]) -> SessionMark | None:
    """Return the mark of what an agent has seen: the rows before its turn, and its own rows.

    Rows that another process added in between are not included, so that the next turn reads them.

    Args:
        before: The mark when the turn began, None when there was no row.
        written: Row ids that the turn wrote.

    Returns:
        None when there are still no rows.
    """
    if before is None:
        return SessionMark(len(written), 0, max(written)) if written else None
    return SessionMark(
        message_count=before.message_count + len(written),
        rewind_count=before.rewind_count,
        newest_message_id=max(written, default=before.newest_message_id),
    )


def must_read_again(result: Mapping[str, Any], session_id: str) -> bool:
    """Return whether an agent has to read its session before the next turn.

    That is so after anything but a normal end, and after a rotation.

    Args:
        result: The result of the turn.
        session_id: The session in which the turn began.
    """
    plain = not any(result.get(key) for key in ("failed", "interrupted", "partial"))
    return not plain or (result.get("session_id") or session_id) != session_id


_TOO_LONG_SIGNS = ("context", "token", "too large", "too long", "exceed", "payload")
_LONG_HISTORY = 50

TOO_LONG = (
    "This session no longer fits into the model's context window. Shorten it with /compact, "
    "or start a new one with /reset."
)
NOT_REACHED = (
    "This message was interrupted before the model received it. If you still need an answer, "
    "please send it again."
)
NO_TEXT = "The model finished without writing anything. Please try again, or rephrase your message."
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
        f"The model could not answer: {error[:300] or 'no reason was given'}\nPlease try "
        "again, or send /reset to start a new session."
    )
