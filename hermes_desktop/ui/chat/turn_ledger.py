"""What is going on in every session that has an unanswered message, shown or not. No Qt."""

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
from hermes_desktop.ui.transcript.call_states import CallState, note_call


@dataclass(slots=True, eq=False)
class LedgerTurn:
    """One turn from the moment it waits until its end has been shown.

    Attributes:
        started_at: Epoch seconds of the start, before it of the queueing.
        reason: For which other program it waits, in a sentence; "" for a reply of this one.
        begun: It was not only queued.
        floor_id: Its rows have greater ids; None while nobody knows.
        pieces: The deltas so far, neighbours of one kind joined.
        calls: What its tools do.
    """

    turn_id: str
    session_id: str
    prompt: str
    started_at: float
    state: Literal["queued", "running", "finished"] = "queued"
    reason: str = ""
    begun: bool = False
    floor_id: int | None = None
    pieces: list[TurnDelta] = field(default_factory=list)
    calls: list[CallState] = field(default_factory=list)
    finished: TurnFinished | None = None


class TurnLedger:
    """Keeps turns while they run, and failed ones until something new is begun after them."""

    def __init__(self) -> None:
        self._turns: dict[str, LedgerTurn] = {}
        self._asking: dict[str, set[str]] = {}
        self.seen: set[str] = set()
        """Sessions that had a turn here: their activity is ours."""

    def queued(self, event: TurnQueued, now: float) -> LedgerTurn:
        """A message waits."""
        turn = self._open(event, now)
        turn.reason = event.reason
        return turn

    def started(self, event: TurnStarted, now: float) -> LedgerTurn:
        """A reply is being written."""
        turn = self._open(event, now)
        turn.state, turn.reason, turn.begun = "running", "", True
        self.seen.add(event.session_id)
        turn.started_at = now
        turn.session_id = event.session_id
        return turn

    def delta(self, event: TurnDelta) -> LedgerTurn | None:
        """A piece came; None for a turn whose start was not seen."""
        turn = self._turns.get(event.turn_id)
        if turn is not None:
            turn.pieces.append(event)
            if len(turn.pieces) > _JOIN_ABOVE:
                turn.pieces = _joined(turn.pieces)
        return turn

    def tool(self, event: ToolStarted | ToolFinished, now: float) -> LedgerTurn | None:
        """A tool begins: what was said before it is stored by now, and comes as a row. Or it ends.

        Returns:
            Its turn; None for one whose start was not seen.
        """
        turn = self._turns.get(event.turn_id)
        if turn is not None:
            state = note_call(turn.calls, event, now)
            if isinstance(event, ToolStarted):
                # The question may be here before the news of the tool that asks it.
                state.asked = event.name in self._asking.get(turn.session_id, ())
                turn.pieces.clear()
        return turn

    def asked(self, session_id: str, tool: str, *, waits: bool) -> list[LedgerTurn]:
        """A running tool waits for a person's word, or got it; the turns that this changed."""
        if waits:
            self._asking.setdefault(session_id, set()).add(tool)
        else:
            self._asking.pop(session_id, None)
        turns = [turn for turn in self.of({session_id}) if turn.state == "running"]
        for call in (call for turn in turns for call in turn.calls):
            if call.running and (call.name == tool or not waits):
                call.asked = waits
        return turns

    def finished(self, event: TurnFinished) -> LedgerTurn | None:
        """A turn is over. Only a failed one is kept, so that coming back shows why."""
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
        """The turns of a session known under these ids, oldest first."""
        return [turn for turn in self._turns.values() if turn.session_id in session_ids]

    def busy(self, session_ids: Collection[str]) -> Literal["", "queued", "running"]:
        """Whether a reply is being written or a message waits."""
        states = {turn.state for turn in self.of(session_ids)}
        if "running" in states:
            return "running"
        return "queued" if "queued" in states else ""

    def waits_for(self, session_ids: Collection[str]) -> str:
        """For which other program a message waits, in a sentence; "" for none."""
        waiting = (turn.reason for turn in self.of(session_ids) if turn.state == "queued")
        return next((reason for reason in waiting if reason), "")

    def forget(self, turn_id: str) -> None:
        """A failed turn was seen and is done with."""
        self._turns.pop(turn_id, None)

    def take_prompts(self, session_ids: Collection[str]) -> list[str]:
        """Forget the turns of a session that is gone; what was asked in them comes back."""
        turns = self.of(session_ids)
        for turn in turns:
            self.forget(turn.turn_id)
        return [turn.prompt for turn in turns]

    def _open(self, event: TurnQueued | TurnStarted, now: float) -> LedgerTurn:
        turn = self._turns.get(event.turn_id)
        if turn is None:
            for old in self.of({event.session_id}):
                if old.state == "finished":
                    self.forget(old.turn_id)
            turn = LedgerTurn(event.turn_id, event.session_id, event.prompt, now)
            self._turns[event.turn_id] = turn
        return turn


_JOIN_ABOVE = 64


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
