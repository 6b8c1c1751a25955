"""The state of one turn whose content is not yet shown by stored rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.ui.transcript.blocks.fold import LabelRow
from hermes_desktop.ui.transcript.call_states import CallState
from hermes_desktop.ui.transcript.column import CLOSE_GAP, GAP, Item
from hermes_desktop.ui.transcript.entries import MessageEntry
from hermes_desktop.ui.transcript.live.live_reply import LiveReply
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.separators import FailureBlock

if TYPE_CHECKING:
    from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget

_CLOCK_SLACK_S = 5.0


@dataclass(slots=True, eq=False)
class Part:
    """Text before tool calls, with a line for each call, until it is loaded as a row.

    Attributes:
        step: Which response of the model it is; 0 if unknown.
    """

    widget: LiveReply
    step: int


@dataclass(slots=True, eq=False)
class LiveTurn:
    """One turn on screen.

    Attributes:
        floor_id: Its rows have greater ids than this; 0 if unknown.
        started_at: Epoch seconds.
        calls: The states of its calls, shared with the controller that receives their events.
        parts: Text before tool calls that is not a row yet.
        reply: The reply being written; None while it waits for running tools.
        spoke: Whether rows of its own are shown above.
        waiting: The note that the prompt waits.
        note: A temporary note.
        failure: The reason of its failure, or a quiet line after it was sent again.
        retried: Whether the user sent its prompt again.
    """

    turn_id: str
    prompt: str
    floor_id: int
    started_at: float
    prompt_widget: MessageWidget | None
    calls: list[CallState] = field(default_factory=list)
    reply: LiveReply | None = None
    waiting: LabelRow | None = None
    note: LabelRow | None = None
    failure: FailureBlock | LabelRow | None = None
    retried: bool = False
    finished: TurnFinished | None = None
    prompt_row: int | None = None
    reply_row: int | None = None
    parts: list[Part] = field(default_factory=list)
    spoke: bool = False

    @property
    def settled(self) -> bool:
        """Whether nothing of it is left to show here."""
        shows_prompt = self.prompt_widget is not None and self.prompt_row is None
        shows_reply = self.reply is not None and self.reply_row is None
        shows_more = bool(self.parts) or self.failure is not None
        return self.finished is not None and not (shows_prompt or shows_reply or shows_more)

    @property
    def passing(self) -> bool:
        """Whether it was answered but not stored in the session: a command."""
        over = self.finished
        return over is not None and over.outcome == "done" and not over.stored

    def owns(self, entry: MessageEntry) -> bool:
        """Return whether this turn may have written a row."""
        floor = self.prompt_row or self.floor_id
        if floor:
            return entry.message.id >= floor if self.prompt_row else entry.message.id > floor
        return entry.message.timestamp >= self.started_at - _CLOCK_SLACK_S

    def answers_in(self, rows: Sequence[MessageEntry]) -> list[MessageEntry]:
        """Return its assistant messages among the rows."""
        return [entry for entry in rows if entry.message.role == "assistant" and self.owns(entry)]

    def items(self) -> list[Item]:
        """Return its items below the stored messages."""
        said = [(f"part {at}", part.widget, GAP) for at, part in enumerate(self.parts)]
        rows: list[tuple[str, HeightForWidthWidget | None, int]] = [
            ("prompt", self.prompt_widget if self.prompt_row is None else None, GAP),
            *said,
            ("waiting", self.waiting, CLOSE_GAP),
            ("reply", self.reply if self.reply_row is None else None, GAP),
            ("note", self.note, CLOSE_GAP),
            ("failure", self.failure, GAP),
        ]
        shown = ((name, widget, gap) for name, widget, gap in rows if widget is not None)
        return [Item(f"{name} {self.turn_id}", self, widget, gap) for name, widget, gap in shown]

    @property
    def works(self) -> bool:
        """Whether a tool of it is shown as running."""
        return self.finished is None and any(call.running for call in self.calls)

    def set_heads(self) -> None:
        """Show name and time above the first message of the turn only."""
        first = not self.spoke
        for widget in [*(part.widget for part in self.parts), self.reply]:
            if widget is None or widget.entry is not None:
                continue
            if widget.has_header != first:
                widget.set_header(first)
                widget.refit()
            first = False
