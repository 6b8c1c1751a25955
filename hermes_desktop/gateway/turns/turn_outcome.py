"""Conversion of an agent's result into the outcome of a turn and its text for the chat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hermes_desktop.agent.turns.turn_results import (
    Outcome,
    normalize_empty_agent_response,
    outcome_of,
)
from hermes_desktop.agent.types import AgentResult
from hermes_desktop.core.errors import (
    BusyError,
    HermesError,
    NotFoundError,
    ProviderError,
    StillBusyError,
)
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.gateway.turns.turn import TurnRecord


class EphemeralReply(str):
    """A text for a chat that is not part of its session and may be deleted after a while."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """The outcome of a turn.

    Attributes:
        delivery: The text for the chat, with an explanation where there was no reply; "" for
            silence.
        reply: The text in the session; equal to ``delivery`` when all went well.
        last_message_id: Greatest row id that the turn wrote, None for none.
        stored: Whether the prompt is in state.db.
        prompt_tokens: The length of the latest request, None when unknown.
        session_id: The session in which the chat continues; "" if unchanged.
    """

    outcome: Outcome
    delivery: str = ""
    reply: str = ""
    last_message_id: int | None = None
    error_title: str = ""
    error_detail: str = ""
    error_hint: str = ""
    error_kind: str = ""
    stored: bool = True
    prompt_tokens: int | None = None
    session_id: str = ""


def from_result(
    result: AgentResult,
    *,
    history_len: int,
    rows: Sequence[int] = (),
    addition: str = "",
    notes: Sequence[str] = (),
) -> TurnOutcome:
    """Return the outcome of a turn that ended without an exception.

    Args:
        result: The result of the agent.
        history_len: The number of messages in the session before.
        rows: Rows known to be stored beyond those that the result names.
        addition: A text for the chat after the reply, about the session itself.
        notes: Likewise, about how the reply was generated; omitted without a reply.
    """
    text = result.get("final_response") or ""
    delivery = normalize_empty_agent_response(result, text, history_len=history_len)
    told = [f"({note})" for note in notes] if text else []
    written = [*result.get("written_message_ids", ()), *rows]
    outcome = outcome_of(result)
    error = result.get("error") or ""
    if outcome == "failed" and text and delivery == text:
        told.insert(0, _broken_words(result, error))
    return TurnOutcome(
        outcome=outcome,
        delivery="\n\n".join(part for part in (delivery, *told, addition) if part),
        reply=delivery if outcome == "done" else text,
        last_message_id=max(written, default=None),
        error_title=_title(result, error) if outcome == "failed" else "",
        error_detail=result.get("error_detail", "") if outcome == "failed" else "",
        error_hint=result.get("error_hint", "") if outcome == "failed" else "",
        error_kind=result.get("error_kind", "") if outcome == "failed" else "",
        stored=bool(written),
        prompt_tokens=result.get("input_tokens") or None,
        session_id=result.get("session_id") or "",
    )


def _broken_words(result: AgentResult, error: str) -> str:
    """Return the error text that follows a partial reply in the chat."""
    return "⚠️ " + " ".join(
        part for part in (_title(result, error), result.get("error_hint", "")) if part
    )


def _title(result: AgentResult, error: str) -> str:
    return result.get("error_title") or error or "The model could not answer."


def from_error(error: Exception, *, rows: Sequence[int] = ()) -> TurnOutcome:
    """Return the outcome of a turn that an exception ended; other than HermesError it is a bug."""
    if isinstance(error, HermesError):
        title, detail, hint = error.title, error.detail, error.hint
    else:
        title = "An internal error occurred in Hermes Desktop."
        detail = f"{type(error).__name__}: {error}"
        hint = "Try again; see the log for details."
    return TurnOutcome(
        outcome="failed",
        delivery=" ".join(part for part in (title, hint) if part),
        last_message_id=max(rows, default=None),
        error_title=title,
        error_detail=detail,
        error_hint=hint,
        error_kind=_kind(error),
        stored=bool(rows),
    )


def _kind(error: Exception) -> str:
    if isinstance(error, StillBusyError):
        return "still_busy"
    if isinstance(error, BusyError):
        return "busy"
    if isinstance(error, NotFoundError):
        return "session_gone"
    return error.kind if isinstance(error, ProviderError) else ""


def answered(text: str) -> TurnOutcome:
    """Return the outcome of a message that the gateway answered itself; nothing is stored."""
    return TurnOutcome("done", delivery=text, reply=text, stored=False)


def with_prefix(outcome: TurnOutcome, words: str) -> TurnOutcome:
    """Return the outcome with a text before the reply."""
    return replace(outcome, delivery=f"{words}\n\n{outcome.delivery}")


def silenced(outcome: TurnOutcome) -> TurnOutcome:
    """Return the outcome without delivery, for a turn whose reply is no longer wanted."""
    return replace(outcome, delivery="")


def stopped(*, rows: Sequence[int] = ()) -> TurnOutcome:
    """Return the outcome of a turn that was stopped before any reply."""
    return TurnOutcome("stopped", last_message_id=max(rows, default=None), stored=bool(rows))


def finished_event(record: TurnRecord, outcome: TurnOutcome) -> TurnFinished:
    """Return the event that a turn is over."""
    return TurnFinished(
        turn_id=record.turn_id,
        session_key=record.session_key,
        session_id=outcome.session_id or record.session_id,
        last_message_id=outcome.last_message_id,
        outcome=outcome.outcome,
        reply=outcome.reply,
        error_title=outcome.error_title,
        error_detail=outcome.error_detail,
        error_hint=outcome.error_hint,
        error_kind=outcome.error_kind,
        stored=outcome.stored,
    )
