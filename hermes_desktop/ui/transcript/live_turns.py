"""Replies that are being written: their widgets, and how stored rows take them over."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hermes_desktop.core.events import ToolFinished, ToolStarted, TurnFinished
from hermes_desktop.ui.transcript.column import CLOSE_GAP, GAP, Item
from hermes_desktop.ui.transcript.entries import Entry, MessageEntry
from hermes_desktop.ui.transcript.fitted import Fitted
from hermes_desktop.ui.transcript.fold import LabelRow, caption
from hermes_desktop.ui.transcript.live_reply import LiveReply
from hermes_desktop.ui.transcript.look import Look
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.separators import FailureBlock
from hermes_desktop.ui.transcript.visible_text import one_line, visible

_CLOCK_SLACK_S = 5.0


@dataclass(slots=True, eq=False)
class LiveTurn:
    """One turn on screen.

    Attributes:
        floor_id: Its rows have greater ids than this; 0 when it is not known.
        started_at: Epoch seconds.
        parts: What was said before tools, until it comes as rows.
    """

    turn_id: str
    prompt: str
    floor_id: int
    started_at: float
    prompt_widget: MessageWidget | None
    reply: LiveReply | None = None
    waiting: LabelRow | None = None
    failure: FailureBlock | None = None
    finished: TurnFinished | None = None
    prompt_row: int | None = None
    reply_row: int | None = None
    parts: list[LiveReply] = field(default_factory=list)


@dataclass(slots=True, weakref_slot=True)
class LiveTurns:
    """The turns of the shown session, in their order.

    Attributes:
        made: Told of each new message widget, to connect its signals.
        retry: Called with a turn when the person wants it sent again.
        changed: Called when the items are others without being asked for.
    """

    look: Look
    made: Callable[[MessageWidget], None]
    retry: Callable[[LiveTurn], None]
    changed: Callable[[], object] = lambda: None
    turns: list[LiveTurn] = field(default_factory=list)

    def find(self, turn_id: str) -> LiveTurn | None:
        """The turn of an id."""
        return next((turn for turn in self.turns if turn.turn_id == turn_id), None)

    def queue(self, turn_id: str, prompt: str, *, floor_id: int, now: float) -> LiveTurn:
        """Show a prompt that waits for its turn."""
        turn = self._add(turn_id, prompt, floor_id, now)
        turn.waiting = caption("Waits for the reply before it.", self.look)
        return turn

    def begin(self, turn_id: str, prompt: str, *, floor_id: int, now: float) -> LiveTurn:
        """Show the prompt and an open reply."""
        turn = self.find(turn_id) or self._add(turn_id, prompt, floor_id, now)
        turn.floor_id = floor_id
        turn.waiting = None
        if turn.reply is None:
            turn.reply = LiveReply(self.look)
            turn.reply.set_moment(datetime.fromtimestamp(now).astimezone())
            self.made(turn.reply)
        return turn

    def tool(self, event: ToolStarted | ToolFinished) -> None:
        """Show that a tool runs; what was said before it is a message of its own."""
        turn = self.find(event.turn_id)
        if turn is None or turn.finished is not None:
            return
        turn.waiting = None
        if isinstance(event, ToolStarted):
            words = f"▸ {visible(event.name)}  {one_line(event.subject)} …"
            turn.waiting = caption(words, self.look)
            if turn.reply is not None and turn.reply.text.strip():
                self._begin_part(turn, turn.reply)
        self.changed()

    def _begin_part(self, turn: LiveTurn, said: LiveReply) -> None:
        said.end_stream()
        if turn.reply_row is None:
            turn.parts.append(said)
        turn.reply, turn.reply_row = LiveReply(self.look), None
        turn.reply.set_moment(datetime.now().astimezone())
        self.made(turn.reply)

    def finish(self, event: TurnFinished) -> LiveTurn | None:
        """Close a turn; a failed one gets a block that says why."""
        turn = self.find(event.turn_id)
        if turn is None:
            return None
        turn.finished = event
        turn.waiting = None
        if turn.reply is not None and turn.reply_row is None:
            turn.reply.close_stream(event)
            if not turn.reply.text.strip() and event.outcome != "done":
                turn.reply = None
        if event.outcome == "failed":
            turn.failure = FailureBlock(event, self.look)
            turn.failure.again.connect(lambda: self.retry(turn))
            if not event.stored:
                turn.prompt_widget = None
        return turn

    def drop_passing(self) -> None:
        """Forget earlier failures and answers that are not stored: something new was begun."""
        for turn in self.turns:
            turn.failure = None
            if turn.finished is not None and _is_passing(turn.finished):
                turn.prompt_widget = turn.reply = None
        self.turns = [turn for turn in self.turns if not self._settled(turn)]

    def clear(self) -> None:
        """Forget all turns; their widgets go with the column's items."""
        self.turns = []

    def items(self) -> list[Item]:
        """What stands below the stored messages."""
        items: list[Item] = []
        for turn in self.turns:
            said = [(f"part {at}", part, GAP) for at, part in enumerate(turn.parts)]
            parts: list[tuple[str, Fitted | None, int]] = [
                ("prompt", turn.prompt_widget if turn.prompt_row is None else None, GAP),
                *said,
                ("waiting", turn.waiting, CLOSE_GAP),
                ("reply", turn.reply if turn.reply_row is None else None, GAP),
                ("failure", turn.failure, GAP),
            ]
            for name, widget, gap in parts:
                if widget is not None:
                    items.append(Item(f"{name} {turn.turn_id}", turn, widget, gap))
        return items

    def adopt(self, entries: Sequence[Entry], supply: Callable[[Entry, Fitted], None]) -> None:
        """Let stored rows take over the widgets that already show their text.

        Args:
            entries: All loaded entries.
            supply: Gets an entry together with the widget that shows it.
        """
        rows = [entry for entry in entries if isinstance(entry, MessageEntry)]
        for turn in self.turns:
            self._adopt_parts(turn, rows, supply)
            self._adopt_prompt(turn, rows, supply)
            self._adopt_reply(turn, rows, supply)
        self.turns = [turn for turn in self.turns if not self._settled(turn)]

    def stored_ids(self) -> frozenset[str]:
        """Turns that are over and whose rows were stored: the next reading must bring them."""
        return frozenset(
            turn.turn_id
            for turn in self.turns
            if turn.finished is not None and turn.finished.last_message_id is not None
        )

    def drop_undone(self, turn_ids: frozenset[str]) -> None:
        """Forget what is left of turns whose rows a later reading did not bring.

        Somebody took them back in the meantime. A block that tells of a failure stays.
        """
        for turn in self.turns:
            if turn.turn_id in turn_ids:
                turn.prompt_widget = turn.reply = None
                turn.parts = []
        self.turns = [turn for turn in self.turns if not self._settled(turn)]

    def _adopt_prompt(
        self, turn: LiveTurn, rows: list[MessageEntry], supply: Callable[[Entry, Fitted], None]
    ) -> None:
        if turn.prompt_row is not None or turn.prompt_widget is None:
            return
        taken = {other.prompt_row for other in self.turns}
        for entry in reversed(rows):
            message = entry.message
            if message.role != "user" or message.id in taken or not _is_ours(turn, entry):
                continue
            if message.content.strip() == turn.prompt.strip():
                turn.prompt_row = message.id
                _run(turn.prompt_widget.adopt(entry))
                supply(entry, turn.prompt_widget)
                return

    def _adopt_parts(
        self, turn: LiveTurn, rows: list[MessageEntry], supply: Callable[[Entry, Fitted], None]
    ) -> None:
        stored = {
            entry.message.content.strip(): entry
            for entry in rows
            if entry.message.role == "assistant" and _is_ours(turn, entry)
        }
        kept: list[LiveReply] = []
        for part in turn.parts:
            entry = stored.get(part.text.strip())
            if entry is None:
                kept.append(part)
                continue
            _run(part.adopt(entry))
            supply(entry, part)
        # An earlier reading may not have the rows yet; what no later one brings goes as undone.
        stored_at_all = turn.finished is None or turn.finished.last_message_id is not None
        turn.parts = kept if stored_at_all else []

    def _adopt_reply(
        self, turn: LiveTurn, rows: list[MessageEntry], supply: Callable[[Entry, Fitted], None]
    ) -> None:
        if turn.reply is None or turn.reply_row is not None:
            return
        last = turn.finished.last_message_id if turn.finished is not None else None
        text = turn.reply.text.strip()
        for entry in reversed(rows):
            message = entry.message
            if message.role != "assistant" or not _is_ours(turn, entry):
                continue
            if text and message.content.strip() == text:
                turn.reply_row = message.id
                turn.reply.end_stream()
                _run(turn.reply.adopt(entry))
                supply(entry, turn.reply)
                return
            if last is not None and message.id == last:
                turn.reply_row = message.id  # other text was stored than streamed: build it anew
                return

    def _add(self, turn_id: str, prompt: str, floor_id: int, now: float) -> LiveTurn:
        self.drop_passing()
        widget = MessageWidget(self.look, "user")
        self.made(widget)
        widget.set_plain(prompt, datetime.fromtimestamp(now).astimezone())
        turn = LiveTurn(turn_id, prompt, floor_id, now, widget)
        self.turns.append(turn)
        return turn

    def _settled(self, turn: LiveTurn) -> bool:
        """Whether nothing of a turn is left to show here."""
        shows_prompt = turn.prompt_widget is not None and turn.prompt_row is None
        shows_reply = turn.reply is not None and turn.reply_row is None
        over = turn.finished is not None
        shows_more = bool(turn.parts) or turn.failure is not None
        return over and not shows_prompt and not shows_reply and not shows_more


def _is_ours(turn: LiveTurn, entry: MessageEntry) -> bool:
    """Whether a row can be one that this turn wrote."""
    if turn.floor_id:
        return entry.message.id > turn.floor_id
    return entry.message.timestamp >= turn.started_at - _CLOCK_SLACK_S


def _is_passing(event: TurnFinished) -> bool:
    """Whether a turn was answered, and nothing of it stands in the conversation: a command."""
    return event.outcome == "done" and not event.stored


def _run(steps: Iterator[None]) -> None:
    for _ in steps:
        pass
