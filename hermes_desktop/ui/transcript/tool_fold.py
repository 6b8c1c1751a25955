"""A tool call as one collapsible line; expanded, it shows its arguments and its result."""

from collections.abc import Callable, Iterator

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QToolButton, QWidget
from typing_extensions import override

from hermes_desktop.ui.transcript.blocks.blocks import CodeBlock
from hermes_desktop.ui.transcript.blocks.code_block import CodeSegment
from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.blocks.fold import ActionRow, CollapsibleSection, FoldWords, Mark
from hermes_desktop.ui.transcript.blocks.tool_calls import (
    ToolCall,
    arguments_text,
    duration_text,
    result_text,
    spoken,
)
from hermes_desktop.ui.transcript.call_states import CallState
from hermes_desktop.ui.widgets.look import Look

SHOWN_CHARACTERS = 4_000
SHOWN_LINES = 60
_SLICE = 48_000
_A_MINUTE = 60


class ToolLine(CollapsibleSection):
    """The line of a call from its start to its stored result.

    Args:
        call: The known part of the call.
        look: Colors and fonts.
    """

    def __init__(self, call: ToolCall, look: Look, parent: QWidget | None = None) -> None:
        self._call = call
        self._state: CallState | None = None
        super().__init__(words_for(call, None, 0.0), look, parent=parent)

    @property
    def call(self) -> ToolCall:
        """The call as stored."""
        return self._call

    @property
    def state(self) -> CallState | None:
        """The live state of the call, while its turn runs."""
        return self._state

    def show_call(self, call: ToolCall, now: float = 0.0) -> None:
        """Show what is stored so far."""
        if call != self._call:
            self._call = call
            self.renew()
        self._say(now)

    def show_state(self, state: CallState | None, now: float) -> None:
        """Show the live state; None after its turn has ended."""
        self._state = state
        self._say(now)

    def offer_stop(self, stop: Callable[[], object] | None) -> None:
        """Show a button that stops the reply; None removes it."""
        if (stop is None) != (self.line.extra is None):
            if self.line.extra is not None:
                self.line.extra.hide()
                self.line.extra.deleteLater()
                self.line.extra = None
            else:
                self.line.extra = self._make_stop(stop)
            self.refit()

    def _make_stop(self, stop: Callable[[], object] | None) -> QToolButton:
        button = QToolButton(self.line)
        button.setText(self.tr("Stop"))
        button.setToolTip(self.tr("Stop the reply (Esc)"))
        button.setAccessibleName(self.tr("Stop the reply"))
        button.setAutoRaise(True)
        button.setFont(self.look.caption_font)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if stop is not None:
            button.clicked.connect(lambda _=False: stop())
        button.show()
        return button

    def _say(self, now: float) -> None:
        self.button.set_words(words_for(self._call, self._state, now))

    @override
    def make_contents(self) -> list[HeightForWidthWidget]:
        call, look = self._call, self.look
        rows: list[HeightForWidthWidget] = []
        if call.arguments.strip() not in {"", "{}"}:
            rows += cut_text("Arguments", arguments_text(call.arguments), look)
        if call.result is not None:
            return rows + cut_text("Result", result_text(call.result) or "Nothing.", look)
        running = self._state is not None and self._state.running
        words = "It is still running." if running else "No result was stored."
        return rows + cut_text("Result", words, look)


def words_for(call: ToolCall, state: CallState | None, now: float) -> FoldWords:
    """Return the content of a call's line.

    Args:
        call: The call as stored.
        state: Its live state, while its turn runs.
        now: Epoch seconds, for the elapsed time.
    """
    seconds = call.seconds
    mark: Mark = ""
    waits = ""
    if call.result is not None:
        mark = "ok" if call.ok else "failed"
        seconds = seconds if state is None or state.running else state.seconds
    elif state is not None and not state.running:
        mark = "ok" if state.ok else "failed"
        seconds = state.seconds or None
    elif state is not None and state.asked:
        mark, waits, seconds = "asked", "waiting for your answer", None
    elif state is not None:
        mark, seconds = "running", max(now - state.started_at, 0.0)
    time = running_text(seconds) if mark == "running" else duration_text(seconds)
    return FoldWords(
        name=call.name,
        subject=call.subject,
        note="" if waits else call.why,
        end=waits or time,
        mark=mark,
        spoken=spoken(call, mark, "" if mark == "running" else time),
        tip=call.why if mark == "failed" else "",
    )


def running_text(seconds: float | None) -> str:
    """Return the elapsed time of a call: whole seconds, "" within the first."""
    whole = int(seconds or 0.0)
    return f"{whole} s" if 0 < whole < _A_MINUTE else duration_text(float(whole) if whole else None)


def cut_text(title: str, text: str, look: Look) -> list[HeightForWidthWidget]:
    """Return text in the fixed font; a long one is cut and followed by a button for the rest."""
    shown = beginning(text)
    panel = CodeSegment(CodeBlock(title, shown), look, source=text)
    if len(shown) == len(text):
        return [panel]
    more = ActionRow(f"Show all ({size_text(len(text))})")

    def reveal() -> None:
        more.hide()
        timer = QTimer(panel, interval=0)
        states = _growing(title, text, len(shown))

        def grow() -> None:
            state = next(states, None)
            if state is None:
                timer.stop()
            else:
                panel.update_block(state)
                panel.height_changed.emit()

        timer.timeout.connect(grow)
        timer.start()

    more.button.clicked.connect(reveal)
    return [panel, more]


def beginning(text: str) -> str:
    """Return the first part of a long text, or the text itself if it is not long."""
    if len(text) <= SHOWN_CHARACTERS and text.count("\n") <= SHOWN_LINES:
        return text
    lines = text[:SHOWN_CHARACTERS].split("\n")[:SHOWN_LINES]
    return "\n".join(lines)


def size_text(characters: int) -> str:
    """Return the approximate size of a text: ``3,200 characters``, ``48 KB``, ``1.2 MB``."""
    if characters < 10_000:  # noqa: PLR2004
        return f"{characters:,} characters"
    if characters < 1_000_000:  # noqa: PLR2004
        return f"{characters / 1000:.0f} KB"
    return f"{characters / 1_000_000:.1f} MB"


def _growing(title: str, text: str, shown: int) -> Iterator[CodeBlock]:
    """Yield the block with more and more of its text, so that no step takes long."""
    while shown < len(text):
        shown = min(shown + _SLICE, len(text))
        yield CodeBlock(title, text[:shown])
