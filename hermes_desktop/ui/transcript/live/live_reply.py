"""The widget of a streamed reply."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from hermes_desktop.core.events import TurnFinished
from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.blocks.fold import caption
from hermes_desktop.ui.transcript.blocks.markdown_stream import MarkdownStream
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.widgets.look import Look
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

    @property
    def is_written(self) -> bool:
        """Whether more of it may arrive; a caret shows that."""
        return self._stream is not None

    def add_note(self, text: str) -> None:
        """Add a note below the reply, for as long as it is shown."""
        self.add_row(caption(one_line(text, 300), self.look), gap=4)
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
