"""Navigation in the window: the visible page, session, and side of a narrow window."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication

from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import OFFERED_SESSION
from hermes_desktop.ui.shell.key_map import KeysDialog

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.state.records.records import SessionSummary
    from hermes_desktop.ui.chat.chat_page import ChatPage
    from hermes_desktop.ui.gateway.gateway_view import GatewayView
    from hermes_desktop.ui.sessions.session_pane import SessionPane
    from hermes_desktop.ui.settings.settings_entry import SettingsEntry
    from hermes_desktop.ui.shell.guide_dialog import GuideDialog
    from hermes_desktop.ui.shell.rail import WindowPages
    from hermes_desktop.ui.shell.window_parts import SplitView
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.notice_presenter import NoticeStrip
    from hermes_desktop.ui.widgets.theme import Theme


log = logging.getLogger(__name__)


class WindowNavigation(QObject):
    """Navigates between the parts of the window. Main thread only.

    Args:
        window: Parent of dialogs; its width determines how much fits.
        services: Finds sessions, stops replies.
        slots: Runs coroutines.
        pages: The pages of the rail.
        sides: List and conversation.
        pane: The list.
        page: The conversation.
        gateway: Provides the platforms page.
        settings: Creates the settings page when it is first opened.
        notices: Closed by Esc if nothing else is open.
        theme: Colors of dialogs.
    """

    def __init__(  # noqa: PLR0913 - the places it leads to
        self,
        window: QWidget,
        *,
        services: DesktopServices,
        slots: AsyncSlots,
        pages: WindowPages,
        sides: SplitView,
        pane: SessionPane,
        page: ChatPage,
        gateway: GatewayView,
        settings: SettingsEntry,
        notices: NoticeStrip,
        theme: Theme,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._services = services
        self._slots = slots
        self._pages = pages
        self._sides = sides
        self._pane = pane
        self._page = page
        self._gateway = gateway
        self._settings = settings
        self._notices = notices
        self._theme = theme
        self._guide: GuideDialog | None = None
        notices.acted.connect(self.open_offered)

    # ----------------------------------------------------------------------------- sessions
    def open_session(self, session_id: str) -> None:
        """Show a session by its id, from the tray or after a search."""
        self._slots.start(self.show_session(session_id), doing=self.tr("Opening the session"))

    def open_offered(self, key: str) -> None:
        """Handle the button of a notice: open the session that it offers, if any."""
        if key.startswith(OFFERED_SESSION):
            self.open_session(key.removeprefix(OFFERED_SESSION))

    def write_in(self, session_id: str) -> None:
        """Show a session and put the focus on the message field."""
        self._slots.start(self._show_to_write(session_id), doing=self.tr("Opening the session"))

    def open(self, summary: SessionSummary) -> None:
        """Show a session that was selected in the list."""
        self._slots.start(self._page.show_session(summary), doing=self.tr("Opening the session"))

    async def show_session(self, session_id: str, message_id: int | None = None) -> None:
        """Select a session, show it, and wait until it is displayed.

        Args:
            session_id: The session.
            message_id: Row id of a message to scroll to; None for the end.

        Raises:
            NotFoundError: The session no longer exists.
        """
        summary = await self._services.catalog.summary(session_id)
        await self._show(summary, message_id)

    async def _show(self, summary: SessionSummary, message_id: int | None = None) -> None:
        self._pane.show_as_open(summary.root_id)
        self._pages.show_sessions()
        self._sides.show_right()
        await self._page.show_session(summary, at=message_id)

    async def show_again(self, session_id: str) -> bool:
        """Show the session of an earlier run; return False if it is gone or cannot be read.

        What the user opened or began while its row was read stays on the page.
        """
        try:
            summary = await self._services.catalog.summary(session_id)
            if not self._page.in_use:
                await self._show(summary)
        except HermesError as error:
            log.info("The session shown last cannot be shown: %s", error)
            return False
        return True

    async def _show_to_write(self, session_id: str) -> None:
        await self.show_session(session_id)
        self._page.focus_composer()

    def new_chat(self) -> None:
        """Start a new session; nothing is stored before the first message."""
        self._pane.show_as_open("")
        self._pages.show_sessions()
        self._sides.show_right()
        self._page.new_chat()
        self._page.focus_composer()

    def rename(self) -> None:
        """Rename the session in the list if it is selected there, else in the page header."""
        if self._pane.isVisible() and self._pane.selected_session is not None:
            self._pane.rename_selected()
        else:
            self._page.header.begin_rename()

    # ------------------------------------------------------------------------------- pages
    def show_list(self) -> None:
        """Show the list of sessions and focus it."""
        self._pages.show_sessions()
        self._sides.show_left()
        self._pane.view.focus_first()

    def show_platforms(self) -> None:
        """Show the gateway and its platforms."""
        self._pages.show_platforms()
        self._gateway.page_shown()
        self._gateway.page.focus_first()

    def show_settings(self) -> None:
        """Show the settings, on the page that was open last."""
        self._settings.show()

    def undo(self, undo_session: Callable[[], object]) -> None:
        """Undo the last change on the visible page.

        Args:
            undo_session: Undoes a change of sessions.
        """
        (self._settings.undo if self._settings.shows else undo_session)()

    def focus_filter(self) -> None:
        """Put the focus on the search field."""
        self._pages.show_sessions()
        self._sides.show_left()
        self._pane.focus_filter()

    def focus_composer(self) -> None:
        """Put the focus on the message field."""
        self._pages.show_sessions()
        self._sides.show_right()
        self._page.focus_composer()

    def fit_width(self) -> None:
        """Adapt to the width of the window."""
        reading = self._page.current_session_id is not None
        if self._sides.fit(self._window.width(), right_on_top=reading):
            self._page.show_back_button(shown=self._sides.narrow)

    # ------------------------------------------------------------------------------ dialogs
    def show_usage(self, session: SessionSummary) -> None:
        """Show the usage of a session."""
        from hermes_desktop.ui.chat.header.usage_dialog import show_usage  # noqa: PLC0415 - seldom

        showing = show_usage(self._services.figures, session, self._theme, self._window)
        self._slots.start(showing, doing=self.tr("Reading what the session used"))

    def show_keys(self) -> None:
        """Show the keys, the version, the way to the user guide, and copy the diagnostics."""
        dialog = KeysDialog(self._window)
        dialog.guide_wanted.connect(self.show_guide)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.diagnostics_wanted.connect(lambda: self._want_diagnostics(dialog))
        dialog.open()

    def show_guide(self) -> None:
        """Show the user guide, or bring it to the front."""
        from hermes_desktop.ui.shell.guide_dialog import GuideDialog  # noqa: PLC0415 - seldom

        if self._guide is None:
            self._guide = GuideDialog(self._theme, self._slots, self._window)
        self._guide.show()
        self._guide.raise_()
        self._guide.activateWindow()

    def close_guide(self) -> None:
        """Close the user guide: the program ends."""
        if self._guide is not None:
            self._guide.close()

    def _want_diagnostics(self, dialog: KeysDialog) -> None:
        copying = self._copy_diagnostics(dialog)
        self._slots.start(copying, doing=self.tr("Collecting the diagnostics"))

    async def _copy_diagnostics(self, dialog: KeysDialog) -> None:
        try:
            QGuiApplication.clipboard().setText(await self._services.diagnosis.text())
            words = self.tr("Copied. Paste it into your report.")
        except HermesError as error:
            words = str(error)
        if shiboken6.isValid(dialog):
            dialog.show_copied(words)

    # --------------------------------------------------------------------------------- back
    def escape(self) -> None:
        """Handle Esc: end the nearest of filter, reply, page over the list, and notice."""
        steps: tuple[Callable[[], bool], ...]
        if self._pages.on_sessions:
            steps = (self._pane.step_back, self._stop_reply, self._uncover_list, self._close_notice)
        elif self._settings.shows:
            steps = (self._settings.step_back, self._leave_page)
        else:
            steps = (self._gateway.page.step_back, self._leave_page)
        any(step() for step in steps)

    def _stop_reply(self) -> bool:
        session_id = self._page.current_session_id
        if session_id is None or not self._services.chat.is_running(session_id):
            return False
        stopping = self._services.chat.stop(session_id)
        self._slots.start(stopping, doing=self.tr("Stopping the reply"))
        return True

    def _uncover_list(self) -> bool:
        if covered := self._sides.right_covers:
            self.show_list()
        return covered

    def _close_notice(self) -> bool:
        if shown := self._notices.current is not None:
            self._notices.close_current()
        return shown

    def _leave_page(self) -> bool:
        self.show_list()
        return True
