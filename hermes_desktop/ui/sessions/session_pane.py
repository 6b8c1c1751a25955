"""The left side of the window: filter, sources, sessions by day, hits, and empty sessions."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import SessionsChanged, TurnFinished, TurnStarted
from hermes_desktop.core.user_requests import PendingRequests, RequestEvent
from hermes_desktop.services.sessions.live_catalog import ListQuery, SessionPage
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.sessions.empty_fold import EmptySessionsSection
from hermes_desktop.ui.sessions.list_feed import FILTER_PAUSE_MS, Catalog, ListFeed
from hermes_desktop.ui.sessions.message_hits import MessageHits
from hermes_desktop.ui.sessions.message_search import Finder, MessageSearch
from hermes_desktop.ui.sessions.pane_layout import PaneHeader, PaneLayout
from hermes_desktop.ui.sessions.session_list_model import SessionListModel
from hermes_desktop.ui.sessions.session_list_view import SessionListView
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.day_words import words_for

PANE_WIDTH = 320
_LEAST_WIDTH = 240


class SessionPane(QWidget):
    """The pane that lists sessions and reports the chosen one.

    Args:
        catalog: Provides pages and stores new titles.
        finder: Searches the messages.
        slots: Runs the reads.
        bridge: The events about rows and turns.
        theme: Colors.
        clock: For "today" and for throttling.

    Signals:
        session_chosen: A :class:`SessionSummary` that the user selected.
        session_confirmed: Enter or a double click: move on to the composer.
        recent_changed: The newest sessions without any filter, for the tray.
        renamed: A title was written; the database should be checked.
        new_chat_wanted: The button was pressed, or that of the empty state.
        page_shown: The list shows other rows.
        session_clicked: A row was clicked, even if it was selected already.
        menu_filling: A menu has to be filled: the menu, its sessions, and a callable that starts to
            edit the title.
        hit_chosen: A :class:`SearchHit` was chosen among the hits in messages.
    """

    session_chosen = Signal(object)
    session_confirmed = Signal()
    recent_changed = Signal(object)
    renamed = Signal()
    new_chat_wanted = Signal()
    session_clicked = Signal()
    page_shown = Signal()
    menu_filling = Signal(object, object, object)
    hit_chosen = Signal(object)

    def __init__(  # noqa: PLR0913, PLR0917 - the parts it is made of
        self,
        catalog: Catalog,
        finder: Finder,
        slots: AsyncSlots,
        bridge: EventBridge,
        theme: Theme,
        clock: Clock,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._catalog = catalog
        self._slots = slots
        self._theme = theme
        self._clock = clock
        self._shown_id = ""
        self._running: dict[str, str] = {}
        self._requests = PendingRequests()
        self._page: SessionPage | None = None
        self._model = SessionListModel(parent=self)
        self._view = SessionListView(self._model, theme, name=self.tr("Sessions"))
        self._feed = ListFeed(catalog, slots, clock, ListQuery(), self)
        self._fold = EmptySessionsSection(
            ListFeed(catalog, slots, clock, ListQuery(empty=True), self), theme, clock
        )
        self._head = PaneHeader(theme)
        self._filter, self._sources = self._head.field, self._head.sources
        self._search = MessageSearch(finder, slots, self)
        self._hits = MessageHits(self._search, theme, clock)
        self._layout = PaneLayout(self._view, self._hits, theme)
        self._arrange()
        self._connect(bridge)

    @property
    def view(self) -> SessionListView:
        """The list."""
        return self._view

    @property
    def fold(self) -> EmptySessionsSection:
        """The section of sessions without messages."""
        return self._fold

    @property
    def hits(self) -> MessageHits:
        """The hits in messages."""
        return self._hits

    @property
    def selected_session(self) -> SessionSummary | None:
        """The session that is selected, in either list."""
        return self._view.selected_session or self._fold.view.selected_session

    @property
    def selected_sessions(self) -> tuple[SessionSummary, ...]:
        """All selected sessions of the focused list, else of the list that has a selection."""
        views = (self._view, self._fold.view)
        first = sorted(views, key=lambda view: not view.hasFocus())
        return first[0].selected_sessions or first[1].selected_sessions

    @property
    def query(self) -> ListQuery:
        """The query of the list."""
        return self._feed.query

    def reload(self) -> None:
        """Read the list as soon as possible."""
        self._feed.ask(self._feed.query)

    def focus_filter(self) -> None:
        """Focus the filter with its text selected."""
        self._filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._filter.selectAll()

    def clear_filter(self) -> None:
        """Clear the filter and the source."""
        self._filter.clear()
        self._sources.choose(None)

    def step_back(self) -> bool:
        """Handle Esc: leave the hits, the filter or a selection; return False if none applies."""
        if self._hits.list.hasFocus():
            self._filter.setFocus()
        elif self._filter.hasFocus():
            self.clear_filter()
            self._view.focus_first()
        elif len(self.selected_sessions) > 1:
            self._view.clear_choice()
            self._fold.view.clear_choice()
            self._select_shown()
        else:
            return False
        return True

    def show_as_open(self, session_id: str) -> None:
        """Select the session that the page shows; "" selects none."""
        self._shown_id = session_id
        self._select_shown()

    def rename_selected(self) -> None:
        """Edit the title of the selected session in place."""
        view = self._view if self._view.selected_session else self._fold.view
        view.rename_selected()

    def close_feeds(self) -> None:
        """Stop all reads when the program ends."""
        self._search.stop()
        self._feed.close()
        self._fold.feed.close()

    def _connect(self, bridge: EventBridge) -> None:
        self._filter.textChanged.connect(lambda: self._ask_filtered(after_ms=FILTER_PAUSE_MS))
        self._filter.left_below.connect(self._into_results)
        self._sources.chosen.connect(self._take_source)
        self._head.new_chat_wanted.connect(self.new_chat_wanted)
        self._feed.page_ready.connect(self._show_page)
        self._feed.became_slow.connect(partial(self._view.show_stale, stale=True))
        self._feed.answered.connect(partial(self._view.show_stale, stale=False))
        self._model.more_wanted.connect(self._feed.more)
        self._layout.placeholder.acted.connect(self._act_on_placeholder)
        self._fold.rename_wanted.connect(self._rename)
        self._model.rename_wanted.connect(self._rename)
        for view in (self._view, self._fold.view):
            view.chosen.connect(partial(self._choose, view))
            view.confirmed.connect(self.session_confirmed)
            view.clicked.connect(self.session_clicked)
            view.typed.connect(self._type_into_filter)
            view.released.connect(self._feed.release)
            view.menu_filling.connect(self.menu_filling)
        self._view.left_below.connect(self._hits.focus_first)
        self._view.left_above.connect(self._back_to_filter)
        self._hits.left_above.connect(self._above_hits)
        self._hits.hit_chosen.connect(self.hit_chosen)
        self._hits.state_changed.connect(self._divide_space)
        self._hits.order_changed.connect(lambda _: self._look_for_messages())
        bridge.sessions_changed.connect(self._refresh)
        bridge.turn_started.connect(self._turn_started)
        bridge.turn_finished.connect(self._turn_finished)
        for request in bridge.request_signals:
            request.connect(self._request)
        self._theme.changed.connect(self._layout.update_colors)

    def _arrange(self) -> None:
        self.setMinimumWidth(_LEAST_WIDTH)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head)
        column.addWidget(self._layout.no_title)
        column.addWidget(self._layout.stack, 1)
        column.addWidget(self._hits, 1)
        column.addWidget(self._fold)

    def _ask_filtered(self, *, after_ms: int) -> None:
        text, sources = self._filter.text().strip(), self._sources
        query = ListQuery(text, sources.source, archived=sources.archived)
        self._feed.ask(query, after_ms=after_ms)
        self._fold.ask(replace(query, empty=True), after_ms=after_ms)
        self._look_for_messages()

    def _take_source(self) -> None:
        self._head.show_source()
        self._ask_filtered(after_ms=0)

    def _look_for_messages(self) -> None:
        self._search.look_for(
            self._filter.text(),
            self._sources.source,
            archived=self._sources.archived,
            best_first=self._hits.best.isChecked(),
        )

    def _show_page(self, page: SessionPage) -> None:
        self._page = page
        self._sources.show_counts(page.sources, page.archived_total)
        words = words_for(self._clock.time())
        self._view.show_rows(page.rows, words, total=page.total)
        self._fold.show_count(page.empty_total)
        if not (self._view.choosing or self._fold.view.choosing):
            self._select_shown()
        self._divide_space()
        if not self._feed.query.narrows:
            self.recent_changed.emit(page.rows[:5])
        self.page_shown.emit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._divide_space()

    def _divide_space(self) -> None:
        if self._page is not None:
            self._layout.divide_space(self._feed.query, has_rows=bool(self._page.rows))

    def _act_on_placeholder(self) -> None:
        if self._feed.query.narrows:
            self.clear_filter()
            self._filter.setFocus()
        else:
            self.new_chat_wanted.emit()

    def _into_results(self) -> None:
        """Move from the filter to the titles, or else to the hits in messages."""
        self._search.now()
        if self._view.isVisible() and self._model.session_count:
            self._view.focus_first()
        else:
            self._hits.focus_first()

    def _back_to_filter(self) -> None:
        if self._filter.text():
            self.focus_filter()

    def _above_hits(self) -> None:
        if self._view.isVisible() and self._model.session_count:
            self._view.focus_last()
        else:
            self.focus_filter()

    def _refresh(self, _: SessionsChanged) -> None:
        if self._view.menu_open or self._view.is_editing:
            self._feed.hold()
        self._feed.refresh()
        self._fold.refresh()

    def _choose(self, chosen_in: SessionListView, summary: SessionSummary) -> None:
        other = self._fold.view if chosen_in is self._view else self._view
        other.clear_choice()
        self._shown_id = summary.root_id
        self.session_chosen.emit(summary)

    def _select_shown(self) -> None:
        """Select the session of the page wherever it is listed; a filter may have hidden it."""
        if not self._shown_id:
            self._view.clear_choice()
            self._fold.view.clear_choice()
            return
        for view in (self._view, self._fold.view):
            selected = view.selected_session
            if len(view.selected_sessions) > 1:
                continue
            if selected is None or self._shown_id not in (selected.id, selected.root_id):
                view.select_session(self._shown_id)

    def _type_into_filter(self, text: str) -> None:
        self._filter.setFocus(Qt.FocusReason.OtherFocusReason)
        self._filter.setText(text)

    def _rename(self, session_id: str, title: str) -> None:
        async def rename() -> None:
            await self._catalog.rename(session_id, title)
            self.renamed.emit()

        self._slots.start(rename(), doing=self.tr("Renaming the session"))

    def _turn_started(self, event: TurnStarted) -> None:
        self._running[event.turn_id] = event.session_id
        self._model.show_running(frozenset(self._running.values()))

    def _turn_finished(self, event: TurnFinished) -> None:
        self._running.pop(event.turn_id, None)
        self._model.show_running(frozenset(self._running.values()))

    def _request(self, event: RequestEvent) -> None:
        self._requests.follow(event)
        self._model.show_waiting(self._requests.session_ids)

    def show_drafts(self, drafts: Mapping[str, str]) -> None:
        """Show which sessions have an unsent message, by the root of each."""
        self._model.show_drafts(drafts)
