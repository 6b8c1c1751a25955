"""The transcript of one session: stored messages, open replies, and navigation."""

import time
from collections.abc import Iterator

from PySide6.QtCore import QMargins, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.services.sessions.transcript import TranscriptPage
from hermes_desktop.state.records.records import Message
from hermes_desktop.ui.transcript.builder import WidgetBuilder
from hermes_desktop.ui.transcript.call_states import CallState
from hermes_desktop.ui.transcript.column_filling import ColumnController, Restyler, WindowScroller
from hermes_desktop.ui.transcript.entry_window import EntryWindow
from hermes_desktop.ui.transcript.find_bar import FindBar, TextWidget
from hermes_desktop.ui.transcript.landing import ScrollTarget
from hermes_desktop.ui.transcript.live.live_turn import LiveTurn
from hermes_desktop.ui.transcript.live.live_turns import LiveTurns
from hermes_desktop.ui.transcript.live.running_lines import RunningCallUpdater
from hermes_desktop.ui.transcript.message_actions import MessageActions
from hermes_desktop.ui.transcript.message_widget import MessageWidget
from hermes_desktop.ui.transcript.parsing import BackgroundCalls
from hermes_desktop.ui.transcript.scroll_area import JumpButton, TranscriptScroll, Veil
from hermes_desktop.ui.widgets.async_slots import MainThreadCalls
from hermes_desktop.ui.widgets.look import Look
from hermes_desktop.ui.widgets.theme import Theme

REPAINT_MS = 50
"""Milliseconds between two repaints of a streamed reply."""


