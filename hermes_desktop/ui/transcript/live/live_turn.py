"""One turn whose content is not yet shown by stored rows: its state, and its streamed reply."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.blocks.fold import LabelRow, caption
from hermes_desktop.ui.transcript.blocks.markdown_stream import MarkdownStream
from hermes_desktop.ui.transcript.call_states import CallState
from hermes_desktop.ui.transcript.column import CLOSE_GAP, GAP, Item
from hermes_desktop.ui.transcript.entries import MessageEntry
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.separators import FailureBlock
from hermes_desktop.ui.widgets.look import Look
from hermes_desktop.ui.words.gateway_words import plain
from hermes_desktop.ui.words.visible_text import one_line

_CARET_HEIGHT = 20


class CaretRow(HeightForWidthWidget):
    """The caret of a reply that has no text yet, or ends with code."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._colour = look.palette.accent
        self.setAccessibleName("The reply is being written")

    @override
    def fit(self, width: int) -> int:
        return _CARET_HEIGHT

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        x = self.width() - 4 if self.isRightToLeft() else 1
        painter.fillRect(QRectF(x, 2, 2, _CARET_HEIGHT - 4), QColor(self._colour))
        painter.end()


class LiveReply(MessageWidget):
    """A message that collects streamed pieces; :meth:`flush` shows them.

    Call :meth:`flush` at most twenty times a second.
    """

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, "assistant", parent=parent)
        self.text = ""
        self.thinking = ""
        self._stream: MarkdownStream | None = MarkdownStream()
        self._thinking_stream = MarkdownStream()
        self._fresh_text = False
        self._fresh_thinking = False
        self._caret = CaretRow(look)
        self.add_row(self._caret, gap=2)

    @property
    def says_something(self) -> bool:
        """Whether it has any text or reasoning."""
        return bool(self.text.strip() or self.thinking.strip())

    def add_note(self, text: str) -> None:
        """Add a note below the reply, for as long as it is shown."""
        self.add_row(caption(plain(one_line(text, 300)), self.look), gap=4)
        self.refit()

    def add(self, text: str, kind: str) -> None:
        """Append a piece of the reply or, with ``reasoning``, of the reasoning before it.

        With ``retracted``, that text is removed from the end.
        """
        if kind == "reasoning":
            self.thinking += text
            self._thinking_stream.feed(text)
            self._fresh_thinking = True
        elif self._stream is not None and kind == "retracted":
            self.text = self.text.removesuffix(text)
            self._stream = MarkdownStream()
            self._stream.feed(self.text)
            self._fresh_text = True
            self.body.begin_again()
        elif self._stream is not None:
            self.text += text
            self._stream.feed(text)
            self._fresh_text = True

    def flush(self) -> bool:
        """Show what arrived since the last call; return False if there is nothing new."""
        fresh = self._fresh_text or self._fresh_thinking
        if self._fresh_text and self._stream is not None:
            self.stream_text(self._stream.advance())
            self._caret.setVisible(not self.body.show_caret(True))  # noqa: FBT003 - on
        if self._fresh_thinking:
            self.stream_thinking(self._thinking_stream.advance())
        self._fresh_text = self._fresh_thinking = False
        return fresh

    def end_stream(self) -> None:
        """Show everything that arrived, without the caret; later text is ignored."""
        if self._stream is None:
            return
        self.stream_text(self._stream.finish())
        if self.thinking:
            self.stream_thinking(self._thinking_stream.finish())
        self._stream = None
        self._fresh_text = self._fresh_thinking = False
        self.source = self.text
        self.body.show_caret(False)  # noqa: FBT003 - off
        self.remove_row(self._caret)

    def close_stream(self, event: TurnFinished) -> None:
        """Finish the turn; a reply that was not streamed is shown now."""
        if self._stream is not None and not self.text and event.reply:
            self.add(event.reply, "text")
        self.end_stream()
        if event.outcome == "stopped":
            self.add_row(caption("Stopped.", self.look), gap=4)


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
        spoke: Whether the turn's own rows are shown above.
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
    def over(self) -> bool:
        """Whether nothing of it is left to show here but why it failed."""
        return self.finished is not None and all(
            item.widget is self.failure for item in self.items()
        )

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
