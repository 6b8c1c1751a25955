"""The widget of one message: author and time, reasoning, text, image count, tool calls."""

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from PySide6.QtCore import QMargins, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget
from typing_extensions import override

from hermes_desktop.ui.transcript.blocks.blocks import Block, plain_text
from hermes_desktop.ui.transcript.blocks.body import Body, Segment
from hermes_desktop.ui.transcript.blocks.code_block import CodeSegment
from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget, Stack
from hermes_desktop.ui.transcript.blocks.fold import (
    ActionRow,
    CollapsibleSection,
    FoldWords,
    LabelRow,
    caption,
)
from hermes_desktop.ui.transcript.blocks.markdown_blocks import parse_plain
from hermes_desktop.ui.transcript.blocks.markdown_stream import StreamUpdate
from hermes_desktop.ui.transcript.blocks.tool_calls import ToolCall
from hermes_desktop.ui.transcript.entries import MessageEntry, local_time
from hermes_desktop.ui.transcript.tool_fold import ToolLine, size_text
from hermes_desktop.ui.widgets.look import Look, scaled, tint
from hermes_desktop.ui.widgets.theme import RADIUS_BLOCK
from hermes_desktop.ui.words.day_words import clock_time, full_time

_HEADER = 22
TINT_SIDE = 12


class HeaderRow(HeightForWidthWidget):
    """The header of a message: ``Hermes · 14:02``."""

    def __init__(self, name: str, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(QMargins())
        row.setSpacing(5)
        self.name = QLabel(name, self)
        self.time = QLabel(self)
        for label in (self.name, self.time):
            label.setTextFormat(Qt.TextFormat.PlainText)
            row.addWidget(label)
        row.addStretch(1)
        self.restyle(look)

    def restyle(self, look: Look) -> None:
        """Apply other colors."""
        self.name.setFont(scaled(look.caption_font, 1.0, weight=QFont.Weight.DemiBold))
        self.time.setFont(look.caption_font)
        tint(self.name, look.palette.text)
        tint(self.time, look.palette.secondary_text)

    def set_moment(self, moment: datetime | None) -> None:
        """Show the time."""
        written = clock_time(moment)
        self.time.setText(f"· {written}" if written else "")
        self.setToolTip(full_time(moment))

    @override
    def fit(self, width: int) -> int:
        return _HEADER


class TintedBlock(Stack):
    """Rows on a rounded block of color."""

    def __init__(self, colour: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.colour = colour
        self.set_margins(QMargins(TINT_SIDE, 9, TINT_SIDE, 9))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.colour))
        painter.drawRoundedRect(self.rect(), RADIUS_BLOCK, RADIUS_BLOCK)
        painter.end()


Speaker = Literal["user", "assistant", "system"]
_NAMES: dict[Speaker, str] = {"user": "You", "assistant": "Hermes", "system": "System"}
_GAP = 8
_BLOCKS_PER_SLICE = 4


