"""The builder of entry widgets: last entries first, in slices that do not block the main thread."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from PySide6.QtCore import QObject, QTimer, Signal

from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.entries import Entry, MessageEntry, Separator
from hermes_desktop.ui.transcript.message_widget import MessageWidget, Parsed, speaker_of
from hermes_desktop.ui.transcript.parsing import BackgroundCalls, parse_batch
from hermes_desktop.ui.transcript.separators import SeparatorWidget, separator_text
from hermes_desktop.ui.widgets.centered_column import MAX_WIDTH
from hermes_desktop.ui.widgets.look import Look

SLICE_S = 0.008
"""Seconds after which a slice yields to the event loop."""
_BATCH_MESSAGES = 12
_BATCH_CHARACTERS = 40_000


@dataclass(slots=True)
class Built:
    """A widget that is ready to be shown, laid out for ``width``."""

    entry: Entry
    widget: HeightForWidthWidget
    width: int = 0
    height: int = 0


@dataclass(slots=True)
class _Job:
    entry: MessageEntry
    widget: MessageWidget
    steps: Iterator[None]


class WidgetBuilder(QObject):
    """A builder that turns entries into widgets in slices.

    Signals:
        progress: At least one more widget is ready.
        made: A new message's widget, before it is filled, to connect its signals.
    """

    progress = Signal()
    made = Signal(object)

    def __init__(self, calls: BackgroundCalls, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self.look = look
        self.width = 0
        self._missing: list[Entry] = []
        self._parsed: dict[str, tuple[MessageEntry, Parsed]] = {}
        self._built: dict[str, Built] = {}
        self._asked: set[int] = set()
        self._job: _Job | None = None
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._slice)

    def want(self, missing: Sequence[Entry]) -> None:
        """Set the entries that need a widget, oldest first. Replaces the previous request."""
        self._missing = list(missing)
        keys = {entry.key for entry in missing}
        for key in [key for key in self._built if key not in keys]:
            _delete(self._built.pop(key).widget)
        for key in [key for key in self._parsed if key not in keys]:
            del self._parsed[key]
        if self._missing:
            self._timer.start()
        else:
            self._timer.stop()

    def supply(self, entry: Entry, widget: HeightForWidthWidget) -> None:
        """Supply a widget that already shows an entry."""
        old = self._built.get(entry.key)
        if old is not None and old.widget is not widget:
            _delete(old.widget)
        self._built[entry.key] = Built(entry, widget)

    def ready(self, entry: Entry) -> bool:
        """Return whether the widget of an entry is ready."""
        built = self._built.get(entry.key)
        return built is not None and built.entry == entry

    def take(self, entry: Entry) -> Built:
        """Return a widget that is ready and transfer its ownership to the caller."""
        return self._built.pop(entry.key)

    def height_ready(self, entries: Sequence[Entry]) -> int:
        """Return the total height in pixels of those entries that are ready."""
        return sum(self._built[e.key].height for e in entries if self.ready(e))

    def clear(self) -> None:
        """Discard everything that is requested or ready."""
        self.want(())
        if self._job is not None:
            _delete(self._job.widget)
            self._job = None

    def set_look(self, look: Look) -> None:
        """Use other colors from now on."""
        self.look = look
        for built in self._built.values():
            _delete(built.widget)
        self._built.clear()
        if self._job is not None:
            _delete(self._job.widget)
            self._job = None

    def _slice(self) -> None:
        end = time.perf_counter() + SLICE_S
        made = False
        while time.perf_counter() < end:
            step = self._step()
            if step is None:
                self._timer.stop()
                break
            made = made or step
        if made:
            self.progress.emit()

    def _step(self) -> bool | None:
        """Do a small step.

        Returns:
            True when a widget became ready, None when there is nothing to do now.
        """
        if self._job is not None:
            return self._advance(self._job)
        for entry in reversed(self._missing):
            if self.ready(entry):
                continue
            if isinstance(entry, Separator):
                words = separator_text(entry, date.today())  # noqa: DTZ011 - the local day
                self._finish(entry, SeparatorWidget(words, self.look))
                return True
            parsed = self._parsed.get(entry.key)
            if parsed is None or not is_same_text(parsed[0], entry):
                self._ask_for_parse()
                return None
            self._begin(entry, parsed[1])
            return False
        return None

    def _begin(self, entry: MessageEntry, parsed: Parsed) -> None:
        speaker = "system" if entry.is_summary else speaker_of(entry.message.role)
        widget = MessageWidget(self.look, speaker, dim=entry.dim)
        self.made.emit(widget)
        self._job = _Job(entry, widget, widget.fill(entry, parsed, self.width or MAX_WIDTH))

    def _advance(self, job: _Job) -> bool:
        if next(job.steps, False) is None:
            return False
        self._job = None
        if job.entry in self._missing:
            self._finish(job.entry, job.widget)
            return True
        _delete(job.widget)
        return False

    def _finish(self, entry: Entry, widget: HeightForWidthWidget) -> None:
        old = self._built.pop(entry.key, None)
        if old is not None:
            _delete(old.widget)
        height = widget.fit(self.width) if self.width else 0
        self._built[entry.key] = Built(entry, widget, self.width, height)

    # ------------------------------------------------------------------------------ parsing
    def _ask_for_parse(self) -> None:
        """Send the last messages that are not parsed yet to the worker thread."""
        if self._asked:
            return
        batch: list[MessageEntry] = []
        size = 0
        for entry in reversed(self._missing):
            known = self._parsed.get(entry.key)
            if not isinstance(entry, MessageEntry) or self.ready(entry):
                continue
            if known is not None and is_same_text(known[0], entry):
                continue
            batch.append(entry)
            size += len(entry.message.content)
            if len(batch) >= _BATCH_MESSAGES or size > _BATCH_CHARACTERS:
                break
        token = id(batch)
        self._asked.add(token)

        def arrived(result: list[tuple[MessageEntry, Parsed]]) -> None:
            self._asked.discard(token)
            for entry, parsed in result:
                self._parsed[entry.key] = (entry, parsed)
            if self._missing:
                self._timer.start()

        self._calls.run(lambda: parse_batch(batch), arrived)


def is_same_text(one: MessageEntry, other: MessageEntry) -> bool:
    """Return whether the parse of one entry is valid for the other (their calls may differ)."""
    a, b = one.message, other.message
    return (a.role, a.content, a.reasoning) == (b.role, b.content, b.reasoning)


def _delete(widget: HeightForWidthWidget) -> None:
    widget.hide()
    widget.deleteLater()
