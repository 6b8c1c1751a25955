"""The coordination of session list, conversation page and session commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from PySide6.QtCore import QPoint

    from hermes_desktop.state.records.records import SessionSummary
    from hermes_desktop.state.search.search_records import SearchHit
    from hermes_desktop.ui.chat.chat_page import ChatPage
    from hermes_desktop.ui.sessions.session_commands import SessionCommands
    from hermes_desktop.ui.sessions.session_pane import SessionPane
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots


class SessionCoordinator(QObject):
    """Determines the sessions of a command, and updates the page afterwards.

    Args:
        pane: The list with the search hits.
        page: The conversation.
        commands: Commands for sessions.
        slots: Runs coroutines.
        show: Shows a session, at one of its messages or at its end.

    Signals:
        usage_wanted: Show the usage of the session.
        undo_wanted: Undo the last turn of the session; carries its id.
        restore_wanted: Revert the latest undo in the session; carries its id.
    """

    usage_wanted = Signal(object)
    undo_wanted = Signal(str)
    restore_wanted = Signal(str)

    def __init__(
        self,
        pane: SessionPane,
        page: ChatPage,
        commands: SessionCommands,
        slots: AsyncSlots,
        show: Callable[[str, int | None], Awaitable[None]],
    ) -> None:
        super().__init__(pane)
        self._pane = pane
        self._page = page
        self._commands = commands
        self._slots = slots
        self._show = show
        self._closed_id = ""
        pane.menu_filling.connect(commands.fill_menu)
        pane.hit_chosen.connect(self._open_hit)
        page.menu_wanted.connect(self._open_menu)
        page.drafts_changed.connect(pane.show_drafts)
        commands.deleted.connect(self._deleted)
        commands.restored.connect(self._restored)

    @property
    def targets(self) -> tuple[SessionSummary, ...]:
        """The selected sessions, else the one that is shown."""
        shown = self._page.shown_session
        return self._pane.selected_sessions or (() if shown is None else (shown,))

    def archive(self) -> None:
        """Archive the target sessions, or restore them if all are archived."""
        self._commands.toggle_archived(self.targets)

    def delete(self) -> None:
        """Delete the target sessions after confirmation."""
        self._commands.delete(self.targets)

    def _open_menu(self, place: QPoint) -> None:
        """Open the menu in the page's header, for the session that is shown."""
        shown = self._page.shown_session
        if shown is not None:
            menu = QMenu(self._page)
            self._commands.fill_menu(menu, (shown,), self._page.header.begin_rename)
            menu.addSeparator()
            self._add_undo(menu, shown.id)
            menu.addAction(self.tr("Usage…"), lambda: self.usage_wanted.emit(shown))
            menu.aboutToHide.connect(menu.deleteLater)
            menu.popup(place)

    def _add_undo(self, menu: QMenu, session_id: str) -> None:
        undo = menu.addAction(self.tr("Undo the last turn…"))
        undo.setShortcut(QKeySequence("Ctrl+Alt+Z"))
        undo.setShortcutVisibleInContextMenu(True)
        undo.triggered.connect(lambda: self.undo_wanted.emit(session_id))
        restore = menu.addAction(self.tr("Restore the undone turn"))
        restore.triggered.connect(lambda: self.restore_wanted.emit(session_id))
        menu.addSeparator()

    def _open_hit(self, hit: SearchHit) -> None:
        showing = self._show(hit.tip_id, hit.message_id)
        self._slots.start(_finish(showing), doing=self.tr("Opening the message"))

    def _deleted(self, ids: frozenset[str]) -> None:
        """Close the shown session if it was deleted; no other session is opened in its place."""
        self._closed_id = ""
        if self._page.current_session_id in ids:
            self._closed_id = self._page.current_session_id or ""
            self._page.close_session()
            self._pane.show_as_open("")

    def _restored(self, ids: tuple[str, ...]) -> None:
        """Show the restored session if it was open when deleted, and no other one is open now."""
        if self._closed_id in ids and self._page.current_session_id is None:
            showing = self._show(self._closed_id, None)
            self._slots.start(_finish(showing), doing=self.tr("Opening the session"))
        self._closed_id = ""


async def _finish(showing: Awaitable[None]) -> None:
    await showing
