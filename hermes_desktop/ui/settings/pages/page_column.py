"""One page: a scrolling column of parts, at most 760 px wide."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QMargins, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget
from shiboken6 import isValid

from hermes_desktop.ui.settings.fields.parts import (
    Pending,
    SettingHit,
    SettingsContext,
    SettingsPart,
)
from hermes_desktop.ui.widgets.centered_column import SCROLL_BAR
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.section_parts import SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_16, SPACE_24

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.ui.settings.page_table import PageEntry

MOST_WIDTH = 760
_ROOM = 24
_FIRST_S, _SOME_S = 0.025, 0.012
"""Seconds spent on building a page before it is shown, and in each later step."""


class PageColumn(QScrollArea):
    """Joins the parts of a page; calls are passed on to all of them.

    Args:
        entry: The page.
        parts: The parts from top to bottom.
        context: Provides the colors.

    Signals:
        pending_changed: The pending changes of a part are different.
    """

    pending_changed = Signal()

    def __init__(
        self, entry: PageEntry, parts: Sequence[SettingsPart], context: SettingsContext
    ) -> None:
        super().__init__()
        self.entry = entry
        self.parts = tuple(parts)
        self._begun = False
        self.setAccessibleName(entry.title)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._arrange(context)
        make_slim(self, context.theme)
        self.verticalScrollBar().rangeChanged.connect(self._keep_bar_free)
        self._keep_bar_free()
        self._growing = list(self.parts)
        self._more = QTimer(self)
        self._more.setInterval(0)
        self._more.timeout.connect(partial(self._grow, _SOME_S))
        self._sought: QWidget | None = None
        self._look_again = QTimer(self)
        self._look_again.setSingleShot(True)
        self._look_again.setInterval(0)
        self._look_again.timeout.connect(self._scroll_to_sought)
        self.verticalScrollBar().rangeChanged.connect(self._follow_sought)
        self.verticalScrollBar().actionTriggered.connect(self._forget_sought)
        for part in self.parts:
            part.pending_changed.connect(self.pending_changed)
        self._grow(_FIRST_S)

    def begin(self) -> None:
        """Lay out the rows now that the page is visible, and let its parts load their data once."""
        self._give_room()
        if not self._begun:
            self._begun = True
            self._more.start()
            for part in self.parts:
                part.begin()

    @property
    def growing(self) -> bool:
        """Whether the page is not fully built yet."""
        return bool(self._growing)

    def finish(self) -> None:
        """Build the rest of the page now."""
        self._grow(math.inf)

    def _grow(self, for_s: float) -> None:
        """Build the page from the top, at least one step and for a limited time.

        So a long page appears immediately.
        """
        until = time.monotonic() + for_s
        while self._growing:
            if not self._growing[0].grow():
                del self._growing[0]
            if time.monotonic() >= until:
                break
        if not self._growing:
            self._more.stop()
        if self.isVisible():
            self._give_room()

    def _give_room(self) -> None:
        """Lay out new rows before they are painted.

        Otherwise each of the nested layouts notifies the next one by a separate event, and until
        the last one all rows are painted in the space of a few.
        """
        layout = self._holder.layout()
        if layout is None:
            return
        layout.activate()
        port = self.viewport()
        high = self._holder.heightForWidth(port.width())
        self._holder.resize(port.width(), max(high, port.height()))

    def search(self, words: Sequence[str]) -> list[SettingHit]:
        """Return hits of the parts, besides options."""
        return [hit for part in self.parts for hit in part.search(words)]

    def pending(self) -> Pending:
        """Return what the parts want saved, besides options."""
        found = [part.pending() for part in self.parts]
        secrets = {name: value for each in found for name, value in each.secrets.items()}
        changes = tuple(change for each in found for change in each.changes)
        return Pending(changes, secrets, sum(each.faulty for each in found))

    def revert(self) -> None:
        """Drop the pending changes of all parts."""
        for part in self.parts:
            part.revert()

    def saved(self, applied: Applied) -> None:
        """Notify all parts of a successful save."""
        for part in self.parts:
            part.saved(applied)

    def show_error(self, key: str, error: HermesError) -> bool:
        """Show an error at its field; return whether one of the parts has it."""
        return any(part.show_error(key, error) for part in self.parts)

    def focus_key(self, key: str) -> bool:
        """Put the focus on a setting or variable; return whether one of the parts has it."""
        return any(part.focus_key(key) for part in self.parts)

    def set_saving(self, *, saving: bool) -> None:
        """Notify all parts of the start or end of a save."""
        for part in self.parts:
            part.set_saving(saving=saving)

    def end(self) -> None:
        """Stop: the window is closing."""
        self._more.stop()
        self._look_again.stop()
        self._forget_sought()
        for part in self.parts:
            part.end()

    def set_locked(self, reason: str) -> None:
        """Prevent changes for the given reason; "" allows them again."""
        if reason:
            self._forget_sought()  # its field loses the focus; the page stays where it is
        for part in self.parts:
            part.set_locked(reason)

    def settle(self) -> None:
        """Build and lay out the whole page now: fields just unfolded have no position yet."""
        self.finish()
        layout = self._holder.layout()
        if layout is not None:
            layout.activate()

    def bring_into_sight(self, widget: QWidget) -> None:
        """Scroll to a widget, with a margin around it, and follow it until the user scrolls.

        New rows, notes under a field, or a bar that appears below change the layout only a moment
        later, in several steps.
        """
        self._sought = widget
        self._scroll_to_sought()
        self._look_again.start()

    def _follow_sought(self) -> None:
        if self._sought is not None:
            self._look_again.start()

    def _forget_sought(self) -> None:
        self._sought = None

    def _scroll_to_sought(self) -> None:
        widget = self._sought
        if widget is None or not isValid(widget):
            return
        top = widget.mapTo(self._holder, QPoint(0, 0)).y()
        bar = self.verticalScrollBar()
        view = self.viewport().height()
        if top - _ROOM < bar.value():
            bar.setValue(top - _ROOM)
        elif top + widget.height() + _ROOM > bar.value() + view:
            bar.setValue(min(top - _ROOM, top + widget.height() + _ROOM - view))

    def _keep_bar_free(self) -> None:
        """Reserve the width of the scroll bar, so that pages with and without one are aligned."""
        room = 0 if self.verticalScrollBar().maximum() else SCROLL_BAR
        left = self.isRightToLeft()
        self._middle.setContentsMargins(QMargins(room * left, 0, room * (not left), 0))

    def _arrange(self, context: SettingsContext) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_24)
        column.setSpacing(SPACE_16)
        head = QVBoxLayout()
        head.setSpacing(SPACE_4)
        head.addWidget(heading_label(self.entry.title, share=1.25))
        head.addWidget(SecondaryLabel(context.theme, self.entry.about))
        column.addLayout(head)
        for part in self.parts:
            column.addWidget(part)
        column.addStretch(1)
        content.setMaximumWidth(MOST_WIDTH + 2 * SPACE_8)
        holder = self._holder = QWidget()
        middle = self._middle = QHBoxLayout(holder)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.addStretch(1)
        middle.addWidget(content, 1000)
        middle.addStretch(1)
        self.setWidget(holder)
        for widget in (self, self.viewport(), holder, content):
            widget.setBackgroundRole(QPalette.ColorRole.Base)
        holder.setAutoFillBackground(True)
