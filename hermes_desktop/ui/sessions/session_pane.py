"""The left side of the window: filter, sources, sessions by day, and the fold of empty ones."""

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.events import SessionsChanged, TurnFinished, TurnStarted
from hermes_desktop.services.live_catalog import ListQuery, SessionPage
from hermes_desktop.state.records import SessionSummary
from hermes_desktop.ui.async_slots import AsyncSlots
from hermes_desktop.ui.event_bridge import EventBridge
from hermes_desktop.ui.resource_files import icon, icon_size, tinted_icon
from hermes_desktop.ui.sessions.day_words import words_for
from hermes_desktop.ui.sessions.empty_fold import EmptyFold
from hermes_desktop.ui.sessions.list_feed import FILTER_PAUSE_MS, Catalog, ListFeed
from hermes_desktop.ui.sessions.place_holder import PlaceHolder
from hermes_desktop.ui.sessions.session_list_model import SessionListModel
from hermes_desktop.ui.sessions.session_list_view import SessionListView
from hermes_desktop.ui.sessions.source_names import source_icon, source_name
from hermes_desktop.ui.theme import SPACE_4, SPACE_8, SPACE_12, Theme

PANE_WIDTH = 320
_LEAST_WIDTH = 240


class SessionPane(QWidget):
    """Lists sessions and says which one was chosen.

    Args:
        catalog: Gives pages and takes new titles.
        slots: Runs the reading.
        bridge: News about rows and turns.
        theme: Colours.
        clock: For "today" and for pacing.

    Signals:
        session_chosen: A :class:`SessionSummary` that a person selected.
        session_confirmed: Enter or a double click: on to writing.
        recent_changed: The newest sessions without any filter, for the tray.
        renamed: A title was written; the database should be looked at.
        new_chat_wanted: The button was pressed, or that of the empty state.
        page_shown: Other rows are in the list.
        session_clicked: A row was clicked, be it the selected one.
    """

    session_chosen = Signal(object)
    session_confirmed = Signal()
    recent_changed = Signal(object)
    renamed = Signal()
    new_chat_wanted = Signal()
    session_clicked = Signal()
    page_shown = Signal()

    def __init__(
        self,
        catalog: Catalog,
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
        self._sources: dict[str, int] = {}
        self._source: str | None = None
        self._model = SessionListModel(parent=self)
        self._view = SessionListView(self._model, theme, name=self.tr("Sessions"))
        self._feed = ListFeed(catalog, slots, clock, ListQuery(), self)
        self._fold = EmptyFold(
            ListFeed(catalog, slots, clock, ListQuery(empty=True), self), theme, clock
        )
        self._filter = QLineEdit()
        self._source_button = QToolButton()
        self._new_button = QToolButton()
        self._source_menu = QMenu(self)
        self._place_holder = PlaceHolder(theme)
        self._stack = QStackedWidget()
        self._arrange()
        self._connect(bridge)

    @property
    def view(self) -> SessionListView:
        """The list."""
        return self._view

    @property
    def fold(self) -> EmptyFold:
        """The line of sessions without messages."""
        return self._fold

    @property
    def filter_field(self) -> QLineEdit:
        """The field above the list."""
        return self._filter

    @property
    def selected_session(self) -> SessionSummary | None:
        """The session that is selected, in either list."""
        return self._view.selected_session or self._fold.view.selected_session

    @property
    def query(self) -> ListQuery:
        """What the list shows now."""
        return self._feed.query

    def reload(self) -> None:
        """Read the list as soon as possible."""
        self._feed.ask(self._feed.query)

    def focus_filter(self) -> None:
        """Put the cursor into the filter, its text selected."""
        self._filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._filter.selectAll()

    def clear_filter(self) -> None:
        """Show everything again."""
        self._filter.clear()
        self._take_source(None)

    def ask_now(self, text: str) -> None:
        """Filter by a text without waiting for a pause in the typing."""
        self._filter.setText(text)
        self._ask_filtered(after_ms=0)

    def show_as_open(self, session_id: str) -> None:
        """Select the session that the page shows; "" selects none."""
        self._shown_id = session_id
        self._select_shown()

    def rename_selected(self) -> None:
        """Edit the title of the selected session in place."""
        view = self._view if self._view.selected_session else self._fold.view
        view.rename_selected()

    def close_feeds(self) -> None:
        """Read nothing any more; the program ends."""
        self._feed.close()
        self._fold.feed.close()

    def _connect(self, bridge: EventBridge) -> None:
        self._filter.textChanged.connect(lambda: self._ask_filtered(after_ms=FILTER_PAUSE_MS))
        self._feed.page_ready.connect(self._show_page)
        self._feed.became_slow.connect(partial(self._view.show_stale, stale=True))
        self._feed.answered.connect(partial(self._view.show_stale, stale=False))
        self._model.more_wanted.connect(self._feed.more)
        self._place_holder.acted.connect(self._act_on_place_holder)
        self._fold.rename_wanted.connect(self._rename)
        self._model.rename_wanted.connect(self._rename)
        for view in (self._view, self._fold.view):
            view.chosen.connect(partial(self._choose, view))
            view.confirmed.connect(self.session_confirmed)
            view.clicked.connect(self.session_clicked)
            view.typed.connect(self._type_into_filter)
            view.released.connect(self._feed.release)
        bridge.sessions_changed.connect(self._refresh)
        bridge.turn_started.connect(self._turn_started)
        bridge.turn_finished.connect(self._turn_finished)
        self._theme.changed.connect(self._colour)

    def _arrange(self) -> None:
        self.setMinimumWidth(_LEAST_WIDTH)
        self._filter.setPlaceholderText(self.tr("Search sessions"))
        self._filter.setAccessibleName(self.tr("Search sessions by title or id"))
        self._filter.setClearButtonEnabled(True)
        self._search_action = QAction(self)
        self._filter.addAction(self._search_action, QLineEdit.ActionPosition.LeadingPosition)
        self._source_button.clicked.connect(self._open_source_menu)
        self._new_button.setToolTip(self.tr("New chat (Ctrl+N)"))
        self._new_button.setAccessibleName(self.tr("New chat"))
        self._new_button.clicked.connect(self.new_chat_wanted)
        for button in (self._source_button, self._new_button):
            button.setAutoRaise(True)
            button.setIconSize(icon_size())
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_12, SPACE_12, SPACE_8, SPACE_8)
        head.setSpacing(SPACE_4)
        head.addWidget(self._filter, 1)
        head.addWidget(self._source_button)
        head.addWidget(self._new_button)
        self._stack.addWidget(self._view)
        self._stack.addWidget(self._place_holder)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self._stack, 1)
        column.addWidget(self._fold)
        self._tell_source()

    def _colour(self) -> None:
        palette = self._theme.palette
        self._search_action.setIcon(icon("search", palette))
        self._new_button.setIcon(icon("new-chat", palette))
        if self._source is None:
            self._source_button.setIcon(icon("filter", palette))
        else:
            self._source_button.setIcon(tinted_icon(source_icon(self._source), palette.accent))

    def _ask_filtered(self, *, after_ms: int) -> None:
        text = self._filter.text().strip()
        self._feed.ask(ListQuery(text, self._source), after_ms=after_ms)
        self._fold.ask(ListQuery(text, self._source, empty=True), after_ms=after_ms)

    def _show_page(self, page: SessionPage) -> None:
        self._sources = dict(page.sources)
        words = words_for(self._clock.time())
        self._view.show_rows(page.rows, words, total=page.total)
        self._fold.show_count(page.empty_total)
        self._select_shown()
        self._show_place_holder(page)
        if not self._feed.query.text and self._feed.query.source is None:
            self.recent_changed.emit(page.rows[:5])
        self.page_shown.emit()

    def _show_place_holder(self, page: SessionPage) -> None:
        filtered = bool(self._feed.query.text or self._feed.query.source)
        if page.rows:
            self._stack.setCurrentWidget(self._view)
            return
        if filtered:
            self._place_holder.say(
                self.tr("No session matches."),
                self.tr("Titles and ids are searched, not the messages."),
                self.tr("Clear filter"),
            )
        else:
            self._place_holder.say(
                self.tr("Your conversations appear here."),
                self.tr("Those from the command line and from every platform are listed too."),
                self.tr("New chat"),
            )
        self._stack.setCurrentWidget(self._place_holder)

    def _act_on_place_holder(self) -> None:
        if self._feed.query.text or self._feed.query.source:
            self.clear_filter()
            self._filter.setFocus()
        else:
            self.new_chat_wanted.emit()

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
        """Select what the page shows wherever it is listed; a filter may have hidden it."""
        if not self._shown_id:
            self._view.clear_choice()
            self._fold.view.clear_choice()
            return
        for view in (self._view, self._fold.view):
            selected = view.selected_session
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

    def _open_source_menu(self) -> None:
        button = self._source_button
        self.fill_source_menu().popup(button.mapToGlobal(button.rect().bottomLeft()))

    def fill_source_menu(self) -> QMenu:
        """Make the menu of sources, with how many sessions each has."""
        self._source_menu.clear()
        group = QActionGroup(self._source_menu)
        total = sum(self._sources.values())
        self._add_source(group, None, self.tr("All sources"), total)
        self._source_menu.addSeparator()
        for source, count in sorted(self._sources.items(), key=lambda pair: -pair[1]):
            self._add_source(group, source, source_name(source), count)
        return self._source_menu

    def _add_source(self, group: QActionGroup, source: str | None, name: str, count: int) -> None:
        action = self._source_menu.addAction(f"{name} ({count:,})")
        if source is not None:
            action.setIcon(icon(source_icon(source), self._theme.palette))
        action.setCheckable(True)
        action.setChecked(source == self._source)
        action.triggered.connect(partial(self._take_source, source))
        group.addAction(action)

    def _take_source(self, source: str | None, _checked: object = None) -> None:
        self._source = source
        self._tell_source()
        self._ask_filtered(after_ms=0)

    def _tell_source(self) -> None:
        chosen = source_name(self._source) if self._source else self.tr("all sources")
        words = self.tr("Show: ") + chosen
        self._source_button.setToolTip(words)
        self._source_button.setAccessibleName(words)
        self._colour()
