"""Replay of running turns in a session that is opened meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_desktop.ui.chat.turn_ledger import LedgerTurn
    from hermes_desktop.ui.transcript.transcript_view import TranscriptView


def replay(view: TranscriptView, turns: Iterable[LedgerTurn]) -> None:
    """Bring a freshly opened transcript up to date with its running turns.

    Args:
        view: Already shows the stored messages.
        turns: The session's turns that are not stored yet, in their order.
    """
    for turn in turns:
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