def speaker_of(role: str) -> Speaker:
    """Return the author shown for a role; unknown roles are shown as the system's."""
    if role == "user":
        return "user"
    return "assistant" if role in {"assistant", "tool"} else "system"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed message, created on a worker thread.

    Attributes:
        blocks: The blocks of the shown part of the content.
        reasoning: The blocks of the reasoning, parsed like the content.
        shown: How many characters of the content ``blocks`` represent.
    """

    blocks: tuple[Block, ...]
    reasoning: tuple[Block, ...]
    shown: int


class MessageWidget(Stack):
    """A widget for one message of any author.

    Args:
        look: Colors and fonts.
        speaker: The author.
        dim: Whether it is drawn in the secondary color (compacted, or the system's).

    Signals:
        menu_wanted: Open the context menu at a global point, for a widget.
        link_wanted: A link was clicked.
        code_shown: A segment with code is complete and may be colored.
        more_wanted: Show the rest of a very long message.
    """

    menu_wanted = Signal(QPoint, QWidget)
    link_wanted = Signal(str)
    code_shown = Signal(object)
    more_wanted = Signal()

    def __init__(
        self, look: Look, speaker: Speaker, *, dim: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.look = look
        self.speaker = speaker
        self._dim = dim or speaker == "system"
        self._moment: datetime | None = None
        self.source = ""
        self.entry: MessageEntry | None = None
        self._shown = 0
        self._lines: list[ToolLine] = []
        self._thinking: Body | None = None
        self._thinking_fold: CollapsibleSection | None = None
        self._more: ActionRow | None = None
        self._header = HeaderRow(_NAMES[speaker], look)
        self.add_row(self._header)
        self.body = Body(look, self._colour())
        self.body.segment_made.connect(self._segment_made)
        self._block: TintedBlock | None = None
        if speaker == "user":
            self._block = TintedBlock(look.palette.user_block)
            self._block.add_row(self.body)
        self._main: Stack = self._block or self.body
        self.add_row(self._main, gap=4)
        self._main.hide()

    # --------------------------------------------------------------------------- filling
    def fill(self, entry: MessageEntry, parsed: Parsed, width: int) -> Iterator[None]:
        """Build everything for a stored message, in steps of a few milliseconds.

        Args:
            entry: The entry to show.
            parsed: Its parsed content.
            width: The width in pixels for which it will be laid out.
        """
        inner = width - 2 * TINT_SIDE if self._block is not None else width
        self._take(entry)
        self._shown = parsed.shown
        if parsed.reasoning:
            self._show_thinking()
            for block in parsed.reasoning:
                self._thinking_body().append(block)
            yield
        for block in parsed.blocks:
            self.body.append(block)
            self.body.lay_out_ahead(inner)
            yield
        self._main.setVisible(bool(parsed.blocks))
        if entry.images:
            words = "1 picture" if entry.images == 1 else f"{entry.images} pictures"
            self.add_row(caption(f"[{words}]", self.look), gap=_GAP)
        self._offer_more()
        yield from self._show_calls(entry.calls)

    def adopt(self, entry: MessageEntry) -> Iterator[None]:
        """Become the widget of a stored message whose text is already shown."""
        self._take(entry)
        self._shown = len(entry.message.content)
        yield from self._show_calls(entry.calls)

    def update_entry(self, entry: MessageEntry) -> None:
        """Show changes of the same message: its calls, and whether it has a header."""
        self._take(entry)
        for _ in self._show_calls(entry.calls):
            pass
        self.refit()

    @property
    def shown_characters(self) -> int:
        """How many characters of a very long message are shown."""
        return self._shown

    def show_more(self, blocks: Sequence[Block], shown: int) -> None:
        """Show more of a very long message, in slices.

        Args:
            blocks: The next part.
            shown: How many characters are shown including it.
        """
        self._shown = shown
        waiting = iter(blocks)
        timer = QTimer(self, interval=0)

        def some() -> None:
            part = tuple(itertools.islice(waiting, _BLOCKS_PER_SLICE))
            for block in part:
                self.body.append(block)
            if not part:
                timer.stop()
                self._offer_more()
            self.refit()

        timer.timeout.connect(some)
        timer.start()

    def set_plain(self, text: str, moment: datetime | None) -> None:
        """Show typed text before its row is stored."""
        self.source = text
        for block in parse_plain(text):
            self.body.append(block)
        self._main.show()
        self.set_moment(moment)

    def set_moment(self, moment: datetime | None) -> None:
        """Set the time at which it was written."""
        self._moment = moment
        self._header.set_moment(moment)
        self._name_segments()

    def set_header(self, shown: bool) -> None:  # noqa: FBT001 - a state of one meaning
        """Show or hide name and time (hidden where the same author continues)."""
        self._header.setVisible(shown)

    @property
    def has_header(self) -> bool:
        """Whether name and time are shown above it."""
        return not self._header.isHidden()

    def _take(self, entry: MessageEntry) -> None:
        self.entry = entry
        self.source = entry.message.content
        self.set_header(entry.header)
        self.set_moment(local_time(entry.message.timestamp))

    def show_call(self, call: ToolCall) -> ToolLine:
        """Show one more call below the existing ones."""
        line = ToolLine(call, self.look)
        self._lines.append(line)
        self.add_row(line, gap=_GAP if len(self._lines) == 1 else 2)
        return line

    def _show_calls(self, calls: Sequence[ToolCall]) -> Iterator[None]:
        """Update the lines; existing ones are kept, expanded or collapsed."""
        known = {line.call.call_id: line for line in self._lines}
        if len(known) < len(self._lines) or list(known) != [c.call_id for c in calls][: len(known)]:
            self._drop_lines()
            known = {}
        for call in calls:
            line = known.pop(call.call_id, None)
            if line is None:
                self.show_call(call)
                yield
            else:
                line.show_call(call)

    def _drop_lines(self) -> None:
        for line in self._lines:
            self.remove_row(line)
        self._lines = []

    def _offer_more(self) -> None:
        if self._more is not None:
            self.remove_row(self._more)
            self._more = None
        rest = len(self.source) - self._shown
        if rest > 0:
            self._more = ActionRow(f"Show more ({size_text(rest)} left)")
            self._more.button.clicked.connect(self._want_more)
            self.add_row(self._more, gap=_GAP)

    def _want_more(self) -> None:
        if self._more is not None:
            self._more.button.setEnabled(False)  # until the requested part is shown
            self.more_wanted.emit()

    # -------------------------------------------------------------------------- streaming
    def stream_text(self, update: StreamUpdate) -> None:
        """Apply the next state of the reply's text."""
        self.body.update_stream(update)
        self._main.setVisible(bool(self.body.blocks))

    def stream_thinking(self, update: StreamUpdate) -> None:
        """Apply the next state of the model's reasoning, which is shown collapsed."""
        self._show_thinking()
        self._thinking_body().update_stream(update)

    # ----------------------------------------------------------------------------- content
    @property
    def segments(self) -> tuple[Segment, ...]:
        """All widgets with text; those of the reasoning only while it is expanded."""
        thinking: tuple[Segment, ...] = ()
        if self._thinking is not None and self._thinking.isVisible():
            thinking = self._thinking.segments
        folded = tuple(
            row
            for fold in self._lines
            if fold.button.isChecked()
            for row in fold.inside.rows
            if isinstance(row, CodeSegment)
        )
        return thinking + self.body.segments + folded

    @property
    def folds(self) -> tuple[ToolLine, ...]:
        """The lines of the tool calls."""
        return tuple(self._lines)

    def plain(self) -> str:
        """Return the text without markup."""
        return plain_text(self.body.blocks)

    # ------------------------------------------------------------------------------- colors
    def restyle(self, look: Look) -> None:
        """Redraw everything with other colors."""
        self.look = look
        self._header.restyle(look)
        for row in self.rows:
            if isinstance(row, LabelRow):
                row.restyle(look)
        self.body.restyle(look, self._colour())
        if self._block is not None:
            self._block.colour = look.palette.user_block
        if self._thinking is not None:
            self._thinking.restyle(look, look.palette.secondary_text)
        shown = [(line.call, line.state) for line in self._lines]
        self._drop_lines()
        for call, state in shown:
            self.show_call(call).show_state(state, time.time())
        self.refit()

    def _colour(self) -> str:
        colours = self.look.palette
        return colours.secondary_text if self._dim else colours.text

    # ----------------------------------------------------------------------------- segments
    def _segment_made(self, segment: Segment) -> None:
        text = segment.text
        if isinstance(segment, CodeSegment):
            if segment.block.closed:
                self.code_shown.emit(segment)
        else:
            segment.text.link_wanted.connect(self.link_wanted)
        text.menu_wanted.connect(lambda point: self.menu_wanted.emit(point, text))
        self._name_segment(segment)

    def _name_segments(self) -> None:
        for segment in self.body.segments:
            self._name_segment(segment)

    def _name_segment(self, segment: Segment) -> None:
        name = _NAMES[self.speaker]
        written = clock_time(self._moment)
        segment.text.setAccessibleDescription(full_time(self._moment))
        if not isinstance(segment, CodeSegment):
            segment.text.setAccessibleName(f"{name}, {written}" if written else name)

    def _thinking_body(self) -> Body:
        assert self._thinking is not None  # noqa: S101 - made by _show_thinking
        return self._thinking

    def _show_thinking(self) -> None:
        if self._thinking is not None:
            return
        # Collapsed, it is in no layout; without a parent it would outlive and keep the message.
        body = Body(self.look, self.look.palette.secondary_text, self)
        body.hide()
        body.segment_made.connect(self._segment_made)
        self._thinking = body
        words = FoldWords("Thinking", spoken="The model's thinking")
        if self.entry is not None and self.entry.is_summary:
            words = FoldWords("Summary", spoken="Summary")
        self._thinking_fold = CollapsibleSection(words, self.look, lambda: [body])
        self.add_row(self._thinking_fold, gap=4, at=1)
