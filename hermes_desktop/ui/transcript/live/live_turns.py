"""The widgets of replies that are being written, and their transfer to stored rows."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hermes_desktop.core.events import ToolFinished, ToolStarted, TurnFinished, TurnNote
from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.blocks.fold import LabelRow, caption
from hermes_desktop.ui.transcript.blocks.tool_calls import ToolCall
from hermes_desktop.ui.transcript.call_states import CallState, find_rows
from hermes_desktop.ui.transcript.column import Item
from hermes_desktop.ui.transcript.entries import Entry, MessageEntry
from hermes_desktop.ui.transcript.live.live_turn import LiveReply, LiveTurn, Part
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.separators import FailureBlock
from hermes_desktop.ui.transcript.tool_fold import ToolLine
from hermes_desktop.ui.widgets.look import Look
from hermes_desktop.ui.words.gateway_words import plain
from hermes_desktop.ui.words.visible_text import one_line

Supply = Callable[[Entry, HeightForWidthWidget], None]


@dataclass(slots=True, weakref_slot=True)
class LiveTurns:
    """The turns of the shown session, in their order.

    Attributes:
        made: Called with each new message widget, to connect its signals.
        retry: Called with a turn that the user wants to send again.
        changed: Called when the items changed on their own.
        last_prompt_row: Id of the newest stored prompt that is loaded.
        settings: Called with the settings page and the setting that a failure refers to.
    """

    look: Look
    made: Callable[[MessageWidget], None]
    retry: Callable[[LiveTurn], None]
    changed: Callable[[], object] = lambda: None
    settings: Callable[[str, str], object] = lambda _page, _key: None
    turns: list[LiveTurn] = field(default_factory=list)
    last_prompt_row: int = 0

    def find(self, turn_id: str) -> LiveTurn | None:
        """Return the turn of an id, None if there is none."""
        return next((turn for turn in self.turns if turn.turn_id == turn_id), None)

    def queue(
        self, turn_id: str, prompt: str, *, floor_id: int, now: float, reason: str = ""
    ) -> LiveTurn:
        """Show a prompt that waits for its turn, or for something else."""
        turn = self.find(turn_id) or self._add(turn_id, prompt, floor_id, now)
        turn.waiting = caption(
            one_line(reason, 300) or "Waiting for the previous reply.", self.look
        )
        return turn

    def begin(
        self,
        turn_id: str,
        prompt: str,
        *,
        floor_id: int,
        now: float,
        calls: list[CallState] | None = None,
    ) -> LiveTurn:
        """Show the prompt and an open reply."""
        turn = self.find(turn_id) or self._add(turn_id, prompt, floor_id, now)
        turn.floor_id = floor_id
        turn.waiting = None
        if calls is not None:
            turn.calls = calls
        if turn.reply is None and not turn.works:
            self.open_reply(turn, now)
        return turn

    def open_reply(self, turn: LiveTurn, now: float) -> LiveReply:
        """Show an empty reply that will be written."""
        turn.reply, turn.reply_row = LiveReply(self.look), None
        turn.reply.set_moment(datetime.fromtimestamp(now).astimezone())
        self.made(turn.reply)
        return turn.reply

    def tool(self, event: ToolStarted | ToolFinished, calls: list[CallState]) -> None:
        """Show the state of a tool call; text before it becomes a separate message.

        Args:
            event: The start or the end of a call.
            calls: The calls of the turn, already updated with the event.
        """
        turn = self.find(event.turn_id)
        if turn is None or turn.finished is not None:
            return
        turn.calls = calls
        turn.note = None
        if isinstance(event, ToolStarted):
            part = self._part_of(turn, event.step)
            if part is not None:
                call = ToolCall(event.call_id, one_line(event.name, 60), event.subject, "")
                part.widget.show_call(call)
                part.widget.refit()
        elif turn.reply is None and not turn.works:
            self.open_reply(turn, time.time())
        self.changed()

    def _part_of(self, turn: LiveTurn, step: int) -> Part | None:
        """Return the part for the line of a started call; None if a row shows it already."""
        said, row = turn.reply, turn.reply_row
        turn.reply, turn.reply_row = None, None
        if said is not None and said.says_something:
            said.end_stream()
        elif turn.parts and turn.parts[-1].step == step:
            return turn.parts[-1]  # another call of the same response
        elif any(call.step == step and call.row_id is not None for call in turn.calls):
            return None
        if said is None:
            said = self.open_reply(turn, time.time())
            turn.reply = None
        if row is not None:
            return None
        said.end_stream()
        turn.parts.append(Part(said, step))
        return turn.parts[-1]

    def note(self, event: TurnNote) -> None:
        """Show a note: permanently with the reply, or temporarily below it."""
        turn = self.find(event.turn_id)
        if turn is None or turn.finished is not None:
            return
        said = turn.reply or (turn.parts[-1].widget if turn.parts else None)
        if event.lasting and said is not None:
            said.add_note(event.text)
        else:
            turn.note = caption(plain(one_line(event.text, 300)), self.look) if event.text else None
        self.changed()

    def piece(self, turn: LiveTurn, text: str, kind: str) -> None:
        """Append a piece of the reply and remove the temporary note."""
        stale = turn.note is not None or turn.reply is None
        turn.note = None
        reply = turn.reply or self.open_reply(turn, time.time())
        reply.add(text, kind)
        if stale:
            self.changed()

    def lines(
        self, shown: Callable[[str], HeightForWidthWidget | None]
    ) -> Iterator[tuple[ToolLine, CallState]]:
        """Yield the lines of all calls, with their states.

        Args:
            shown: Returns the widget of a stored message, by the key of its entry.
        """
        for turn in self.turns:
            for state in turn.calls:
                places: list[MessageWidget] = [
                    part.widget for part in turn.parts if part.step == state.step
                ]
                stored = shown(f"m{state.row_id}") if state.row_id is not None else None
                if isinstance(stored, MessageWidget):
                    places = [stored]
                for line in (line for place in places for line in place.folds):
                    if line.call.call_id == state.call_id:
                        yield line, state

    def finish(self, event: TurnFinished) -> LiveTurn | None:
        """Finish a turn; a failed one gets a block with the reason."""
        turn = self.find(event.turn_id)
        if turn is None:
            return None
        turn.finished = event
        turn.waiting = turn.note = None
        if turn.reply is None and event.outcome == "done":
            self.open_reply(turn, time.time())
        if turn.reply is not None and turn.reply_row is None:
            turn.reply.close_stream(event)
            if not turn.reply.text.strip() and event.outcome != "done":
                turn.reply = None
        if event.outcome == "failed":
            block = turn.failure = FailureBlock(event, self.look)
            block.again.connect(lambda: self._retry(turn))
            block.settings_wanted.connect(self.settings)
        if event.outcome != "done" and not event.stored and not turn.works and turn.reply is None:
            turn.prompt_widget = None
        return turn

    def drop_transient(self) -> None:
        """Drop what a new turn replaces: unstored answers, and failures that it repeats.

        Any other failure stays with its message.
        """
        for turn in self.turns:
            if turn.retried and isinstance(turn.failure, FailureBlock):
                turn.failure = self._after_retry(turn)
            elif turn.finished is not None and not turn.finished.stored:
                turn.failure = None
            if turn.passing:
                turn.prompt_widget = turn.reply = None
        self.turns = [turn for turn in self.turns if not turn.settled]

    def _retry(self, turn: LiveTurn) -> None:
        turn.retried = True
        self.retry(turn)

    def _after_retry(self, turn: LiveTurn) -> LabelRow | None:
        """Return what stays below a message that was sent again: nothing if it was the last one."""
        is_last = turn is self.turns[-1] and (turn.prompt_row or 0) >= self.last_prompt_row
        if turn.prompt_row is None or is_last:
            return None
        return caption("No reply. The message was sent again below.", self.look)

    def clear(self) -> None:
        """Drop all turns; their widgets are deleted with the column's items."""
        self.turns = []

    def items(self) -> list[Item]:
        """Return all items below the stored messages."""
        return [item for turn in self.turns for item in turn.items()]

    def adopt(self, entries: Sequence[Entry], supply: Supply) -> None:
        """Let stored rows take over the widgets that already show their text.

        Args:
            entries: All loaded entries.
            supply: Receives an entry together with the widget that shows it.
        """
        rows = [entry for entry in entries if isinstance(entry, MessageEntry)]
        prompts = [entry.message.id for entry in rows if entry.message.role == "user"]
        self.last_prompt_row = max(prompts, default=0)
        for turn in reversed(self.turns):  # of equal prompts, the newest row is the newest turn's
            self._adopt_prompt(turn, rows, supply)
            if _is_undone(turn, prompts):
                turn.failure = None
        for turn in self.turns:
            self._adopt_parts(turn, rows, supply)
            self._adopt_reply(turn, rows, supply)
            turn.spoke = turn.prompt_row is not None and bool(turn.answers_in(rows))
            turn.set_heads()
        self.turns = [turn for turn in self.turns if not turn.settled]

    def stored_ids(self) -> frozenset[str]:
        """Return the finished turns whose rows were stored, which the next read must contain."""
        return frozenset(
            turn.turn_id
            for turn in self.turns
            if turn.finished is not None and turn.finished.last_message_id is not None
        )

    def drop_undone(self, turn_ids: frozenset[str]) -> None:
        """Drop the rest of turns whose rows a later read did not contain.

        They were undone in the meantime. A failure block stays until its prompt is gone.
        """
        for turn in self.turns:
            if turn.turn_id in turn_ids:
                turn.prompt_widget = turn.reply = None
                turn.parts = []
        self.turns = [turn for turn in self.turns if not turn.settled]

    def _adopt_prompt(self, turn: LiveTurn, rows: list[MessageEntry], supply: Supply) -> None:
        if turn.prompt_row is not None or turn.prompt_widget is None:
            return
        taken = {other.prompt_row for other in self.turns}
        for entry in reversed(rows):
            message = entry.message
            if message.role != "user" or message.id in taken or not turn.owns(entry):
                continue
            if message.content.strip() == turn.prompt.strip():
                turn.prompt_row = message.id
                _run(turn.prompt_widget.adopt(entry))
                supply(entry, turn.prompt_widget)
                return

    def _adopt_parts(self, turn: LiveTurn, rows: list[MessageEntry], supply: Supply) -> None:
        own = turn.answers_in(rows)
        find_rows(turn.calls, own)
        kept: list[Part] = []
        for part in turn.parts:
            ids = {call.row_id for call in turn.calls if call.step == part.step}
            entry = next((entry for entry in own if entry.message.id in ids), None)
            if entry is None:
                kept.append(part)
                continue
            own.remove(entry)
            _run(part.widget.adopt(entry))
            supply(entry, part.widget)
        # An earlier read may not have the rows yet; rows missing from a later one were undone.
        stored_at_all = turn.finished is None or turn.finished.last_message_id is not None
        turn.parts = kept if stored_at_all else []

    def _adopt_reply(self, turn: LiveTurn, rows: list[MessageEntry], supply: Supply) -> None:
        if turn.reply is None or turn.reply_row is not None:
            return
        last = turn.finished.last_message_id if turn.finished is not None else None
        text = turn.reply.text.strip()
        for entry in reversed(rows):
            message = entry.message
            if message.role != "assistant" or not turn.owns(entry):
                continue
            if text and message.content.strip() == text:
                turn.reply_row = message.id
                turn.reply.end_stream()
                _run(turn.reply.adopt(entry))
                supply(entry, turn.reply)
                return
            if last is not None and message.id == last:
                turn.reply_row = message.id  # stored text differs: rebuilt
                return

    def _add(self, turn_id: str, prompt: str, floor_id: int, now: float) -> LiveTurn:
        self.drop_transient()
        widget = MessageWidget(self.look, "user")
        self.made(widget)
        widget.set_plain(prompt, datetime.fromtimestamp(now).astimezone())
        turn = LiveTurn(turn_id, prompt, floor_id, now, widget)
        self.turns.append(turn)
        return turn


def _is_undone(turn: LiveTurn, prompts: Sequence[int]) -> bool:
    """Return whether the stored prompt of a turn was removed, as far as the loaded rows show."""
    if turn.finished is None or turn.prompt_row is None or turn.prompt_row in prompts:
        return False
    return not prompts or min(prompts) < turn.prompt_row


def _run(steps: Iterator[None]) -> None:
    for _ in steps:
        pass