class TranscriptView(QWidget):
    """A view of one conversation. Main thread only.

    Args:
        theme: Changes of its palette are applied while the program runs.
        workers: The threads that parse messages and color code.
        parent: The parent widget.

    Signals:
        older_wanted: Read messages before the given one; respond with :meth:`prepend` or
            :meth:`older_failed`.
        newer_wanted: Read messages after the given one; respond with :meth:`append` or
            :meth:`newer_failed`.
        latest_wanted: Read the end of the conversation; respond with :meth:`set_page`.
        link_wanted: A link was clicked; holds its address. Nothing was opened.
        retry_wanted: Retry a failed turn; holds its id and its prompt.
        settings_wanted: A failure can be fixed at this page and setting; either may be "".
        stop_wanted: Stop the reply in the shown session.
        undo_wanted: Undo the turn of a message, and later ones; holds the message's row id.
        first_painted: The first part of a conversation given to :meth:`set_page` is on screen.
        settled: Everything that is ready is shown; :attr:`last_row` may have changed.
    """

    older_wanted = Signal(object)
    newer_wanted = Signal(object)
    latest_wanted = Signal()
    link_wanted = Signal(str)
    retry_wanted = Signal(str, str)
    settings_wanted = Signal(str, str)
    stop_wanted = Signal()
    undo_wanted = Signal(int)
    first_painted = Signal()
    settled = Signal()

    def __init__(self, theme: Theme, workers: WorkerThreads, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        look = Look.of(theme.palette)
        calls = BackgroundCalls(workers, MainThreadCalls.of(theme.app), self)
        self._actions = MessageActions(calls, self, lambda: self.live.last_prompt_row)
        self._builder = WidgetBuilder(calls, look, self)
        self.live = LiveTurns(look, self._actions.connect_message, self._retry)
        self.area = TranscriptScroll(theme, self)
        self.landing = ScrollTarget(self.area, theme)
        self._filling = ColumnController(self.area, self._builder, self.landing, self.live)
        self._growing = WindowScroller(self.area, self._filling)
        self._running = RunningCallUpdater(self.area, self.live)
        self.live.changed = self._retarget
        self.live.settings = self.settings_wanted.emit
        self.find_bar = FindBar(self._text_widgets, theme, self)
        self.find_bar.hide()
        self.jump = JumpButton(self)
        self.veil = Veil(self.area)
        self._flush_timer = QTimer(self, singleShot=True, interval=REPAINT_MS)
        self._restyling = Restyler(self.area, look)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins())
        column.setSpacing(0)
        column.addWidget(self.find_bar)
        column.addWidget(self.area, 1)
        self.setFocusProxy(self.area)
        self._connect()

    def _connect(self) -> None:
        self._builder.made.connect(self._actions.connect_message)
        self._filling.first_painted.connect(self.first_painted)
        self._filling.settled.connect(self._running.apply)
        self._filling.settled.connect(self.settled)
        self._running.stop_wanted.connect(self.stop_wanted)
        self._growing.older_wanted.connect(self.older_wanted)
        self._growing.newer_wanted.connect(self.newer_wanted)
        self.area.place_changed.connect(self._place_jump)
        self.jump.clicked.connect(self.to_end)
        self.find_bar.hit.connect(self._show_hit)
        self.find_bar.closed.connect(self.area.setFocus)
        self._flush_timer.timeout.connect(self._flush)
        self._actions.link_wanted.connect(self.link_wanted)
        self._actions.undo_wanted.connect(self.undo_wanted)
        self._theme.changed.connect(self._restyle)

    @property
    def window_of_entries(self) -> EntryWindow:
        """The loaded messages and the shown part; a new object for each conversation."""
        return self._filling.window

    def _retarget(self) -> None:
        self._filling.retarget()

    # --------------------------------------------------------------------------- contents
    def set_page(self, page: TranscriptPage, *, at: int | None = None) -> None:
        """Show another conversation; the old one stays until the first part is ready.

        Args:
            page: Its messages.
            at: The message to scroll to and highlight; None for the end.
        """
        self._growing.reset()
        self._filling.fresh = True
        self._running.forget()
        self.live.clear()
        self._builder.clear()
        window = self._filling.window = EntryWindow()
        window.set(page.messages, has_older=page.has_older, has_newer=page.has_newer)
        entry = None if at is None else window.entry_of(at)
        self.landing.aim(entry.key if entry is not None else "")
        self.area.stick = not self.landing.aimed
        self._retarget()

    def prepend(self, page: TranscriptPage) -> None:
        """Prepend older messages; what is visible keeps its position."""
        self._growing.older_done()
        self.window_of_entries.prepend(page.messages, has_older=page.has_older)
        self._retarget()

    def append(self, page: TranscriptPage) -> None:
        """Append newer messages; what is visible keeps its position."""
        self._growing.newer_done()
        self.area.stick = False
        self.window_of_entries.append(page.messages, has_newer=page.has_newer)
        self._retarget()

    def newer_failed(self) -> None:
        """Record that newer messages could not be read; scrolling down requests them again."""
        self._growing.newer_done()

    def older_failed(self) -> None:
        """Record that older messages could not be read; scrolling up requests them again."""
        self._growing.older_done()

    def refresh_from(self) -> Message | None:
        """Return the message from which to read the conversation for :meth:`apply_refresh`."""
        return self.window_of_entries.refresh_from()

    def apply_refresh(
        self, page: TranscriptPage, *, stored_before: frozenset[str] = frozenset()
    ) -> None:
        """Apply another read of the conversation; unchanged widgets are not touched.

        Args:
            page: The messages as read.
            stored_before: Turns that were stored before the read; those whose rows it did not
                contain were undone and are no longer shown.
        """
        self.window_of_entries.refresh(
            page.messages,
            has_older=page.has_older,
            has_newer=page.has_newer,
            follow=self.area.stick,
        )
        self._retarget()
        if stored_before and not page.has_newer:
            self.live.drop_undone(stored_before)
            self._retarget()

    def clear(self) -> None:
        """Show nothing."""
        self._running.forget()
        self.live.clear()
        self.landing.clear()
        self._builder.clear()
        self._filling.window = EntryWindow()
        self._filling.fresh = False
        self._filling.last_row = 0
        self.area.column.replace([])
        self.settled.emit()
        self._place_jump()

    # ------------------------------------------------------------------------------- turns
    def queue_turn(
        self, turn_id: str, prompt: str, *, started_at: float | None = None, reason: str = ""
    ) -> None:
        """Show a queued prompt, and what it waits for; "" for the reply before it."""
        now = time.time() if started_at is None else started_at
        floor_id = self.window_of_entries.floor_id
        self.live.queue(turn_id, prompt, floor_id=floor_id, now=now, reason=reason)
        self._retarget()

    def begin_turn(
        self,
        turn_id: str,
        prompt: str,
        *,
        started_at: float | None = None,
        floor_id: int | None = None,
        calls: list[CallState] | None = None,
    ) -> None:
        """Show the prompt and an open reply.

        Args:
            turn_id: Identifies the turn in later calls.
            prompt: The user's message.
            started_at: Epoch seconds, None for now.
            floor_id: Rows of the turn have greater ids; None for "than those loaded now", 0 when it
                is unknown because the turn began while something else was shown.
            calls: The states of its tool calls; changed in place by the controller of turn events.
        """
        now = time.time() if started_at is None else started_at
        floor = self.window_of_entries.floor_id if floor_id is None else floor_id
        self.live.begin(turn_id, prompt, floor_id=floor, now=now, calls=calls)
        self._retarget()

    def add_delta(self, turn_id: str, text: str, kind: str = "text") -> None:
        """Append a piece of a reply; shown with the next repaint."""
        turn = self.live.find(turn_id)
        if turn is not None and turn.finished is None:
            self.live.piece(turn, text, kind)
            if not self._flush_timer.isActive():
                self._flush_timer.start()

    def finish_turn(self, event: TurnFinished) -> None:
        """Finish a reply; stored rows replace it with a later refresh."""
        turn = self.live.finish(event)
        if turn is not None:
            self._running.over(event.turn_id)
            if turn.reply is not None:
                self.area.column.refit(turn.reply)
            self._retarget()

    # ---------------------------------------------------------------------------- scrolling
    def to_end(self) -> None:
        """Go to the newest message and follow new ones from there."""
        self.landing.clear()
        if self.window_of_entries.has_newer:
            self.latest_wanted.emit()
        elif self.window_of_entries.to_end():
            self._filling.fresh = True
            self.area.stick = True
            self._retarget()
        else:
            self.area.to_end()

    def open_find(self) -> None:
        """Show the find bar."""
        self.find_bar.open_bar()

    def set_loading(self, *, greyed: bool, busy: bool) -> None:
        """Gray out the content while something else is read; ``busy`` adds a progress line."""
        self.veil.set_state(greyed=greyed, busy=busy, colour=self._theme.palette.base)

    # ----------------------------------------------------------------------------- copying
    def copy_last_reply(self) -> bool:
        """Copy the newest reply to the clipboard as Markdown; return False if there is none."""
        for item in reversed(self.area.column.items):
            widget = item.widget
            if (
                isinstance(widget, MessageWidget)
                and widget.speaker == "assistant"
                and widget.source
            ):
                QGuiApplication.clipboard().setText(widget.source)
                return True
        return False

    @property
    def blank(self) -> bool:
        """Whether there is nothing to show: no message, and no running or queued turn."""
        return not self.window_of_entries.shown and not self.live.items()

    @property
    def last_row(self) -> int:
        """Row id of the newest message, if the view ends with it and no turn is open; else 0."""
        return self._filling.last_row

    def set_foot(self, foot: QWidget) -> None:
        """Reserve the margin below the last message for a widget, which may come and go there."""
        self.area.column.set_foot(foot)

    @property
    def messages(self) -> Iterator[MessageWidget]:
        """The message widgets, from top to bottom."""
        return (
            item.widget for item in self.area.column.items if isinstance(item.widget, MessageWidget)
        )

    # ---------------------------------------------------------------------------- streaming
    def _flush(self) -> None:
        for turn in self.live.turns:
            if turn.reply is not None and turn.reply.flush():
                self.area.column.refit(turn.reply)

    def _retry(self, turn: LiveTurn) -> None:
        self.retry_wanted.emit(turn.turn_id, turn.prompt)

    def _text_widgets(self) -> list[TextWidget]:
        return [
            segment.text
            for item in self.area.column.items
            if isinstance(item.widget, MessageWidget)
            for segment in item.widget.segments
        ]

    def _show_hit(self, text: TextWidget) -> None:
        place = text.cursorRect()
        self.area.bring_into_view(text, place.top(), place.height())

    # -------------------------------------------------------------------------- appearance
    def _restyle(self) -> None:
        look = Look.of(self._theme.palette)
        self.live.look = look
        self._builder.set_look(look)
        self._restyling.begin(look)
        self._retarget()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._builder.width = self.area.column.column_width
        self._place_jump()

    def _place_jump(self) -> None:
        away = not self.area.at_end or not self.window_of_entries.at_end
        self.jump.place(self.area.geometry(), shown=away and bool(self.area.column.items))
