"""The page of settings: pages at the left, one of them at the right, a bar for what is pending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeySequence, QPainter, QPaintEvent, QPalette, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from hermes_desktop.ui.gateway.section_parts import words_label
from hermes_desktop.ui.sessions.search_field import SearchField
from hermes_desktop.ui.settings.draft import Draft
from hermes_desktop.ui.settings.keeper import SettingsKeeper
from hermes_desktop.ui.settings.page_column import PageColumn
from hermes_desktop.ui.settings.page_content import make_parts
from hermes_desktop.ui.settings.page_list import LIST_WIDTH, NARROW_WIDTH, PageList
from hermes_desktop.ui.settings.page_table import PAGES, PageEntry, entry_of, page_of
from hermes_desktop.ui.settings.parts import Pending, SettingsContext
from hermes_desktop.ui.settings.pending_bar import PendingBar
from hermes_desktop.ui.theme import SPACE_8, SPACE_12, SPACE_24

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QResizeEvent

    from hermes_desktop.core.clock import Clock
    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.services.desktop_services import DesktopServices
    from hermes_desktop.services.settings_service import Applied
    from hermes_desktop.ui.async_slots import AsyncSlots
    from hermes_desktop.ui.event_bridge import EventBridge
    from hermes_desktop.ui.theme import Theme

_NARROW_BELOW = 760


class SettingsView(QWidget):
    """The frame around the pages. Main thread only.

    Args:
        services: What it works with.
        slots: Runs what clicks start.
        bridge: News.
        theme: Colours.
        clock: For dates.
        restart_gateway: Restarts ours, after asking where replies run.
        first_page: The name of the page to begin with; "" for the first one.

    Signals:
        need_changed: What is not saved yet, in a few words, "" for nothing.
    """

    need_changed = Signal(str)

    def __init__(  # noqa: PLR0913 - what the page needs
        self,
        *,
        services: DesktopServices,
        slots: AsyncSlots,
        bridge: EventBridge,
        theme: Theme,
        clock: Clock,
        restart_gateway: Callable[[], None],
        first_page: str = "",
    ) -> None:
        super().__init__()
        self._theme = theme
        self.draft = Draft(self)
        self.context = SettingsContext(
            services, slots, bridge, theme, clock, self.draft, restart_gateway, self.show_setting
        )
        self.keeper = SettingsKeeper(
            services.settings, slots, self.draft, self._pending_of_parts, self
        )
        self._columns: dict[str, PageColumn] = {}
        self._name = entry_of(first_page).name
        self._wanted_key = ""
        self.search = SearchField()
        self.list = PageList(PAGES, theme)
        self.stack = QStackedWidget()
        self.bar = PendingBar(theme)
        self._arrange()
        self._connect()
        self.list.show_as_open(self._name)

    # --------------------------------------------------------------------------------- ways

    @property
    def page_name(self) -> str:
        """The page that is open."""
        return self._name

    def come_forward(self, key: str = "") -> None:
        """The view is in front: read what may have changed, put the focus where one begins."""
        self._wanted_key = key
        self.keeper.load()
        if not key:
            self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_page(self, name: str) -> None:
        """Show one of the pages."""
        self._name = entry_of(name).name
        self.list.show_as_open(self._name)
        if self.draft.views:
            column = self._column(entry_of(self._name))
            self.stack.setCurrentWidget(column)
            column.begin()

    def show_setting(self, key: str) -> None:
        """Show the page of a setting or variable and put the focus on it."""
        view = self.draft.views.get(key)
        names = [page_of(view.option)] if view is not None else [entry.name for entry in PAGES]
        for name in names:
            if self._column(entry_of(name)).focus_key(key):
                self.show_page(name)
                self._columns[name].focus_key(key)  # now that it can be seen
                return

    def undo(self) -> None:
        """One step back over pending edits; what it changed comes into sight."""
        self._after_step(self.draft.undo())

    def redo(self) -> None:
        """One step forward."""
        self._after_step(self.draft.redo())

    def step_back(self) -> bool:
        """What Esc does here: end the search; False when there is nothing to undo."""
        searched = bool(self.search.text())
        self.search.clear()
        return searched

    # ------------------------------------------------------------------------------- pending

    def _pending_of_parts(self) -> Pending:
        found = [column.pending() for column in self._columns.values()]
        secrets = {name: value for each in found for name, value in each.secrets.items()}
        changes = tuple(change for each in found for change in each.changes)
        return Pending(changes, secrets, sum(each.faulty for each in found))

    def _tell_pending(self) -> None:
        counts = {name: len(column.pending()) for name, column in self._columns.items()}
        for key in self.draft.edits:
            name = page_of(self.draft.views[key].option)
            counts[name] = counts.get(name, 0) + 1
        total = sum(counts.values())
        faulty = len(self.draft.faulty) + self._pending_of_parts().faulty
        self.list.show_counts(counts)
        self.bar.show_count(total, faulty)
        self.need_changed.emit(f"{self.bar.words.text()}, not saved" if total else "")

    def discard(self) -> None:
        """Forget everything that is pending."""
        for column in self._columns.values():
            column.revert()
        self.draft.discard()

    def _save(self) -> None:
        self.keeper.save()

    def _saved(self, applied: Applied, _: object) -> None:
        for column in self._columns.values():
            column.saved(applied)

    def _refused(self, key: str, error: HermesError) -> None:
        any(column.show_error(key, error) for column in self._columns.values())

    # ------------------------------------------------------------------------------- showing

    def _read(self, _: list[str]) -> None:
        self.show_page(self._name)
        if self._wanted_key:
            key, self._wanted_key = self._wanted_key, ""
            self.show_setting(key)

    def _after_step(self, key: str) -> None:
        if key:
            self.show_setting(key)

    def _column(self, entry: PageEntry) -> PageColumn:
        """The page, built when it is first needed."""
        column = self._columns.get(entry.name)
        if column is None:
            column = PageColumn(entry, make_parts(entry, self.context), self.context)
            column.pending_changed.connect(self._tell_pending)
            self._columns[entry.name] = column
            self.stack.addWidget(column)
        return column

    def _connect(self) -> None:
        self.list.page_wanted.connect(self.show_page)
        self.draft.edits_changed.connect(self._tell_pending)
        self.bar.save_wanted.connect(self._save)
        self.bar.discard_wanted.connect(self.discard)
        self.keeper.busy_changed.connect(self.bar.set_busy)
        self.keeper.read.connect(self._read)
        self.keeper.saved.connect(self._saved)
        self.keeper.refused.connect(self._refused)
        self._theme.changed.connect(self.update)
        for keys, slot in (
            (QKeySequence("Ctrl+S"), self._save),
            (QKeySequence("Ctrl+Shift+Z"), self.redo),
            (QKeySequence("Ctrl+F"), self.search.setFocus),
        ):
            shortcut = QShortcut(keys, self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    def _arrange(self) -> None:
        self.setAccessibleName(self.tr("Settings"))
        self.search.setPlaceholderText(self.tr("Search settings"))
        self.search.setAccessibleName(self.tr("Search settings"))
        self.search.setClearButtonEnabled(True)
        self._side = QWidget()
        side = QVBoxLayout(self._side)
        side.setContentsMargins(SPACE_12, SPACE_24, SPACE_12, SPACE_12)
        side.setSpacing(SPACE_12)
        side.addWidget(words_label(self.tr("Settings"), share=1.25))
        side.addWidget(self.search)
        side.addWidget(self.list, 1)
        self._side.setFixedWidth(LIST_WIDTH)
        right = QVBoxLayout()
        right.setContentsMargins(1, 0, 0, 0)
        right.setSpacing(0)
        right.addWidget(self.stack, 1)
        right.addWidget(self.bar)
        self.stack.setBackgroundRole(QPalette.ColorRole.Base)
        self.stack.setAutoFillBackground(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._side)
        row.addLayout(right, 1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < _NARROW_BELOW
        self._side.setFixedWidth(NARROW_WIDTH + SPACE_8 if narrow else LIST_WIDTH)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.palette.separator))
        side = self._side.geometry()
        x = side.left() - 1 if self.isRightToLeft() else side.right() + 1
        painter.drawLine(x, 0, x, self.height())
