"""The live states of a running turn's tool calls, and the stored row of each call. No Qt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hermes_desktop.core.events import ToolFinished, ToolStarted
from hermes_desktop.ui.transcript.entries import MessageEntry


@dataclass(slots=True, eq=False)
class CallState:
    """One call from its start on; changed in place.

    Attributes:
        step: Which response of the model made it; 0 if unknown.
        started_at: Epoch seconds of its start, or of the moment when the user allowed it.
        asked: Whether it waits for an approval.
        ok: None while it runs.
        seconds: How long it took.
        row_id: Id of the message that shows it; None while that is not loaded.
    """

    call_id: str
    name: str
    subject: str
    step: int
    started_at: float
    asked: bool = False
    ok: bool | None = None
    seconds: float = 0.0
    row_id: int | None = None

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.ok is None


def note_call(calls: list[CallState], event: ToolStarted | ToolFinished, now: float) -> CallState:
    """Apply an event to the calls and return the state that was changed or created.

    Args:
        calls: The turn's calls so far, in their order.
        event: The start or the end of a call.
        now: Epoch seconds.
    """
    state = next((c for c in reversed(calls) if _is_of(c, event)), None)
    if isinstance(event, ToolStarted):
        if state is None or not state.running:
            state = CallState(event.call_id, event.name, event.subject, event.step, now)
            calls.append(state)
        return state
    if state is None:
        began = now - event.seconds
        state = CallState(event.call_id, event.name, event.subject, event.step, began)
        calls.append(state)
    state.ok, state.seconds, state.asked = event.ok, event.seconds, False
    return state


def find_rows(calls: Iterable[CallState], rows: Sequence[MessageEntry]) -> None:
    """Set for each call the id of the row that shows it.

    Args:
        calls: A turn's calls, in their order.
        rows: The turn's own rows that are loaded, in their order.
    """
    taken = {(c.row_id, c.call_id) for c in calls if c.row_id is not None}
    for state in calls:
        if state.row_id is not None:
            continue
        for entry in rows:
            place = (entry.message.id, state.call_id)
            if place not in taken and any(c.call_id == state.call_id for c in entry.calls):
                state.row_id = entry.message.id
                taken.add(place)
                break


def _is_of(state: CallState, event: ToolStarted | ToolFinished) -> bool:
    return state.call_id == event.call_id and state.step == event.step
