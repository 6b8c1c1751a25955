"""Replay of running turns in a session that is opened meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_desktop.ui.chat.turn_ledger import LedgerTurn
    from hermes_desktop.ui.transcript.transcript_view import TranscriptView

_CLOCK_SLACK_S = 5.0


def replay(view: TranscriptView, turns: Iterable[LedgerTurn]) -> None:
    """Bring a freshly opened transcript up to date with its running turns.

    Args:
        view: Already shows the stored messages.
        turns: The session's turns that are not stored yet, in their order.
    """
    for turn in turns:
        if _is_gone(view, turn):
            continue
        if turn.state == "queued":
            view.queue_turn(
                turn.turn_id, turn.prompt, started_at=turn.started_at, reason=turn.reason
            )
            continue
        view.begin_turn(
            turn.turn_id,
            turn.prompt,
            started_at=turn.started_at,
            floor_id=turn.floor_id or 0,
            calls=turn.calls,
        )
        for piece in turn.pieces:
            view.add_delta(piece.turn_id, piece.text, piece.kind)
        if turn.finished is not None:
            view.finish_turn(turn.finished)


def _is_gone(view: TranscriptView, turn: LedgerTurn) -> bool:
    """Return whether a failed turn's stored prompt is not loaded, or was removed meanwhile."""
    if turn.finished is None or not turn.finished.stored:
        return False
    return not view.window_of_entries.has_prompt(
        turn.prompt, after=turn.floor_id or 0, since=turn.started_at - _CLOCK_SLACK_S
    )
