"""The stack of opened pages, with calls that are passed on to all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QStackedWidget, QWidget

from hermes_desktop.ui.settings.fields.options_part import OptionsPart
from hermes_desktop.ui.settings.fields.parts import Pending
from hermes_desktop.ui.settings.page_table import (
    PAGES,
    SECTION_PAGES,
    SECTION_TITLES,
    entry_of,
    page_of,
)
from hermes_desktop.ui.settings.pages.page_column import PageColumn
from hermes_desktop.ui.settings.tab_order import focus_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.ui.settings.fields.parts import SettingHit, SettingsContext, SettingsPart
    from hermes_desktop.ui.settings.page_table import PageEntry

# ------------------------------------------------------------------------------
# The content of a page: its own parts around blocks generated from the declared options.


def make_parts(entry: PageEntry, context: SettingsContext) -> list[SettingsPart]:
    """Create all parts of a page, from top to bottom."""
    sections: dict[str, list[SettingView]] = {name: [] for name in SECTION_PAGES}
    for view in context.draft.views.values():
        section = view.option.section
        if page_of(view.option) == entry.name and section not in entry.shown_by_parts:
            sections.setdefault(section, []).append(view)
    generated: list[SettingsPart] = []
    for name, found in sections.items():
        if found:
            before = entry.before.get(name)
            generated += [before(context)] if before is not None else []
            generated.append(OptionsPart(context, SECTION_TITLES.get(name, name), found))
    above = [make(context) for make in entry.above]
    return [*above, *generated, *(make(context) for make in entry.below)]


class PageStack(QStackedWidget):
    """Builds a page when it is first shown. Main thread only.

    Args:
        context: The context of every part.

    Signals:
        pending_changed: The pending changes of the parts are different.
    """

    pending_changed = Signal()

    def __init__(self, context: SettingsContext) -> None:
        super().__init__()
        self._context = context
        self._columns: dict[str, PageColumn] = {}
        self._locked = ""
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)

    def show_page(self, name: str) -> None:
        """Bring a page to the front; the settings must have been read."""
        column = self.column(name)
        self.setCurrentWidget(column)
        column.begin()

    def column(self, name: str) -> PageColumn:
        """Return a page, built if necessary."""
        entry = entry_of(name)
        column = self._columns.get(entry.name)
        if column is None:
            column = PageColumn(entry, make_parts(entry, self._context), self._context)
            column.pending_changed.connect(self.pending_changed)
            if self._locked:
                column.set_locked(self._locked)
            self._columns[entry.name] = column
            self.addWidget(column)
        return column

    def page_with(self, key: str) -> str:
        """Return the name of the page that has a setting or variable, "" for none."""
        view = self._context.draft.views.get(key)
        if view is not None:
            return page_of(view.option)
        names = [entry.name for entry in PAGES]
        return next((name for name in names if self.column(name).focus_key(key)), "")

    def focus(self, key: str) -> None:
        """Put the focus on a setting of the page in front, and scroll to its whole row."""
        column = self.currentWidget()
        if not isinstance(column, PageColumn):
            return
        column.finish()  # rows built above the field later would move it away
        if not column.focus_key(key):
            return
        column.settle()
        self.follow(focus_in(column))

    def follow(self, focused: QWidget | None) -> None:
        """Scroll to the focused widget, if it is on the page in front."""
        column = self.currentWidget()
        if focused is None or not isinstance(column, PageColumn):
            return
        if column.isAncestorOf(focused):
            column.bring_into_sight(_row_of(focused))

    # ------------------------------------------------------------------------ all pages at once

    def pending(self) -> Pending:
        """Return what the parts want saved, besides options."""
        found = [column.pending() for column in self._columns.values()]
        secrets = {name: value for each in found for name, value in each.secrets.items()}
        changes = tuple(change for each in found for change in each.changes)
        return Pending(changes, secrets, sum(each.faulty for each in found))

    def counts(self) -> dict[str, int]:
        """Return how many changes are pending, by page."""
        counts = {name: len(column.pending()) for name, column in self._columns.items()}
        draft = self._context.draft
        for key in draft.edits:
            name = page_of(draft.views[key].option)
            counts[name] = counts.get(name, 0) + 1
        return counts

    def search(self, words: Sequence[str]) -> list[SettingHit]:
        """Return hits of the parts of opened pages, besides options."""
        return [hit for column in self._columns.values() for hit in column.search(words)]

    def revert(self) -> None:
        """Drop the pending changes of all parts."""
        for column in self._columns.values():
            column.revert()

    def saved(self, applied: Applied) -> None:
        """Notify all parts of a successful save."""
        for column in self._columns.values():
            column.saved(applied)

    def show_error(self, key: str, error: HermesError) -> bool:
        """Show an error at its field, on any page; without a key at each part that it concerns."""
        if not key:
            return any(column.show_error(key, error) for column in self._columns.values())
        page = self.page_with(key)
        return bool(page) and self.column(page).show_error(key, error)

    def set_saving(self, saving: bool) -> None:  # noqa: FBT001 - a slot of one meaning
        """Notify all parts of the start or end of a save."""
        for column in self._columns.values():
            column.set_saving(saving=saving)

    def end(self) -> None:
        """Stop: the window is closing."""
        for column in self._columns.values():
            column.end()

    def set_locked(self, reason: str) -> None:
        """Prevent changes and show the reason; "" allows changes again."""
        if reason != self._locked:
            self._locked = reason
            for column in self._columns.values():
                column.set_locked(reason)


def _row_of(widget: QWidget) -> QWidget:
    """Return the field row around a widget, so that its notes are scrolled into view, too."""
    parent = widget.parentWidget()
    while parent is not None and parent.focusPolicy() == Qt.FocusPolicy.NoFocus:
        if parent.accessibleName() and parent.height() < _TALL:
            return parent
        parent = parent.parentWidget()
    return widget


_TALL = 300
