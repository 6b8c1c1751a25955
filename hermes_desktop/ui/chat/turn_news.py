"""Dispatch of turn events to the ledger and, for the shown session, to the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from hermes_desktop.ui.widgets.announcement import announce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hermes_desktop.core.clock import Clock
    from hermes_desktop.core.events import (
        ToolFinished,
        ToolStarted,
        TurnDelta,
        TurnFinished,
        TurnQueued,
        TurnStarted,
    )
    from hermes_desktop.core.user_requests import RequestEvent
    from hermes_desktop.ui.chat.shown_session import ShownSession
    from hermes_desktop.ui.chat.turn_ledger import LedgerTurn, TurnLedger
    from hermes_desktop.ui.transcript.transcript_view import TranscriptView
    from hermes_desktop.ui.widgets.event_bridge import EventBridge


class TurnNews(QObject):
    """Controller that follows the turns of all sessions and shows those of the one on the page.

    Args:
        ledger: Records the turns, shown or not.
        view: The transcript.
        clock: For times of running turns.
        bridge: The events as signals.
        current: Returns the session that the page shows.

    Signals:
        changed: The activity of the shown session changed.
        rows_written: A turn of the shown session wrote rows that have to be read.
        not_stored: The prompt of a turn that failed, or was stopped before it began, is stored
            nowhere; holds the turn, and whether it is shown.
    """

    changed = Signal()
    rows_written = Signal()
    not_stored = Signal(object, bool)

    def __init__(
        self,
        ledger: TurnLedger,
        view: TranscriptView,
        clock: Clock,
        bridge: EventBridge,
        current: Callable[[], ShownSession],
    ) -> None:
        super().__init__(view)
        self._ledger = ledger
        self._view = view
        self._clock = clock
        self._current = current
        bridge.turn_queued.connect(self._queued)
        bridge.turn_started.connect(self._started)
        bridge.turn_delta.connect(self._delta)
        bridge.turn_finished.connect(self._finished)
        bridge.tool_news.connect(self._tool)
        bridge.turn_note.connect(view.live.note)
        for request in bridge.request_signals:
            request.connect(self._request)

    def _queued(self, event: TurnQueued) -> None:
        turn = self._ledger.queued(event, self._clock.time())
        if self._is_shown(turn):
            self._view.queue_turn(
                turn.turn_id, turn.prompt, started_at=turn.started_at, reason=turn.reason
            )
            self.changed.emit()

    def _started(self, event: TurnStarted) -> None:
        turn = self._ledger.started(event, self._clock.time())
        if self._is_shown(turn):
            turn.floor_id = self._view.window_of_entries.floor_id
            self._view.begin_turn(
                turn.turn_id, turn.prompt, started_at=turn.started_at, calls=turn.calls
            )
            self.changed.emit()

    def _delta(self, event: TurnDelta) -> None:
        turn = self._ledger.delta(event)
        if turn is not None and self._is_shown(turn):
            self._view.add_delta(event.turn_id, event.text, event.kind)

    def _tool(self, event: ToolStarted | ToolFinished) -> None:
        turn = self._ledger.tool(event, self._clock.time())
        if turn is not None and self._is_shown(turn):
            self._view.live.tool(event, turn.calls)
            self.rows_written.emit()  # the call is stored before it starts

    def _request(self, event: RequestEvent) -> None:
        self._ledger.follow_request(event, self._clock.time())
        self._view.live.changed()
        self.changed.emit()

    def _finished(self, event: TurnFinished) -> None:
        turn = self._ledger.finished(event)
        if turn is None:
            return
        here = self._view.live.find(event.turn_id) is not None
        if here:
            self._current().ids.add(event.session_id)  # it differs after a rotation
            self._view.finish_turn(event)
            self.changed.emit()
            announce(self._view, event.error_title or self.tr("The reply is complete."))
        waited_only = event.outcome == "stopped" and not turn.begun
        if (event.outcome == "failed" or waited_only) and not event.stored:
            self.not_stored.emit(turn, here)
        if here and event.last_message_id is not None:
            self.rows_written.emit()

    def _is_shown(self, turn: LedgerTurn) -> bool:
        shown = self._current()
        return shown.loaded and turn.session_id in shown.ids


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
    """Return whether a failed turn's stored prompt is not loaded, or has been removed."""
    if turn.finished is None or not turn.finished.stored:
        return False
    return not view.window_of_entries.has_prompt(
        turn.prompt, after=turn.floor_id or 0, since=turn.started_at - _CLOCK_SLACK_S
    )
