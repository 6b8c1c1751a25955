"""Filling of the column with loaded messages and open replies, as their widgets become ready."""

from PySide6.QtCore import QObject, Signal

from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.builder import WidgetBuilder, is_same_text
from hermes_desktop.ui.transcript.column import Item
from hermes_desktop.ui.transcript.entries import Entry, MessageEntry
from hermes_desktop.ui.transcript.entry_window import EntryWindow
from hermes_desktop.ui.transcript.landing import ScrollTarget
from hermes_desktop.ui.transcript.live.live_turn import LiveTurn
from hermes_desktop.ui.transcript.live.live_turns import LiveTurns
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.scroll_area import TranscriptScroll
from hermes_desktop.ui.transcript.separators import SeparatorWidget, gap_between

_COMMIT_STEP = 10
_BELOW_THE_FOLD = 200


class ColumnController(QObject):
    """Controller that decides which items the column contains.

    Args:
        area: The scroll area with the column.
        builder: Builds the widgets of stored messages.
        landing: The message to scroll to, if there is one.
        live: The open replies, shown below the stored messages.

    Attributes:
        window: The loaded messages; another conversation has another window.
        fresh: Whether nothing of what was loaded last is on screen yet.

    Signals:
        first_painted: The first part of what was loaded is on screen.
        settled: Everything that is ready is in the column.
    """

    first_painted = Signal()
    settled = Signal()

    def __init__(
        self,
        area: TranscriptScroll,
        builder: WidgetBuilder,
        landing: ScrollTarget,
        live: LiveTurns,
    ) -> None:
        super().__init__(area)
        self._area = area
        self._builder = builder
        self._landing = landing
        self._live = live
        self.window = EntryWindow()
        self.fresh = False
        builder.progress.connect(self.settle)

    def retarget(self) -> None:
        """Determine which entries need a widget, and show what is ready."""
        window = self.window
        self._update_shown()
        self._live.adopt(window.entries, self._supply)
        self._builder.width = self._area.column.column_width
        self._builder.want([entry for entry in window.shown if self._kept(entry) is None])
        self.settle()

    def settle(self) -> None:
        """Show the longest run of entries up to the newest that is ready."""
        shown = self.window.shown
        missing = [
            position
            for position, entry in enumerate(shown)
            if self._kept(entry) is None and not self._builder.ready(entry)
        ]
        start = missing[-1] + 1 if missing else 0
        if missing and not self._worth_showing(shown, start):
            return
        was_fresh, self.fresh = self.fresh, False
        items = [self._item(entry) for entry in shown[start:]]
        if self.window.at_end:
            for item in self._live.items():
                items.insert(_place_of(item, items), self._live_item(item))
        for before, item in zip([None, *items], items, strict=False):
            item.gap = gap_between(before, item)
        if was_fresh:
            self._area.stick = not self._landing.aimed
        self._area.column.replace(items)
        if was_fresh:
            self._landing.land()
            # Items of the previous column that are not in the shown part must be built again.
            self._builder.want([entry for entry in shown if self._kept(entry) is None])
            self.first_painted.emit()
        self.settled.emit()

    def _supply(self, entry: Entry, widget: HeightForWidthWidget) -> None:
        """Use the widget of an open reply for its row, unless the row has been shown before."""
        if self._area.column.item(entry.key) is None:
            self._builder.supply(entry, widget)

    def _update_shown(self) -> None:
        """Update changed results and headers in place, without rebuilding their widgets."""
        for entry in self.window.shown:
            item = self._area.column.item(entry.key)
            if item is None or item.entry == entry or not isinstance(item.widget, MessageWidget):
                continue
            before = item.entry
            if not (isinstance(before, MessageEntry) and isinstance(entry, MessageEntry)):
                continue
            if is_same_text(before, entry) and before.dim == entry.dim:
                item.entry = entry
                item.widget.update_entry(entry)

    def _worth_showing(self, shown: tuple[Entry, ...], start: int) -> bool:
        """Return whether a part may be shown before all of it is ready."""
        ready = shown[start:]
        column = self._area.column.items
        if self.fresh:
            needed = self._area.viewport().height() + _BELOW_THE_FOLD
            enough = bool(ready) and self._builder.height_ready(ready) > needed
            return enough and not self._landing.lacks(ready)
        keys = {entry.key for entry in ready}
        stored = [item for item in column if isinstance(item.entry, MessageEntry)]
        if not stored or any(item.key not in keys for item in stored):
            return False
        return len(ready) - sum(item.key in keys for item in column) >= _COMMIT_STEP

    def _kept(self, entry: Entry) -> Item | None:
        item = self._area.column.item(entry.key)
        return item if item is not None and item.entry == entry else None

    def _item(self, entry: Entry) -> Item:
        kept = self._kept(entry)
        if kept is not None:
            return kept
        built = self._builder.take(entry)
        widget = built.widget
        if (
            isinstance(widget, MessageWidget | SeparatorWidget)
            and widget.look != self._builder.look
        ):
            widget.restyle(self._builder.look)
        return Item(entry.key, entry, widget, height=built.height, fitted_width=built.width)

    def _live_item(self, item: Item) -> Item:
        known = self._area.column.item(item.key)
        return known if known is not None and known.widget is item.widget else item


def _place_of(live: Item, items: list[Item]) -> int:
    """Return the position of a turn's item: the end, but a failure stays with its own message."""
    turn = live.entry
    if isinstance(turn, LiveTurn) and live.widget is turn.failure and turn.prompt_row is not None:
        for at, item in enumerate(items):
            entry = item.entry
            if isinstance(entry, MessageEntry) and entry.message.role == "user":
                if entry.message.id > turn.prompt_row:
                    return at
            elif isinstance(entry, LiveTurn) and _is_later(entry, turn.prompt_row):
                return at
    return len(items)


def _is_later(turn: LiveTurn, prompt_row: int) -> bool:
    """Return whether a turn began after the one with this stored prompt."""
    return turn.prompt_row is None or turn.prompt_row > prompt_row
