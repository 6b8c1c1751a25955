"""The widgets for the working folder and for how commands are held, in the page's header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QMenu, QSizePolicy, QToolButton, QWidget
from typing_extensions import override

from hermes_desktop.ui.chat.header.workplace_text import (
    folder_label,
    folder_tip,
    hold_label,
    hold_mood,
    hold_tip,
    short_name,
    shown_path,
)
from hermes_desktop.ui.widgets.look import SMALL, scaled, tint
from hermes_desktop.ui.widgets.resource_files import tinted_icon
from hermes_desktop.ui.widgets.theme import RADIUS_BUTTON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_desktop.services.agents.command_hold import CommandHold
    from hermes_desktop.services.sessions.workplace import Workplace
    from hermes_desktop.ui.widgets.theme import Theme

_WIDEST = 180
_ICON = 16


class FolderButton(QToolButton):
    """The short name of the working folder; a click opens the menu that changes it.

    Signals:
        picking: Choose another folder in a dialog.
        opening: Show the folder in the file manager.
        picked: This folder was chosen in the menu.
        canceled: Stop checking the chosen folder.
        listing: The menu opens: pass the recent folders to :meth:`set_recent`.
    """

    picking = Signal()
    opening = Signal()
    picked = Signal(str)
    canceled = Signal()
    listing = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._place: Workplace | None = None
        self._checking = self._changeable = False
        self._recent: tuple[str, ...] = ()
        self._others: list[QAction] = []
        self.setAutoRaise(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(_ICON, _ICON))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFont(scaled(self.font(), SMALL))
        self.setMenu(QMenu(self))
        self.menu().setToolTipsVisible(True)
        self.menu().aboutToShow.connect(self.listing)
        theme.changed.connect(self._dress)
        self.hide()

    def set_place(self, place: Workplace, *, changeable: bool) -> None:
        """Show a folder.

        Args:
            place: The folder.
            changeable: Whether another one may be chosen now.
        """
        self._place, self._changeable = place, changeable
        self._fill(place)
        self.setVisible(True)
        self._dress()

    def set_recent(self, folders: Sequence[str]) -> None:
        """Offer the folders of the latest sessions, at the end of the menu that is open."""
        if tuple(folders) != self._recent:
            self._recent = tuple(folders)
            if self._place is not None and not self._checking:
                self._fill_others(self._place)

    def set_checking(self, folder: str) -> None:
        """Show that a chosen folder is being checked; "" when that is over."""
        self._checking = bool(folder)
        if folder:
            menu = self.menu()
            menu.clear()
            self._others = []
            menu.addAction(self.tr("Stop checking {name}").format(name=_plain(short_name(folder))),
                           self.canceled.emit)  # fmt: skip
        self._dress()

    def _fill(self, place: Workplace) -> None:
        menu, changeable = self.menu(), self._changeable
        menu.clear()
        self._others = []
        shown = place.folder or place.imported
        heading = menu.addAction(_plain(shown_path(shown)))
        heading.setEnabled(False)
        menu.addSeparator()
        if place.imported:
            use = menu.addAction(
                self.tr("Use this folder"), lambda: self.picked.emit(place.imported)
            )
            use.setEnabled(changeable)
        change = menu.addAction(self.tr("Change folder…"), self.picking.emit)
        change.setEnabled(changeable)
        opening = menu.addAction(self.tr("Open folder"), self.opening.emit)
        opening.setEnabled(place.condition in {"ready", "new", "unwritable"})
        self._fill_others(place)

    def _fill_others(self, place: Workplace) -> None:
        """Fill the end of the menu; what is above stays, as the menu may be open."""
        menu = self.menu()
        for old in self._others:
            menu.removeAction(old)
            old.deleteLater()
        self._others = []
        others = dict.fromkeys((place.usual, *self._recent))
        others.pop(place.folder, None)
        if not self._changeable or not others:
            return
        self._others.append(menu.addSeparator())
        for each in others:
            action = menu.addAction(_plain(shown_path(each)))
            action.setToolTip(each)
            action.triggered.connect(lambda _=False, path=each: self.picked.emit(path))
            self._others.append(action)

    def _dress(self) -> None:
        colours, place = self._theme.palette, self._place
        if place is None:
            return
        sound = place.condition in {"ready", "new"}
        colour = colours.secondary_text if sound else colours.warning
        text = self.tr("Checking…") if self._checking else folder_label(place)
        metrics = self.fontMetrics()
        self.setText(_plain(metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, _WIDEST)))
        self.setIcon(tinted_icon("folder", colour))
        tint(self, colour)
        tip = folder_tip(place)
        self.setToolTip(tip)
        self.setAccessibleName(
            self.tr("Working folder: {path}").format(path=place.folder)
            if place.folder
            else self.tr("Working folder: none is chosen")
        )
        self.setAccessibleDescription(tip)


class HoldChip(QLabel):
    """How commands are held, in a few words with a border."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._hold: CommandHold | None = None
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(scaled(self.font(), SMALL))
        self.setContentsMargins(7, 2, 7, 2)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._dress)
        self.hide()

    def set_hold(self, hold: CommandHold) -> None:
        """Show how commands are held."""
        self._hold = hold
        self.setText(self.tr(hold_label(hold)))
        self.setToolTip(hold_tip(hold))
        self.setAccessibleName(self.tr("Commands: {state}").format(state=hold_label(hold)))
        self.setAccessibleDescription(hold_tip(hold))
        self.setVisible(True)
        self._dress()

    def _colour(self) -> str:
        colours = self._theme.palette
        mood = hold_mood(self._hold) if self._hold is not None else "plain"
        return {"ok": colours.ok, "warning": colours.warning}.get(mood, colours.secondary_text)

    def _dress(self) -> None:
        tint(self, self._colour())
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QColor(self._colour())
        line.setAlphaF(0.45)
        painter.setPen(QPen(line, 1.0))
        place = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(place, RADIUS_BUTTON, RADIUS_BUTTON)
        painter.end()
        super().paintEvent(event)


def _plain(text: str) -> str:
    """Keep ampersands from becoming key hints."""
    return text.replace("&", "&&")
