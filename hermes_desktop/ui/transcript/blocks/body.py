"""The blocks of one message as widgets, and the incremental update of a growing reply.

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
"""Characters in one text widget, after which another one is started."""
_GAP = 8

Segment = TextSegment | TableSegment | CodeSegment


@dataclass(slots=True)
class _Placed:
    block: Block
    segment: Segment
    start: int


class Body(Stack):
    """A stack of block widgets that applies updates of a streamed reply.

    Args:
        look: Colors and fonts.
        colour: Color of plain text.

    Signals:
        segment_made: A new segment, to connect menus, links and coloring. A stored callback instead
            of the signal would refer to the message and create a reference cycle.
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
        """All blocks, in order."""
        return tuple(placed.block for placed in self._placed)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The widgets, in order."""
        return tuple(row for row in self.rows if isinstance(row, Segment))

    def append(self, block: Block) -> None:
        """Append a finished block."""
        self._place(block)
        self._finished = len(self._placed)

    def lay_out_ahead(self, width: int) -> None:
        """Lay out the complete segments, so that the fit at the end has little left to do."""
        segments = self.segments
        for segment in segments[self._laid_out : -1]:
            segment.fit(width)
        self._laid_out = max(len(segments) - 1, 0)

    def update_stream(self, update: StreamUpdate) -> None:
        """Apply the next state: the open end is replaced where it differs, and nothing else."""
        wanted = update.finished + update.tail
        kept = self._keep(wanted)
        follows = wanted[kept] if kept < len(wanted) else None
        self._truncate(self._finished + kept, follows)
        for block in wanted[kept:]:
            self._place(block)
        self._finished += len(update.finished)

    def begin_again(self) -> None:
        """Make the next update replace everything."""
        self._finished = self._laid_out = 0

    def show_caret(self, shown: bool) -> bool:  # noqa: FBT001 - a state of one meaning
        """Show or hide the caret of a growing text after the last paragraph.

        Returns:
            False when the last block is not text, so that the caret must be shown elsewhere.
        """
        segments = self.segments
        for segment in segments[-2:]:
            if isinstance(segment, TextSegment):
                segment.set_caret(shown and segment is segments[-1])
        return bool(segments) and isinstance(segments[-1], TextSegment)

    def restyle(self, look: Look, colour: str) -> None:
        """Redraw everything with other colors."""
        blocks, finished = self.blocks, self._finished
        self._truncate(0)
        self._look, self._colour = look, colour
        for block in blocks:
            self._place(block)
        self._finished = finished

    def _keep(self, wanted: Sequence[Block]) -> int:
        """Return how many blocks of the open end stay; the last of them may be growing code."""
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
        """Remove blocks; an emptied text widget is kept for a following text."""
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
