"""The main window: its layout, actions and visibility."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMainWindow, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.gateway.gateway_view import GatewayView
from hermes_desktop.ui.gateway.status_strip import StatusStrip
from hermes_desktop.ui.sessions.session_commands import SessionCommands
from hermes_desktop.ui.sessions.session_pane import PANE_WIDTH, SessionPane
from hermes_desktop.ui.settings.settings_entry import SettingsEntry
from hermes_desktop.ui.shell.closing_question import ClosingRules
from hermes_desktop.ui.shell.key_map import make_actions
from hermes_desktop.ui.shell.rail import Rail, WindowPages
from hermes_desktop.ui.shell.session_routes import SessionCoordinator
from hermes_desktop.ui.shell.update_strip import UpdateStrip
from hermes_desktop.ui.shell.window_memory import WindowSettings
from hermes_desktop.ui.shell.window_navigation import WindowNavigation
from hermes_desktop.ui.shell.window_parts import DemoBanner, SplitView
from hermes_desktop.ui.undo.runs_later_card import RunsLaterCard
from hermes_desktop.ui.undo.undo_commands import UndoCommands
from hermes_desktop.ui.undo.undo_row import UndoRow
from hermes_desktop.ui.undo.undo_watch import UndoWatch
from hermes_desktop.ui.widgets.notice_presenter import NoticeStrip

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QAction, QCloseEvent, QHideEvent, QResizeEvent, QShowEvent

    from hermes_desktop.core.clock import Clock
    from hermes_desktop.core.events import TurnFinished
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.ui.chat.chat_page import ChatPage
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge
    from hermes_desktop.ui.widgets.theme import Theme

log = logging.getLogger(__name__)

FIRST_SIZE = QSize(1120, 720)
LEAST_SIZE = QSize(720, 480)
_LONGEST_TITLE = 80


class MainWindow(QMainWindow):
    """Shows the sessions and one of them in full.

    Args:
        services: Services of the window.
        slots: Runs coroutines started by keys and clicks.
        bridge: The events as signals.
        theme: Colors.
        page: The conversation; becomes a child of the window.
        tray_available: Whether the tray icon can bring a hidden window back.
        clock: For relative dates such as "today".
        demo: Shows the banner of the demonstration.

    Attributes:
        updates: The strip about other versions of the program.
        undoing: The commands that undo turns.
        closing: Decides what happens when the user closes the window.

    Signals:
        quit_wanted: The user wants to quit.
        restart_wanted: The user wants the program to quit and to start again.
        recent_changed: Carries the newest sessions, for the tray.
        notice_closed: Carries the key of a notice that the user closed.
    """

    quit_wanted = Signal()
    restart_wanted = Signal()
    recent_changed = Signal(object)
    notice_closed = Signal(str)

    def __init__(  # noqa: PLR0913 - the parts it is made of
        self,
        *,
        services: DesktopServices,
        slots: AsyncSlots,
        bridge: EventBridge,
        theme: Theme,
        page: ChatPage,
        tray_available: Callable[[], bool],
        clock: Clock,
        demo: bool = False,
    ) -> None:
        super().__init__()
        self._services = services
        self._slots = slots
        self._theme = theme
        self._page = page
        self._ending = False
        self._memory = WindowSettings(services.paths.window_ini)
        self._pane = SessionPane(services.catalog, services.search, slots, bridge, theme, clock)
        self._sides = SplitView(theme, self._pane, page, left_width=PANE_WIDTH)
        self._rail = Rail(theme)
        self._notices = NoticeStrip(theme)
        self.updates = self._make_updates(bridge)
        self._status = StatusStrip(theme)
        self._gateway = self._make_gateway(bridge, clock)
        self._pages = WindowPages(self._rail, self._sides, self._gateway.page)
        self._settings = self._make_settings(bridge, theme, clock)
        self._banner = DemoBanner(theme) if demo else None
        self._commands = SessionCommands(services.actions, slots, services.bus, theme, self)
        self.undoing = UndoCommands(
            services.undo, slots, services.bus, theme, self, self._commands.tell
        )
        self._undo_watch = self._make_undo_watch(bridge)
        self._navigation = self._make_navigation()
        way = self._navigation.show_session
        self._routes = SessionCoordinator(self._pane, page, self._commands, slots, way)
        self.closing = ClosingRules(
            self,
            tray_available,
            slots,
            lambda: services.gateway.status,
            services.background.running,
        )
        self._actions = self._make_actions()
        self._arrange()
        self._connect(bridge)
        self._place()

    @property
    def pane(self) -> SessionPane:
        """The session list with its filter."""
        return self._pane

    @property
    def page(self) -> ChatPage:
        """The conversation."""
        return self._page

    @property
    def gateway(self) -> GatewayView:
        """The gateway view: its page, its strips and its commands."""
        return self._gateway

    @property
    def settings(self) -> SettingsEntry:
        """The entry to the settings page."""
        return self._settings

    @property
    def notices(self) -> NoticeStrip:
        """The notice strip above the page."""
        return self._notices

    def begin(self) -> None:
        """Load the list and the model's name. Call once the loop runs."""
        self._gateway.begin()
        self._pane.reload()
        self.setFocus()
        self._slots.start(self._greet(), doing=self.tr("Reading the settings"))

    def come_forward(self) -> None:
        """Bring the window to the front, from the tray, minimized or from behind other windows."""
        if self.isMinimized():
            self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def toggle(self) -> None:
        """Hide the window if it is in front, else bring it there (a click on the tray icon)."""
        if self.isVisible() and not self.isMinimized() and self.isActiveWindow():
            self.close()
        else:
            self.come_forward()

    def tray_changed(self, available: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        """Keep the window reachable: without a tray icon, minimize a hidden window."""
        if not available and not self.isVisible() and not self._ending:
            self.showMinimized()

    def open_session(self, session_id: str) -> None:
        """Show a session by its id, from the tray or after a search."""
        self._navigation.open_session(session_id)

    async def show_session(self, session_id: str) -> None:
        """Select a session, show it, and wait until it is displayed.

        Raises:
            NotFoundError: The session no longer exists.
        """
        await self._navigation.show_session(session_id)

    def new_chat(self) -> None:
        """Start a new session; nothing is stored before the first message."""
        self._navigation.new_chat()

    def show_platforms(self) -> None:
        """Show the gateway and its platforms."""
        self._navigation.show_platforms()

    def show_settings(self) -> None:
        """Show the settings."""
        self._navigation.show_settings()

    def want_to_quit(self) -> None:
        """Quit at the user's request, after confirmation if settings are unsaved."""
        self._settings.leave(self.quit_wanted.emit)

    def prepare_to_end(self) -> None:
        """Save the window's geometry and hide it; the next close is final."""
        self._ending = True
        self.undoing.stop()
        self._memory.save(self, None if self._sides.narrow else self._sides)
        self._settings.close()
        self._gateway.close()
        self._pane.close_feeds()
        self._page.close_workers()
        self._navigation.close_guide()
        self.hide()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        event.setAccepted(self._ending)
        if not self._ending:
            self.closing.close_wanted()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._navigation.fit_width()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tell_visibility()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._tell_visibility()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self._tell_visibility()

    def _make_gateway(self, bridge: EventBridge, clock: Clock) -> GatewayView:
        return GatewayView(
            control=self._services.gateway,
            desk=self._services.pairing,
            slots=self._slots,
            bus=self._services.bus,
            bridge=bridge,
            theme=self._theme,
            clock=clock,
            strip=self._status,
            window=self,
        )

    def _make_settings(self, bridge: EventBridge, theme: Theme, clock: Clock) -> SettingsEntry:
        return SettingsEntry(
            self._pages,
            services=self._services,
            slots=self._slots,
            bridge=bridge,
            theme=theme,
            clock=clock,
            memory=self._memory,
            restart_gateway=partial(self._gateway.commands.run, "restart"),
        )

    def _make_undo_watch(self, bridge: EventBridge) -> UndoWatch:
        """Create the card of files that run later, and the row below the last reply."""
        page = self._page
        card, row = RunsLaterCard(self._theme, page), UndoRow(self._theme)
        page.sheets.add(card)
        page.view.set_foot(row)
        page.view.settled.connect(lambda: row.follow_end(page.view.last_row))
        return UndoWatch(
            card,
            row,
            self._services.undo,
            self.undoing,
            slots=self._slots,
            bridge=bridge,
            shown=lambda: page.current_session_id,
            answering=self._services.chat.is_running,
        )

    def _make_updates(self, bridge: EventBridge) -> UpdateStrip:
        strip = UpdateStrip(self._theme)
        strip.page_wanted.connect(self._page.open_link)
        strip.dismissed.connect(self._dismiss_release)
        strip.restart_wanted.connect(self._want_to_restart)
        bridge.versions_changed.connect(strip.show_news)
        return strip

    def _make_navigation(self) -> WindowNavigation:
        return WindowNavigation(
            self,
            services=self._services,
            slots=self._slots,
            pages=self._pages,
            sides=self._sides,
            pane=self._pane,
            page=self._page,
            gateway=self._gateway,
            settings=self._settings,
            notices=self._notices,
            theme=self._theme,
        )

    def _make_actions(self) -> dict[str, QAction]:
        """Create an action for each shortcut that the window handles."""
        way = self._navigation
        slots: dict[str, Callable[[], object]] = {
            "new_chat": way.new_chat,
            "focus_filter": way.focus_filter,
            "focus_composer": way.focus_composer,
            "focus_list": way.show_list,
            "show_platforms": way.show_platforms,
            "show_settings": way.show_settings,
            "rename": way.rename,
            "archive": self._routes.archive,
            "delete": self._routes.delete,
            "undo_turn": self._undo_turn,
            "undo": partial(way.undo, self._commands.undo_last),
            "refresh": self._refresh,
            "escape": way.escape,
            "hide_window": self.close,
            "quit": self.want_to_quit,
            "show_keys": way.show_keys,
        }
        return make_actions(self, slots, lambda: self._pages.on_sessions)

    def _arrange(self) -> None:
        self.setMinimumSize(LEAST_SIZE)
        self.setWindowTitle(self.tr("Hermes"))
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self._rail)
        middle.addWidget(self._pages, 1)
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        if self._banner is not None:
            column.addWidget(self._banner)
        column.addWidget(self._gateway.banner)
        column.addWidget(self.updates)
        column.addWidget(self._notices)
        column.addLayout(middle, 1)
        column.addWidget(self._status)
        self.setCentralWidget(whole)

    def _connect(self, bridge: EventBridge) -> None:
        pane, page, way = self._pane, self._page, self._navigation
        pane.session_chosen.connect(way.open)
        pane.session_clicked.connect(self._sides.show_right)
        pane.session_confirmed.connect(way.focus_composer)
        pane.recent_changed.connect(self.recent_changed)
        pane.renamed.connect(self._services.watch.check_now)
        pane.new_chat_wanted.connect(way.new_chat)
        page.session_opened.connect(pane.show_as_open)
        page.title_changed.connect(self._show_title)
        page.readiness_changed.connect(self._status.show_readiness)
        page.undo_wanted.connect(self.undoing.undo)
        page.shown_changed.connect(self._undo_watch.look)
        page.context.changed.connect(self._status.context.show_used)
        page.back_requested.connect(way.show_list)
        page.session_wanted.connect(way.write_in)
        page.view.settings_wanted.connect(self._settings.show)
        page.composer.settings_wanted.connect(partial(self._settings.show, "assistant"))
        self._rail.sessions_wanted.connect(way.show_list)
        self._rail.platforms_wanted.connect(way.show_platforms)
        self._rail.settings_wanted.connect(way.show_settings)
        self._gateway.page_wanted.connect(way.show_platforms)
        self._gateway.page.setup_wanted.connect(lambda: self._settings.show("platforms"))
        self._gateway.need_changed.connect(self._rail.platforms_button.show_need)
        self._gateway.window_wanted.connect(self.come_forward)
        self._pages.currentChanged.connect(self._gateway.refresh)
        self.closing.quit_wanted.connect(self.want_to_quit)
        self._rail.help_wanted.connect(way.show_keys)
        self._notices.closed.connect(self.notice_closed)
        self._notices.acted.connect(self._commands.act_on)
        self._notices.acted.connect(self.undoing.act_on)
        self._notices.acted.connect(self._gateway.act_on)
        self._routes.usage_wanted.connect(way.show_usage)
        self._routes.undo_wanted.connect(self.undoing.undo)
        self._routes.restore_wanted.connect(self.undoing.restore)
        bridge.notice.connect(self._notices.show_notice)
        bridge.notice_cleared.connect(self._notices.clear)
        bridge.turn_finished.connect(self._turn_finished)

    def _place(self) -> None:
        if not self._memory.restore(self, self._sides):
            self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize()))

    async def _greet(self) -> None:
        """Show the session that was open last; focus the message field if a model is ready."""
        drafts, last = await self._services.window_state.load()
        self._page.take_drafts(drafts)
        ready = (await self._page.look_at_settings()).ready
        if self._page.in_use or self._pane.selected_session is not None:
            return  # the user has already started something
        if (not last or not await self._navigation.show_again(last)) and not self._page.in_use:
            self._page.new_chat()
        if QApplication.focusWidget() not in {None, self}:
            return  # the user has already started something
        if ready:
            self._page.focus_composer()
        elif self._pane.view.isVisible():
            self._pane.view.setFocus()

    def _undo_turn(self) -> None:
        session_id = self._page.current_session_id
        if session_id is not None:
            self.undoing.undo(session_id)

    def _show_title(self, title: str) -> None:
        self.setWindowTitle(title[:_LONGEST_TITLE] or self.tr("Hermes"))

    def _turn_finished(self, _: TurnFinished) -> None:
        self._services.watch.check_now()

    def _dismiss_release(self, version: str) -> None:
        dismissing = self._services.updates.dismiss(version)
        self._slots.start(dismissing, doing=self.tr("Closing the notice"))

    def _want_to_restart(self) -> None:
        self._settings.leave(self.restart_wanted.emit)

    def _refresh(self) -> None:
        self._services.watch.check_now()
        self._gateway.page_shown()
        self._pane.reload()
        self._slots.start(self._page.look_at_settings(), doing=self.tr("Reading the settings"))

    def _tell_visibility(self) -> None:
        visible = self.isVisible() and not self.isMinimized()
        self._services.watch.set_visible(visible)
        self._gateway.set_visible(visible)
