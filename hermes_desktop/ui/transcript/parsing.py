"""Parsing of messages and coloring of code on a worker thread; results on the main thread."""

import contextlib
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import shiboken6
from PySide6.QtCore import QObject

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.text.stored_text import summary_text
from hermes_desktop.ui.transcript.blocks.blocks import Block
from hermes_desktop.ui.transcript.blocks.code_block import CodeSegment
from hermes_desktop.ui.transcript.blocks.markdown_blocks import parse_markdown, parse_plain
from hermes_desktop.ui.transcript.entries import MessageEntry
from hermes_desktop.ui.transcript.message_widget import Parsed, speaker_of
from hermes_desktop.ui.widgets.async_slots import MainThreadCalls
from hermes_desktop.ui.widgets.highlight import MAX_HIGHLIGHTED, colour_lines

log = logging.getLogger(__name__)

SHOWN_AT_FIRST = 100_000
"""Characters of one message that are shown before the user requests more."""


def parse_entry(entry: MessageEntry) -> Parsed:
    """Parse one message. Runs on any thread."""
    message = entry.message
    if message.role == "tool":
        return Parsed((), (), len(message.content))
    if entry.is_summary:  # written by the program, so it is collapsed
        text = summary_text(message.content)[:SHOWN_AT_FIRST]
        return Parsed((), parse_markdown(text), len(message.content))
    shown = cut_at_line(message.content, 0, SHOWN_AT_FIRST)
    reasoning = (message.reasoning or "")[:SHOWN_AT_FIRST]
    return Parsed(
        parse_part(message.role, message.content[:shown]),
        parse_markdown(reasoning) if reasoning.strip() else (),
        shown,
    )


def parse_part(role: str, text: str) -> tuple[Block, ...]:
    """Parse text as Markdown if it is the assistant's; any other is shown as it was typed."""
    if speaker_of(role) == "assistant":
        return parse_markdown(text)
    return parse_plain(text)


def cut_at_line(text: str, start: int, length: int) -> int:
    """Return the end of at most ``length`` characters, at a line end if possible."""
    end = start + length
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", start + length // 2, end)
    return line + 1 if line > 0 else end


@dataclass(slots=True, eq=False)
class _Call:
    """A call on its way to the worker and back.

    The worker holds and drops a reference to this object, but to nothing in it: what the functions
    refer to, widgets above all, is released on the main thread, which empties the object in
    :meth:`deliver`.
    """

    owner: "BackgroundCalls | None"
    call: Callable[[], Any] | None
    then: Callable[[Any], None] | None
    main_thread: MainThreadCalls
    outcome: "Future[Any]" = field(default_factory=Future)

    def work(self) -> None:
        """Run the call. Runs on the worker."""
        try:
            if self.call is not None:
                self.outcome.set_result(self.call())
        except BaseException as error:  # noqa: BLE001 - logged on the main thread
            self.outcome.set_exception(error)
        self.main_thread.post(self.deliver)

    def deliver(self) -> None:
        """Pass the result on, unless the page is gone. Runs on the main thread."""
        owner, then, outcome = self.owner, self.then, self.outcome
        self.owner = self.call = self.then = None
        self.outcome = Future()
        if owner is None or then is None or not shiboken6.isValid(owner):
            return
        if (error := outcome.exception()) is not None:  # the message stays unparsed
            log.error("A message could not be understood", exc_info=error)
            return
        then(outcome.result())


class BackgroundCalls(QObject):
    """A runner of calls on a worker thread that passes their results to the main thread."""

    def __init__(
        self, workers: WorkerThreads, main_thread: MainThreadCalls, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workers = workers
        self._main_thread = main_thread

    def run(self, call: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Run ``call`` on the worker and pass its result to ``then``, unless this was deleted."""
        with contextlib.suppress(RuntimeError):  # the page is closing
            self._workers.submit(_Call(self, call, then, self._main_thread).work)


class CodeHighlighter(QObject):
    """A controller that colors code segments when they are complete.

    It is a ``QObject``, because PySide permanently keeps a weak reference for each signal that was
    ever connected to a method of a plain object.
    """

    def __init__(self, calls: BackgroundCalls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls

    def colour(self, segment: CodeSegment) -> None:
        """Compute the colors of a segment on the worker, then apply them in idle slices."""
        text, language = segment.displayed, segment.block.language
        if not language or len(text) > MAX_HIGHLIGHTED:
            return

        def paint(lines: Any) -> None:
            if lines and shiboken6.isValid(segment) and segment.displayed == text:
                segment.set_colours(lines)

        self._calls.run(lambda: colour_lines(language, text), paint)


def parse_batch(entries: Sequence[MessageEntry]) -> list[tuple[MessageEntry, Parsed]]:
    """Parse several messages in one call. Runs on the worker."""
    return [(entry, parse_entry(entry)) for entry in entries]
