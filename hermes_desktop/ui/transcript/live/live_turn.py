"""One turn on screen: what of it is still shown by widgets of its own."""

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
    from hermes_desktop.ui.transcript.blocks.fitted import Fitted

_CLOCK_SLACK_S = 5.0


@dataclass(slots=True, eq=False)
class Part:
    """What was said before tools, with a line for each of them, until it comes as a row.

    Attributes:
        step: Which answer of the model it is; 0 when nobody tells.
    """

    widget: LiveReply
    step: int


@dataclass(slots=True, eq=False)
class LiveTurn:
    """One turn on screen.

    Attributes:
        floor_id: Its rows have greater ids than this; 0 when it is not known.
        started_at: Epoch seconds.
        calls: What its tools do, shared with whoever follows the news.
        parts: What was said before tools and is not a row yet.
        reply: What is being written; None while tools run that it waits for.
        spoke: Rows of its own stand above what is shown here.
        waiting: Says that the prompt waits.
        note: Says something that passes.
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
    failure: FailureBlock | None = None
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
        """Whether it was answered, and nothing of it stands in the session: a command."""
        over = self.finished
        return over is not None and over.outcome == "done" and not over.stored

    def owns(self, entry: MessageEntry) -> bool:
        """Whether a row can be one that this turn wrote."""
        floor = self.prompt_row or self.floor_id
        if floor:
            return entry.message.id >= floor if self.prompt_row else entry.message.id > floor
        return entry.message.timestamp >= self.started_at - _CLOCK_SLACK_S

    def answers_in(self, rows: Sequence[MessageEntry]) -> list[MessageEntry]:
        """What it said, among rows."""
        return [entry for entry in rows if entry.message.role == "assistant" and self.owns(entry)]

    def items(self) -> list[Item]:
        """What stands below the stored messages."""
        said = [(f"part {at}", part.widget, GAP) for at, part in enumerate(self.parts)]
        rows: list[tuple[str, Fitted | None, int]] = [
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
        """Whether a tool is seen to do something."""
        return self.finished is None and any(call.running for call in self.calls)

    def set_heads(self) -> None:
        """Name and time stand above the first thing that is said, and nowhere else."""
        first = not self.spoke
        for widget in [*(part.widget for part in self.parts), self.reply]:
            if widget is None or widget.entry is not None:
                continue
            if widget.has_header != first:
                widget.set_header(first)
                widget.refit()
            first = False
