"""A tool call as one folded line; open, its arguments and its result."""

from collections.abc import Iterator

from PySide6.QtCore import QTimer

from hermes_desktop.ui.transcript.blocks import CodeBlock
from hermes_desktop.ui.transcript.code_block import CodeSegment
from hermes_desktop.ui.transcript.fitted import Fitted
from hermes_desktop.ui.transcript.fold import ActionRow, Fold, FoldWords
from hermes_desktop.ui.transcript.look import Look
from hermes_desktop.ui.transcript.tool_calls import (
    ToolCall,
    arguments_text,
    duration_text,
    result_text,
    spoken,
)

SHOWN_CHARACTERS = 4_000
SHOWN_LINES = 60
_SLICE = 48_000


def tool_fold(call: ToolCall, look: Look) -> Fold:
    """Make the line for a call."""
    words = FoldWords(
        name=call.name,
        subject=call.subject,
        end=duration_text(call.seconds),
        ok=call.ok,
        spoken=spoken(call),
    )

    def contents() -> list[Fitted]:
        rows: list[Fitted] = []
        if call.arguments.strip() not in {"", "{}"}:
            rows += cut_text("Arguments", arguments_text(call.arguments), look)
        if call.result is None:
            rows += cut_text("Result", "No result was stored.", look)
        else:
            rows += cut_text("Result", result_text(call.result) or "Nothing.", look)
        return rows

    return Fold(words, look, contents)


def cut_text(title: str, text: str, look: Look) -> list[Fitted]:
    """Text in the fixed font; a long one is cut and followed by a button that shows the rest."""
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
    """The part of a long text that is shown first; the text itself when it is not long."""
    if len(text) <= SHOWN_CHARACTERS and text.count("\n") <= SHOWN_LINES:
        return text
    lines = text[:SHOWN_CHARACTERS].split("\n")[:SHOWN_LINES]
    return "\n".join(lines)


def size_text(characters: int) -> str:
    """About how long a text is: ``3,200 characters``, ``48 KB``, ``1.2 MB``."""
    if characters < 10_000:  # noqa: PLR2004
        return f"{characters:,} characters"
    if characters < 1_000_000:  # noqa: PLR2004
        return f"{characters / 1000:.0f} KB"
    return f"{characters / 1_000_000:.1f} MB"


def _growing(title: str, text: str, shown: int) -> Iterator[CodeBlock]:
    """The same block with more and more of its text, so that no step takes long."""
    while shown < len(text):
        shown = min(shown + _SLICE, len(text))
        yield CodeBlock(title, text[:shown])
