"""The blocks of one message as widgets, and the way from one state of a growing reply to the next.

A run of paragraphs shares one text widget, so that it can be selected as one; a long run is split,
so that no change has to lay out more than a few screens of text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from hermes_desktop.ui.transcript.blocks.blocks import (
    Block,
    CodeBlock,
    RuleBlock,
    TableBlock,
    TextBlock,
)
from hermes_desktop.ui.transcript.blocks.code_block import CodeSegment
from hermes_desktop.ui.transcript.blocks.fitted import Stack
from hermes_desktop.ui.transcript.blocks.markdown_stream import StreamUpdate
from hermes_desktop.ui.transcript.blocks.text_block import TableSegment, TextSegment
from hermes_desktop.ui.widgets.look import Look

RUN_LIMIT = 6_000
"""Characters in one text widget, after which another one begins."""
_GAP = 8

Segment = TextSegment | TableSegment | CodeSegment


@dataclass(slots=True)
class _Placed:
    block: Block
    segment: Segment
    start: int


class Body(Stack):
    """Shows blocks; takes updates of a reply that is still written.

    Args:
        look: Colours and fonts.
        colour: Colour of plain text.

    Signals:
        segment_made: A new segment, to connect menus, links and colouring. A function kept here
            would refer to the message and make a cycle of both.
    """

    segment_made = Signal(object)

    def __init__(self, look: Look, colour: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._colour = colour
        self._placed: list[_Placed] = []
        self._finished = 0
        self._laid_out = 0
        self._open: TextSegment | None = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Everything shown, in order."""
        return tuple(placed.block for placed in self._placed)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The widgets, in order."""
        return tuple(row for row in self.rows if isinstance(row, Segment))

    def append(self, block: Block) -> None:
        """Add a finished block at the end."""
        self._place(block)
        self._finished = len(self._placed)

    def lay_out_ahead(self, width: int) -> None:
        """Lay out the segments that are complete, so that the fit at the end has little to do."""
        segments = self.segments
        for segment in segments[self._laid_out : -1]:
            segment.fit(width)
        self._laid_out = max(len(segments) - 1, 0)

    def update_stream(self, update: StreamUpdate) -> None:
        """Go on to the next state: the open end is replaced where it differs, no more."""
        wanted = update.finished + update.tail
        kept = self._keep(wanted)
        follows = wanted[kept] if kept < len(wanted) else None
        self._truncate(self._finished + kept, follows)
        for block in wanted[kept:]:
            self._place(block)
        self._finished += len(update.finished)

    def begin_again(self) -> None:
        """Have the next update replace everything."""
        self._finished = self._laid_out = 0

    def show_caret(self, shown: bool) -> bool:  # noqa: FBT001 - a state of one meaning
        """Put the mark of a growing text behind the last paragraph.

        Returns:
            False when the last block is no text, so that the mark must stand elsewhere.
        """
        segments = self.segments
        for segment in segments[-2:]:
            if isinstance(segment, TextSegment):
                segment.set_caret(shown and segment is segments[-1])
        return bool(segments) and isinstance(segments[-1], TextSegment)

    def restyle(self, look: Look, colour: str) -> None:
        """Draw everything again with other colours."""
        blocks, finished = self.blocks, self._finished
        self._truncate(0)
        self._look, self._colour = look, colour
        for block in blocks:
            self._place(block)
        self._finished = finished

    def _keep(self, wanted: Sequence[Block]) -> int:
        """How many blocks of the open end stay; the last of them may be code that grows."""
        for position, block in enumerate(wanted):
            index = self._finished + position
            if index >= len(self._placed):
                return position
            placed = self._placed[index]
            if placed.block == block:
                continue
            if isinstance(placed.segment, CodeSegment) and isinstance(block, CodeBlock):
                was_open = not placed.segment.block.closed
                if placed.segment.update_block(block):
                    placed.block = block
                    if was_open and block.closed:
                        self.segment_made.emit(placed.segment)
                    continue
            return position
        return len(wanted)

    def _truncate(self, count: int, follows: Block | None = None) -> None:
        """Take blocks away; a text that is emptied stays for the text that follows."""
        removed = self._placed[count:]
        if not removed:
            return
        self._placed = self._placed[:count]
        kept = {id(placed.segment) for placed in self._placed}
        first = removed[0]
        if isinstance(first.segment, TextSegment):
            reused = isinstance(follows, TextBlock | RuleBlock)
            if reused or id(first.segment) in kept:
                first.segment.truncate(first.start)
                kept.add(id(first.segment))
                self._open = first.segment
        for segment in {
            id(p.segment): p.segment for p in removed if id(p.segment) not in kept
        }.values():
            self.remove_row(segment)

    def _place(self, block: Block) -> None:
        reusable, self._open = self._open, None
        if isinstance(block, TextBlock | RuleBlock):
            last = reusable or (self._placed[-1].segment if self._placed else None)
            if not isinstance(last, TextSegment) or last.length > RUN_LIMIT:
                last = TextSegment(self._look, self._colour)
                self._add(last)
            self._placed.append(_Placed(block, last, last.append(block)))
            return
        segment: Segment
        if isinstance(block, TableBlock):
            segment = TableSegment(block, self._look, self._colour)
        else:
            segment = CodeSegment(block, self._look)
        self._placed.append(_Placed(block, segment, 0))
        self._add(segment)

    def _add(self, segment: Segment) -> None:
        self.add_row(segment, gap=_GAP)
        self.segment_made.emit(segment)
