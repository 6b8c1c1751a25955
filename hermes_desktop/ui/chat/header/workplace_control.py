"""The controller of the header's folder and of the chip beside it."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from hermes_desktop.core.errors import ConfigError, HermesError, NotFoundError, StateError
from hermes_desktop.services.sessions.working_folder import links_note
from hermes_desktop.ui.chat.header.workplace_text import folder_note
from hermes_desktop.ui.widgets.control_corrections import remove_icons

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_desktop.core.files.hard_links import OutsideLinks
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.services.sessions.workplace import Workplace
    from hermes_desktop.ui.chat.header.chat_header import ChatHeader
    from hermes_desktop.ui.chat.shown_session import ShownSession
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots


class WorkplaceController(QObject):
    """Shows where the shown session works and how its commands are held, and changes the folder.

    Attributes:
        place: What is shown; None before the first look.
        note: What has to be done about the folder; "" for nothing.

    Args:
        services: Where folders are looked up and changed.
        header: Has the widgets.
        slots: Runs looking and changing.
        current: Returns the session that the page shows.
        open_address: Opens a folder, given as an address.

    Signals:
        changed: Another folder, or another state of it, is shown.
        approvals_off: Whether the settings switch approvals off in every chat.
    """

    changed = Signal()
    approvals_off = Signal(bool)

    def __init__(
        self,
        services: DesktopServices,
        header: ChatHeader,
        slots: AsyncSlots,
        *,
        current: Callable[[], ShownSession],
        open_address: Callable[[str], object],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._places = services.workplaces
        self._db = services.db
        self._state = services.window_state
        self._watch = services.watch
        self._header = header
        self._slots = slots
        self._current = current
        self._open_address = open_address
        self._shown: ShownSession | None = None
        self._picked = ""
        self._looks = 0
        self._checking: threading.Event | None = None
        self.place: Workplace | None = None
        self.note = ""
        header.folder.picking.connect(self._pick)
        header.folder.picked.connect(self._take)
        header.folder.opening.connect(self._open)
        header.folder.canceled.connect(self._cancel)
        header.folder.listing.connect(self._list_recent)

    def follow(self) -> None:
        """Look again, after another session was shown or something may have changed."""
        shown = self._current()
        if shown is not self._shown:
            self._shown, self._picked = shown, ""
            self._cancel()
            self._say("")
        self._slots.start(self.look(), doing=self.tr("Looking at the working folder"))

    async def look(self) -> None:
        """Look at the folder and at how commands are held; of several looks, the latest counts."""
        self._looks += 1
        number, shown = self._looks, self._current()
        self.approvals_off.emit(await self._places.approvals_are_off())
        if shown.nothing:
            return
        root = shown.summary.root_id if shown.summary is not None else ""
        try:
            place = await self._look_at(shown)
            if number == self._looks and shown is self._current():
                self._take_place(place)
            hold = await self._places.hold(shown.id, root)
        except (ConfigError, NotFoundError):
            return  # broken settings, a chat without a row yet or one that is gone: the page says
        if number == self._looks and shown is self._current():
            self._header.hold.set_hold(hold)

    async def folder_for_new(self) -> str:
        """Return the folder of the new chat on the page; "" leaves it to the settings."""
        try:
            found = await self._places.look(None, picked=self._picked, kept=self._state.folder)
        except HermesError:
            return self._picked  # the turn reports the broken settings
        return found.folder

    async def _look_at(self, shown: ShownSession) -> Workplace:
        if shown.id is None:
            return await self._places.look(None, picked=self._picked, kept=self._state.folder)
        return await self._places.look(shown.id)

    def _take_place(self, place: Workplace) -> None:
        shown, self.place = self._current(), place
        stored = shown.id is None or shown.summary is not None
        if self._checking is None:
            self._header.folder.set_place(place, changeable=stored and self._db.condition.writable)
        self._say(folder_note(place))
        self.changed.emit()

    def _say(self, note: str) -> None:
        if note != self.note:
            self.note = note
            self.changed.emit()

    # ------------------------------------------------------------------------------- actions
    def _pick(self) -> None:
        self._slots.start(self._ask(), doing=self.tr("Choosing a folder"))

    def _take(self, folder: str) -> None:
        change = self.change(folder, self._current())
        self._slots.start(change, doing=self.tr("Changing the folder"))

    def _open(self) -> None:
        self._slots.start(self._show_folder(), doing=self.tr("Opening the folder"))

    def _list_recent(self) -> None:
        self._slots.start(self._show_recent(), doing=self.tr("Looking for recent folders"))

    async def _show_recent(self) -> None:
        with contextlib.suppress(StateError):  # the menu has the other entries
            self._header.folder.set_recent(await self._places.recent())

    def _cancel(self) -> None:
        if self._checking is not None:
            self._checking.set()

    async def _ask(self) -> None:
        """Let the user choose in the system's dialog."""
        shown, place = self._current(), self.place
        is_there = place is not None and place.condition in {"ready", "unwritable"}
        start = place.folder if place is not None and is_there else str(Path.home())
        title = self.tr("Folder for this session")
        dialog = QFileDialog(self._header.window(), title, start)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        try:
            accepted = await self._slots.ask(dialog)
            chosen = dialog.selectedFiles() if accepted else []
        finally:
            dialog.deleteLater()
        if chosen:
            await self.change(chosen[0], shown)

    async def change(self, folder: str, shown: ShownSession) -> None:
        """Let a session work in a folder, from its next message on.

        Args:
            folder: The folder.
            shown: The session.

        Raises:
            UsageError: The assistant does not work there; nothing was changed.
            NotFoundError: The session is gone.
        """
        if self.place is not None and folder == self.place.usual:
            await self._places.make_usual()
        path = await self._places.check(folder)
        if not await self._accepts_links(path):
            return
        if shown.id is None:
            if shown is self._current():
                self._picked = path
                self._state.keep_folder(path)
        else:
            await self._places.choose(shown.id, path)
            self._watch.check_now()
        await self.look()

    async def _accepts_links(self, path: str) -> bool:
        """Look for files with names outside the folder; return whether it is used."""
        self._cancel()
        ending = self._checking = threading.Event()
        self._header.folder.set_checking(path)
        try:
            found = await self._places.links(path, ending.is_set)
        finally:
            if self._checking is ending:
                self._checking = None
                self._header.folder.set_checking("")
                if self.place is not None:
                    self._take_place(self.place)
        if ending.is_set():
            return False
        return not found.count or await self._asks_about(path, found)

    async def _asks_about(self, path: str, found: OutsideLinks) -> bool:
        dialog = LinksQuestion(links_note(Path(path), found), self._header.window())
        try:
            await self._slots.ask(dialog)
            return dialog.clickedButton() is dialog.use_button
        finally:
            dialog.deleteLater()

    async def _show_folder(self) -> None:
        place = self.place
        if place is None or not place.folder:
            return
        if place.condition == "new":
            await self._places.make_usual()
            await self.look()
        self._open_address(QUrl.fromLocalFile(place.folder).toString())


class LinksQuestion(QMessageBox):
    """Asks whether to use a folder whose files also have names outside it."""

    def __init__(self, words: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setIcon(QMessageBox.Icon.Warning)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(self.tr("Changes here would reach files elsewhere"))
        self.setInformativeText(words)
        self.use_button = self.addButton(
            self.tr("Use this folder"), QMessageBox.ButtonRole.AcceptRole
        )
        cancel = self.addButton(QMessageBox.StandardButton.Cancel)
        remove_icons(self)
        self.setDefaultButton(cancel)
        self.setEscapeButton(cancel)
