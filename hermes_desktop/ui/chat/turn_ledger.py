"""The turns of every session that has an unanswered message, shown or not. No Qt."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from hermes_desktop.core.events import (
    ToolFinished,
    ToolStarted,
    TurnDelta,
    TurnFinished,
    TurnQueued,
    TurnStarted,
)
from hermes_desktop.core.user_requests import PendingRequests, RequestEvent
from hermes_desktop.ui.transcript.call_states import CallState, note_call


@dataclass(slots=True, eq=False)
class LedgerTurn:
    """One turn from the moment it is queued until its end has been shown.

    Attributes:
        started_at: Epoch seconds of the start, or of the queueing before that.
        reason: The other program that it waits for, as a sentence; "" for a reply of this one.
        begun: Whether it was started and not only queued.
        retried: Whether its prompt was sent again after it failed.
        floor_id: Its rows have greater ids; None while unknown.
        pieces: The deltas so far, neighbors of one kind joined.
        calls: The states of its tool calls.
    """

    turn_id: str
    session_id: str
    prompt: str
    started_at: float
    state: Literal["queued", "running", "finished"] = "queued"
    reason: str = ""
    begun: bool = False
    retried: bool = False
    floor_id: int | None = None
    pieces: list[TurnDelta] = field(default_factory=list)
    calls: list[CallState] = field(default_factory=list)
    finished: TurnFinished | None = None


class TurnLedger:
    """A registry of running turns, and of failed ones until their message is sent again."""

    def __init__(self) -> None:
        self._turns: dict[str, LedgerTurn] = {}
        self._requests = PendingRequests()
        self.seen: set[str] = set()
        """Sessions that had a turn here, so that their activity is not another program's."""

    def queued(self, event: TurnQueued, now: float) -> LedgerTurn:
        """Record a queued message."""
        turn = self._open(event, now)
        turn.reason = event.reason
        return turn

    def started(self, event: TurnStarted, now: float) -> LedgerTurn:
        """Record that a reply is being written."""
        turn = self._open(event, now)
        turn.state, turn.reason, turn.begun = "running", "", True
        self.seen.add(event.session_id)
        turn.started_at = now
        turn.session_id = event.session_id
        return turn

    def delta(self, event: TurnDelta) -> LedgerTurn | None:
        """Record a delta; return None for a turn whose start was not seen."""
        turn = self._turns.get(event.turn_id)
        if turn is not None:
            turn.pieces.append(event)
            if len(turn.pieces) > _JOIN_ABOVE:
                turn.pieces = _joined(turn.pieces)
        return turn

    def tool(self, event: ToolStarted | ToolFinished, now: float) -> LedgerTurn | None:
        """Record the start or the end of a tool call.

        Text before the start of a call is stored by then and arrives as a row.

        Returns:
            Its turn; None for one whose start was not seen.
        """
        turn = self._turns.get(event.turn_id)
        if turn is not None:
            state = note_call(turn.calls, event, now)
            if isinstance(event, ToolStarted):
                # The approval request may arrive before the event of the tool that requests it.
                state.asked = event.name in self._requests.tools(turn.session_id)
                turn.pieces.clear()
        return turn

    def follow_request(self, event: RequestEvent, now: float) -> None:
        """Record that a running tool waits for the user, or that it no longer does."""
        self._requests.follow(event)
        tools = self._requests.tools(event.request.session_id)
        for turn in self.of({event.request.session_id}):
            for call in turn.calls:
                asked = call.running and call.name in tools
                if call.asked and not asked:
                    call.started_at = now  # the user's time is not part of its duration
                call.asked = asked

    def finished(self, event: TurnFinished) -> LedgerTurn | None:
        """Record the end of a turn; only a failed one is kept, to show the reason again later."""
        turn = self._turns.get(event.turn_id)
        if turn is None:
            return None
        turn.state = "finished"
        turn.finished = event
        turn.session_id = event.session_id
        self.seen.add(event.session_id)
        if event.outcome != "failed":
            del self._turns[event.turn_id]
        return turn

    def of(self, session_ids: Collection[str]) -> list[LedgerTurn]:
        """Return the turns of a session known under these ids, oldest first."""
        return [turn for turn in self._turns.values() if turn.session_id in session_ids]

    def busy(self, session_ids: Collection[str]) -> Literal["", "queued", "running", "asking"]:
        """Return whether a reply is written or waits for the user, or a message is queued."""
        states = {turn.state for turn in self.of(session_ids)}
        if "running" in states:
            asking = self._requests.session_ids & frozenset(session_ids)
            return "asking" if asking else "running"
        return "queued" if "queued" in states else ""

    def waits_for(self, session_ids: Collection[str]) -> str:
        """Return the other program that a message waits for, as a sentence; "" for none."""
        waiting = (turn.reason for turn in self.of(session_ids) if turn.state == "queued")
        return next((reason for reason in waiting if reason), "")

    def retry(self, turn_id: str) -> None:
        """Drop a failed turn once the turn that repeats it is known."""
        turn = self._turns.get(turn_id)
        if turn is not None:
            turn.retried = True

    def forget(self, turn_id: str) -> None:
        """Drop a failed turn that is no longer needed."""
        self._turns.pop(turn_id, None)

    def take_prompts(self, session_ids: Collection[str]) -> list[str]:
        """Drop the turns of a deleted session and return their prompts."""
        turns = self.of(session_ids)
        for turn in turns:
            self.forget(turn.turn_id)
        return [turn.prompt for turn in turns]

    def _open(self, event: TurnQueued | TurnStarted, now: float) -> LedgerTurn:
        turn = self._turns.get(event.turn_id)
        if turn is None:
            failed = [old for old in self.of({event.session_id}) if old.state == "finished"]
            kept = [old for old in failed if not old.retried and _is_stored(old)][-_MOST_FAILED:]
            for old in failed:
                if old not in kept:
                    self.forget(old.turn_id)
            turn = LedgerTurn(event.turn_id, event.session_id, event.prompt, now)
            self._turns[event.turn_id] = turn
        return turn


_JOIN_ABOVE = 64
_MOST_FAILED = 20
"""How many failures of one session are remembered."""


def _is_stored(turn: LedgerTurn) -> bool:
    """Return whether the session holds the prompt; otherwise it is back in the message field."""
    return turn.finished is not None and turn.finished.stored


def _joined(pieces: list[TurnDelta]) -> list[TurnDelta]:
    result: list[TurnDelta] = []
    texts: list[list[str]] = []
    for piece in pieces:
        if result and result[-1].kind == piece.kind:
            texts[-1].append(piece.text)
        else:
            result.append(piece)
            texts.append([piece.text])
    return [
        TurnDelta(piece.turn_id, piece.session_id, "".join(text), piece.kind)
        for piece, text in zip(result, texts, strict=True)
    ]
