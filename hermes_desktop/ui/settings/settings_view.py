"""The settings page: list of pages on the left, a page on the right, a bar for pending changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLineEdit,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.ui.settings.fields.field_row import FieldRow
from hermes_desktop.ui.settings.fields.parts import OTHER, SettingsContext
from hermes_desktop.ui.settings.page_table import PAGES, entry_of
from hermes_desktop.ui.settings.pages.page_list import LIST_WIDTH, NARROW_WIDTH, PageList
from hermes_desktop.ui.settings.pages.page_stack import PageStack
from hermes_desktop.ui.settings.saving.broken_file import ParseErrorNotice
from hermes_desktop.ui.settings.saving.draft import Draft
from hermes_desktop.ui.settings.saving.outcome_text import names
from hermes_desktop.ui.settings.saving.pending_bar import PendingBar
from hermes_desktop.ui.settings.saving.report_strip import ReportStrip
from hermes_desktop.ui.settings.saving.saving_controller import SavingController
from hermes_desktop.ui.settings.saving.settings_controller import SettingsController
from hermes_desktop.ui.settings.search_results import SearchResults, SettingsSearch, find_settings
from hermes_desktop.ui.settings.tab_order import focus_in, order_tabs
from hermes_desktop.ui.widgets.control_corrections import remove_icons, set_text_margins
from hermes_desktop.ui.widgets.section_parts import heading_label
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_12, SPACE_24

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QKeyEvent, QResizeEvent

    from hermes_desktop.core.clock import Clock
    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.core.events import Notice, NoticeCleared
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.ui.settings.fields.parts import SettingHit
    from hermes_desktop.ui.widgets.async_slots import AsyncSlots
    from hermes_desktop.ui.widgets.event_bridge import EventBridge
    from hermes_desktop.ui.widgets.theme import Theme

# ------------------------------------------------------------------------------
# The question before quitting while changes of settings are unsaved.

Answer = Literal["save", "leave", "neither"]


class UnsavedChangesDialog(QMessageBox):
    """A message box: save and quit, quit without saving, or cancel. Opened with ``open()``.

    Args:
        parent: The window.
        count: How many changes are pending.
    """

    def __init__(self, parent: QWidget, count: int) -> None:
        super().__init__(parent)
        self.setIcon(QMessageBox.Icon.Question)
        words = self.tr("1 change to the settings is not saved.")
        lost = self.tr("If you quit without saving, it is lost.")
        if count != 1:
            words = self.tr("{n} changes to the settings are not saved.").format(n=count)
            lost = self.tr("If you quit without saving, they are lost.")
        self.setText(words)
        self.setInformativeText(lost)
        self.save = self.addButton(self.tr("Save and quit"), QMessageBox.ButtonRole.AcceptRole)
        self.leave = self.addButton(
            self.tr("Quit without saving"), QMessageBox.ButtonRole.DestructiveRole
        )
        self.setEscapeButton(self.addButton(QMessageBox.StandardButton.Cancel))
        remove_icons(self)
        self.setDefaultButton(self.save)

    @property
    def answer(self) -> Answer:
        """The answer that belongs to the clicked button."""
        clicked = self.clickedButton()
        if clicked is self.save:
            return "save"
        return "leave" if clicked is self.leave else "neither"


_NARROW_BELOW = 760
BROKEN = "settings-broken"
"""Key of the notice that a settings file cannot be parsed."""
_ENTER = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})


class SettingsView(QWidget):
    """The frame around the pages. Main thread only.

    Args:
        services: Services of the page.
        slots: Runs coroutines started by clicks.
        bridge: The events as signals.
        theme: Colors.
        clock: For dates.
        restart_gateway: Restarts the hosted gateway, after confirmation if replies are running.
        first_page: The name of the page to begin with; "" for the first one.

    Signals:
        need_changed: Carries the unsaved changes in a few words, "" for none.
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
        self._name = entry_of(first_page).name
        self._wanted_key = ""
        self._managed = services.settings.managed
        self._told_managed = False
        self.draft = Draft(self)
        self.context = SettingsContext(
            *(services, slots, bridge, theme, clock, self.draft),
            restart_gateway,
            self.show_setting,
            self._report,
        )
        self.search = SettingsSearch()
        self.list = PageList(PAGES, theme)
        self.strip = ReportStrip(theme)
        self.broken = ParseErrorNotice(self.context)
        self.stack = PageStack(self.context)
        self.results = SearchResults(theme)
        self.bar = PendingBar(theme)
        settings, pending = services.settings, self.stack.pending
        self.controller = SettingsController(settings, slots, self.draft, pending, self)
        self.saving = SavingController(
            self.context,
            self.controller,
            self.stack,
            bar=self.bar,
            strip=self.strip,
            show_setting=self.show_setting,
            window=self,
        )
        self.stack.addWidget(self.results)
        self._arrange()
        self._connect(bridge)
        self.list.show_as_open(self._name)

    # --------------------------------------------------------------------------------- navigation

    @property
    def page_name(self) -> str:
        """The name of the open page."""
        return self._name

    @property
    def ready(self) -> bool:
        """Whether the settings were read and are visible."""
        return bool(self.draft.views)

    def come_forward(self, key: str = "") -> None:
        """Read what may have changed and set the focus, after the view was brought to the front."""
        self._wanted_key = key
        self.controller.load()
        focused = focus_in(self.window())
        if not key and (focused is None or not self.isAncestorOf(focused)):
            self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_page(self, name: str) -> None:
        """Show one of the pages."""
        self._name = entry_of(name).name
        self.list.show_as_open(self._name)
        if self.ready or self._name == OTHER:  # this page does not depend on the settings
            self.stack.show_page(self._name)

    def show_setting(self, key: str) -> None:
        """Show the page of a setting or variable and put the focus on it."""
        page = self.stack.page_with(key)
        if page:
            self.show_page(page)
            self.stack.focus(key)

    def undo(self) -> None:
        """Undo one step of pending edits and show the setting that it changed."""
        self._show_step(self.draft.undo())

    def redo(self) -> None:
        """Redo one step of pending edits."""
        self._show_step(self.draft.redo())

    def step_back(self) -> bool:
        """Handle Esc: end the search, reset a field, or close the notice; return False for none."""
        row = self._focused_row()
        if self.search.text():
            self.search.clear()
            self.show_page(self._name)
            return True
        if row is not None and row.key in self.draft.edits:
            self.draft.drop(row.key)
            return True
        if self.strip.can_close:
            self.strip.clear()
            return True
        return False

    @property
    def pending_count(self) -> int:
        """How many changes are unsaved."""
        return sum(self.stack.counts().values())

    async def may_leave(self) -> bool:
        """Ask what to do with unsaved changes; return whether the program may end then."""
        question = UnsavedChangesDialog(self.window(), self.pending_count)
        await self.context.slots.ask(question)
        answer = question.answer
        question.deleteLater()
        if answer == "save":
            await self.saving.save_all()
        return answer == "leave" or (answer == "save" and not self.pending_count)

    # ------------------------------------------------------------------------------- display

    def _read(self, changed: Sequence[str]) -> None:
        """Update the page after a read, and report settings that were changed elsewhere."""
        self.broken.hide()
        self.stack.set_locked(self._managed)
        if self._managed and not self._told_managed:
            self._told_managed = True
            whose = self.tr(
                "Your system or an administrator manages this home. You can view its settings."
            )
            title = self.tr("Settings cannot be changed here.")
            self.strip.keep("info", title, (self._managed, whose))
        if not self.search.text():
            self.show_page(self._name)
        if changed and self.draft.edits and not self.controller.busy:
            self.strip.tell(
                "info",
                self.tr("Changed by another program: {names}.").format(
                    names=names(changed, self.draft.views)
                ),
                (self.tr("Your changes are kept, but not saved yet."),),
            )
        if self._wanted_key:
            key, self._wanted_key = self._wanted_key, ""
            self.show_setting(key)

    def _report(self, applied: Applied) -> None:
        self.saving.report(applied)

    def _broken(self, error: HermesError) -> None:
        self.strip.clear()
        self.broken.show_error(error)
        focused = QApplication.focusWidget()
        if focused is not None and self.stack.isAncestorOf(focused):
            # A disabled field passes its focus on, and the page would scroll to its end.
            self.broken.retry.setFocus(Qt.FocusReason.OtherFocusReason)
        self.stack.set_locked(error.title)

    def _tell_pending(self) -> None:
        counts = self.stack.counts()
        total = self.pending_count
        faulty = len(self.draft.faulty) + self.stack.pending().faulty
        self.list.show_counts(counts)
        self.bar.show_count(total, faulty, len(self.stack.pending().secrets))
        self.need_changed.emit(f"{self.bar.words.text()}, not saved" if total else "")

    def _search(self, text: str) -> None:
        words = text.casefold().split()
        if not words:
            self.show_page(self._name)
            return
        hits = find_settings(text, self.draft.views.values(), self.stack.search(words))
        self.results.show_hits(hits, text)
        self.stack.setCurrentWidget(self.results)

    def _open_hit(self, hit: SettingHit) -> None:
        self.show_page(hit.page)
        self.stack.focus(hit.key)

    def _open_first(self) -> None:
        if self.stack.currentWidget() is self.results:
            self.results.choose_first()

    def _leave_search(self) -> None:
        """Handle the Down key: move the focus from the field to the hits or to the pages."""
        if self.stack.currentWidget() is self.results:
            self.results.list.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _show_step(self, key: str) -> None:
        if key:
            self.show_setting(key)

    def _focus_page(self) -> None:
        """Move the focus from the disappearing bar to the last field or the list of pages."""
        last = focus_in(self.stack)
        if last is None or not last.isEnabled() or not last.isVisibleTo(self):
            last = self.list
        last.setFocus(Qt.FocusReason.OtherFocusReason)

    def _focused_row(self) -> FieldRow | None:
        widget = focus_in(self)
        while widget is not None and widget is not self:
            if isinstance(widget, FieldRow):
                return widget
            widget = widget.parentWidget()
        return None

    def _connect(self, bridge: EventBridge) -> None:
        self.list.page_wanted.connect(self.show_page)
        self.search.textEdited.connect(self._search)
        self.search.textChanged.connect(lambda text: None if text else self._search(text))
        self.search.left_below.connect(self._leave_search)
        self.search.entered.connect(self._open_first)
        self.results.chosen.connect(self._open_hit)
        self.broken.retry_wanted.connect(self.controller.load)
        self.broken.versions_wanted.connect(lambda: self.show_page(OTHER))
        self.bar.focus_given_up.connect(self._focus_page)
        self.draft.edits_changed.connect(self._tell_pending)
        self.draft.loaded.connect(self._tell_pending)
        self.stack.pending_changed.connect(self._tell_pending)
        self.controller.read.connect(self._read)
        self.controller.broken.connect(self._broken)
        bridge.settings_changed.connect(self._settings_changed)
        bridge.notice.connect(self._noticed)
        bridge.notice_cleared.connect(self._noticed)
        self._theme.changed.connect(self.update)
        for keys, slot in (
            (QKeySequence("Ctrl+S"), self.saving.save),
            (QKeySequence("Ctrl+Shift+Z"), self.redo),
            (QKeySequence("Ctrl+F"), self.search.setFocus),
        ):
            shortcut = QShortcut(keys, self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    def _settings_changed(self, _: object) -> None:
        if self.isVisible():
            self.controller.load()

    def _noticed(self, notice: Notice | NoticeCleared) -> None:
        """Reload on a notice about a file that became invalid or valid: no setting changes then."""
        if notice.key == BROKEN and self.isVisible():
            self.controller.load()

    def _arrange(self) -> None:
        self.setAccessibleName(self.tr("Settings"))
        set_text_margins(self.search)
        self.search.setPlaceholderText(self.tr("Search settings"))
        self.search.setAccessibleName(self.tr("Search settings"))
        self.search.setClearButtonEnabled(True)
        self._side = QWidget()
        side = QVBoxLayout(self._side)
        side.setContentsMargins(SPACE_12, SPACE_24, SPACE_12, SPACE_12)
        side.setSpacing(SPACE_12)
        side.addWidget(heading_label(self.tr("Settings"), share=1.25))
        side.addWidget(self.search)
        side.addWidget(self.list, 1)
        self._side.setFixedWidth(LIST_WIDTH)
        right = QVBoxLayout()
        right.setContentsMargins(1, 0, 0, 0)
        right.setSpacing(0)
        right.addWidget(self.strip)
        right.addWidget(self.broken)
        right.addWidget(self.stack, 1)
        self.stack.setMinimumHeight(1)  # yields space to what must be read
        right.addWidget(self.bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._side)
        row.addLayout(right, 1)

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        """Restore the tab order, as pages are built late and grow.

        The page scrolls along when the focus moves into it; Qt scrolls only for moves within a
        page.
        """
        order_tabs(self)
        moved = super().focusNextPrevChild(next)
        self.stack.follow(focus_in(self))
        return moved

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the focus from a line to Save on Enter; a second Enter saves."""
        in_line = isinstance(self.focusWidget(), QLineEdit)
        if event.key() in _ENTER and in_line and self.bar.isVisible():
            self.bar.save.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            super().keyPressEvent(event)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = NARROW_WIDTH + SPACE_8 if self.width() < _NARROW_BELOW else LIST_WIDTH
        self._side.setFixedWidth(max(wide, self.list.least_width() + 2 * SPACE_12))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.palette.separator))
        side = self._side.geometry()
        x = side.left() - 1 if self.isRightToLeft() else side.right() + 1
        painter.drawLine(x, 0, x, self.height())
