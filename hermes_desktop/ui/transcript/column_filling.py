"""Controllers of the column: filling it with messages and open replies, loading more, restyling."""

from PySide6.QtCore import QObject, QTimer, Signal

from hermes_desktop.ui.transcript.blocks.fitted import HeightForWidthWidget
from hermes_desktop.ui.transcript.blocks.fold import LabelRow
from hermes_desktop.ui.transcript.builder import WidgetBuilder, is_same_text
from hermes_desktop.ui.transcript.column import Item
from hermes_desktop.ui.transcript.entries import Entry, MessageEntry
from hermes_desktop.ui.transcript.entry_window import EntryWindow
from hermes_desktop.ui.transcript.landing import ScrollTarget
from hermes_desktop.ui.transcript.live.live_turn import LiveTurn
from hermes_desktop.ui.transcript.live.live_turns import LiveTurns
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.scroll_area import TranscriptScroll
from hermes_desktop.ui.transcript.separators import FailureBlock, SeparatorWidget, gap_between
from hermes_desktop.ui.widgets.look import Look

_COMMIT_STEP = 5
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
        last_row: Row id of the newest message, if the column ends with it and no turn is open;
            else 0.

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
        self.last_row = 0
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
        over = self.window.at_end and all(turn.over for turn in self._live.turns)
        self.last_row = self.window.newest_id if over else 0
        self._area.column.replace(items)
        if was_fresh:
            self._landing.land()
        # What is shown now must not be built again; items of the previous column that are not in
        # the shown part must be. Scrolling may have changed the window in the meantime.
        wanted = self.window.shown
        self._builder.want([entry for entry in wanted if self._kept(entry) is None])
        if was_fresh:
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


class WindowScroller(QObject):
    """Controller that loads more messages when the view is scrolled near an edge of the shown part.

    Args:
        area: Signals when an edge is near.
        filling: The owner of the window.

    Signals:
        older_wanted: Read messages before the given one.
        newer_wanted: Read messages after the given one.
    """

    older_wanted = Signal(object)
    newer_wanted = Signal(object)

    def __init__(self, area: TranscriptScroll, filling: ColumnController) -> None:
        super().__init__(area)
        self._area = area
        self._filling = filling
        self._loading_older = False
        self._loading_newer = False
        area.near_top.connect(self._up)
        area.near_bottom.connect(self._down)

    def reset(self) -> None:
        """Forget pending requests after a change of the conversation."""
        self._loading_older = self._loading_newer = False

    def older_done(self) -> None:
        """Record that reading older messages ended; after a failure, scrolling up tries again."""
        self._loading_older = False

    def newer_done(self) -> None:
        """Record that reading newer messages ended; after a failure, scrolling down tries again."""
        self._loading_newer = False

    def _up(self) -> None:
        window, column = self._filling.window, self._area.column
        if self._filling.fresh or not column.items or self._loading_older:
            return
        if not window.shown or column.items[0].key != window.shown[0].key:
            return  # the upper part of the window is still being built
        if window.show_older():
            self._filling.retarget()
        elif window.has_older and window.messages:
            self._loading_older = True
            self.older_wanted.emit(window.messages[0])

    def _down(self) -> None:
        window = self._filling.window
        if self._filling.fresh or not self._area.column.items:
            return
        if window.grow_down():
            self._area.stick = False
            self._filling.retarget()
        elif window.has_newer and window.messages and not self._loading_newer:
            self._loading_newer = True
            self.newer_wanted.emit(window.messages[-1])


Restyled = MessageWidget | SeparatorWidget | FailureBlock | LabelRow
_PER_SLICE = 6


class Restyler(QObject):
    """Controller that restyles the items of a column: visible ones first, the rest in slices.

    Args:
        area: The scroll area with the column; items near its position come first.
        look: The current style of all items.
    """

    def __init__(self, area: TranscriptScroll, look: Look) -> None:
        super().__init__(area)
        self._area = area
        self._look = look
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._some)

    def begin(self, look: Look) -> None:
        """Start to apply another style."""
        self._look = look
        self._timer.start()
        self._some()

    def _some(self) -> None:
        top = self._area.verticalScrollBar().value()
        stale = [item for item in self._area.column.items if _is_stale(item.widget, self._look)]
        stale.sort(key=lambda item: abs(item.y - top))
        for item in stale[:_PER_SLICE]:
            restyle(item.widget, self._look)
        if not stale:
            self._timer.stop()


def restyle(widget: HeightForWidthWidget, look: Look) -> None:
    """Apply a style to a widget, unless it has it already."""
    if isinstance(widget, Restyled) and widget.look != look:
        widget.restyle(look)


def _is_stale(widget: HeightForWidthWidget, look: Look) -> bool:
    return isinstance(widget, Restyled) and widget.look != look
