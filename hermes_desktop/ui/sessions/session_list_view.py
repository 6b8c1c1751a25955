"""The session list view: fixed row heights; selection and scroll position survive changes."""

from collections.abc import Sequence

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QApplication,
    QFrame,
    QHeaderView,
    QMenu,
    QTableView,
    QWidget,
)
from typing_extensions import override

from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.sessions.session_delegate import SessionDelegate, heading_height, row_height
from hermes_desktop.ui.sessions.session_list_model import SessionListModel
from hermes_desktop.ui.widgets.scroll_bars import make_slim
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.day_words import DateFormatter

_KEY_REPEAT_MS = 60
"""While an arrow key is held, sessions are opened only where it rests this long."""


class SessionListView(QTableView):
    """A view of a :class:`SessionListModel`.

    Signals:
        chosen: The user selected a session; holds its summary.
        confirmed: Enter was pressed on a session, or it was double-clicked.
        typed: Text was typed that belongs in the filter.
        released: The context menu or the editor is closed; until then rows should stay.
        menu_filling: A menu, its sessions, and a callable that starts a rename; fill it now.
        left_above: Up was pressed on the first session.
        left_below: Down was pressed on the last one.
    """

    chosen = Signal(object)
    confirmed = Signal()
    typed = Signal(str)
    released = Signal()
    menu_filling = Signal(object, object, object)
    left_above = Signal()
    left_below = Signal()

    def __init__(
        self, model: SessionListModel, theme: Theme, *, name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._told = ""
        self._applying = False
        self._menu: QMenu | None = None
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._tell_chosen)
        self.setModel(model)
        self._delegate = SessionDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self._set_up(name)
        make_slim(self, theme)
        theme.changed.connect(self._colour)
        self._colour()

    @property
    def menu_open(self) -> bool:
        """Whether a context menu is open over a row, which must not move then."""
        return self._menu is not None

    @property
    def is_editing(self) -> bool:
        """Whether a title is being edited in a row."""
        return self.state() == QAbstractItemView.State.EditingState

    @property
    def choosing(self) -> bool:
        """Whether the user has selected a session that was not reported yet."""
        return self._settle.isActive()

    @property
    def selected_session(self) -> SessionSummary | None:
        """The selected session; the cursor alone, which Qt sets with the focus, selects none."""
        index = self.currentIndex()
        selected = self.selectionModel().isSelected(index)
        return self._model.summary_at(index) if selected else None

    @property
    def selected_sessions(self) -> tuple[SessionSummary, ...]:
        """All selected sessions, in the order of the list."""
        rows = sorted(self.selectionModel().selectedRows(), key=lambda index: index.row())
        found = (self._model.summary_at(index) for index in rows)
        return tuple(summary for summary in found if summary is not None)

    def show_rows(
        self, rows: Sequence[SessionSummary], words: DateFormatter, *, total: int
    ) -> None:
        """Replace the rows; selection and scroll position stay with their sessions."""
        selected = self.selected_sessions
        anchor = self._anchor()
        self._applying = True
        try:
            moved = self._model.show_rows(rows, words, total=total)
            self._fit_heights()
            self._restore_anchor(anchor, moved)
            self._restore_choice(selected)
        finally:
            self._applying = False

    def select_session(self, session_id: str) -> bool:
        """Select a session without a signal; return False if it is not listed."""
        row = self._model.row_of_session(session_id)
        index = self._model.index(row, 0) if row >= 0 else QModelIndex()
        before, self._applying = self._applying, True
        self.selectionModel().setCurrentIndex(
            index, QItemSelectionModel.SelectionFlag.ClearAndSelect
        )
        self._applying = before
        summary = self._model.summary_at(index)
        self._told = summary.root_id if summary is not None else ""
        return summary is not None

    def clear_choice(self) -> None:
        """Clear the selection without a signal."""
        before, self._applying = self._applying, True
        self.selectionModel().clear()
        self._applying = before
        self._told = ""

    def show_stale(self, *, stale: bool) -> None:
        """Gray the rows while newer ones are pending; they stay usable."""
        self._delegate.stale = stale
        self.viewport().update()

    def rename_selected(self) -> None:
        """Edit the selected title in place."""
        if self.selected_session is not None:
            self.edit(self.currentIndex())

    def focus_first(self) -> None:
        """Focus the list; with nothing selected, select the first session."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if self.selected_session is None:
            self._step_from(-1, 1)

    def focus_last(self) -> None:
        """Focus the list and select the last session."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._step_from(self._model.rowCount(), -1)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, plain = event.key(), not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.selected_session is not None:
            self._tell_now()
            self.confirmed.emit()
        elif plain and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._step_from(self._selected_row(), 1 if key == Qt.Key.Key_Down else -1)
        elif plain and key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            at_home = key == Qt.Key.Key_Home
            self._step_from(-1 if at_home else self._model.rowCount(), 1 if at_home else -1)
        elif self._is_typing(event):
            self.typed.emit(event.text())
        else:
            super().keyPressEvent(event)

    @override
    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        super().closeEditor(editor, hint)
        self.released.emit()

    @override
    def currentChanged(
        self,
        current: QModelIndex | QPersistentModelIndex,
        previous: QModelIndex | QPersistentModelIndex,
    ) -> None:
        super().currentChanged(current, previous)
        if self._applying or self._model.summary_at(current) is None:
            return
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        self._settle.start(0 if by_mouse else _KEY_REPEAT_MS)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Ignore the right button, which opens the menu of a row but does not select it."""
        if event.button() == Qt.MouseButton.RightButton:
            event.accept()
        else:
            super().mousePressEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        index = self.currentIndex() if by_key else self.indexAt(event.pos())
        self.open_menu_for(index, None if by_key else event.globalPos())

    def open_menu_for(self, index: QModelIndex, place: QPoint | None = None) -> None:
        """Open the menu of a row, or of all selected ones if it is among them.

        Rows do not move until it is closed.
        """
        summary = self._model.summary_at(index)
        if summary is None:
            return
        selected = self.selected_sessions
        targets = selected if summary in selected else (summary,)
        menu = QMenu(self)
        kept = QPersistentModelIndex(index)
        self.menu_filling.emit(menu, targets, lambda: self.edit(kept))
        if menu.isEmpty():
            menu.deleteLater()
            return
        self._menu = menu
        menu.aboutToHide.connect(self._menu_gone)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place if place is not None else self._middle_of(index))

    def _colour(self) -> None:
        """Hide the view's own selection color; the delegate draws the selection."""
        palette = QPalette(QApplication.palette())
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            palette.setColor(group, QPalette.ColorRole.Highlight, palette.base().color())
        self.setPalette(palette)
        self.viewport().update()

    def _set_up(self, name: str) -> None:
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._take_font()
        self.doubleClicked.connect(lambda _: self.confirmed.emit())

    def _tell_now(self) -> None:
        self._settle.stop()
        self._tell_chosen()

    def _tell_chosen(self) -> None:
        summary = self.selected_session
        if len(self.selected_sessions) > 1:
            return  # a multiple selection is for commands, not for reading
        if summary is not None and summary.root_id != self._told:
            self._told = summary.root_id
            self.chosen.emit(summary)

    def _selected_row(self) -> int:
        return self.currentIndex().row() if self.selected_session is not None else -1

    def _step_from(self, row: int, step: int) -> None:
        """Select the next session in a direction, skipping headings."""
        row += step
        while 0 <= row < self._model.rowCount():
            if not self._model.is_heading(row):
                self.setCurrentIndex(self._model.index(row, 0))
                self._settle.start(_KEY_REPEAT_MS)  # also when the cursor was there already
                return
            row += step
        if step < 0:
            self.scrollToTop()
            self.left_above.emit()
        else:
            self.left_below.emit()

    def _restore_choice(self, before: Sequence[SessionSummary]) -> None:
        """Restore the selection; Qt would select a neighbor of a removed row instead."""
        wanted = {each.root_id for each in before}
        if {each.root_id for each in self.selected_sessions} == wanted:
            return
        if len(before) == 1 and self.select_session(before[0].root_id):
            return
        self.clear_choice()
        flags = QItemSelectionModel.SelectionFlag.Select
        for root_id in wanted:
            row = self._model.row_of_session(root_id)
            if row >= 0:
                self.selectionModel().select(self._model.index(row, 0), flags)

    def _anchor(self) -> list[tuple[str, int]]:
        """Return the visible sessions, with their distance from the upper edge."""
        if self.verticalScrollBar().value() == 0:
            return []
        found: list[tuple[str, int]] = []
        row = self.rowAt(0)
        while 0 <= row < self._model.rowCount():
            top = self.rowViewportPosition(row)
            if top > self.viewport().height():
                break
            if not self._model.is_heading(row):
                found.append((self._model.key_at(row), top))
            row += 1
        return found

    def _restore_anchor(self, anchor: list[tuple[str, int]], moved: frozenset[str]) -> None:
        """Keep the screen position of the first visible session that was not moved."""
        self.updateGeometries()
        for key, top in anchor:
            row = self._model.row_of_key(key) if key not in moved else -1
            if row >= 0:
                bar = self.verticalScrollBar()
                bar.setValue(bar.value() + self.rowViewportPosition(row) - top)
                return

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._take_font()
            self._fit_heights()

    def _take_font(self) -> None:
        """Apply the heights that the font needs."""
        high = row_height(self.font())
        self.verticalScrollBar().setSingleStep(high // 2)
        self.verticalHeader().setMinimumSectionSize(heading_height(self.font()))
        self.verticalHeader().setDefaultSectionSize(high)

    def _fit_heights(self) -> None:
        """Set the height of headings; moved and inserted lines arrive with another one."""
        rows, headings = row_height(self.font()), heading_height(self.font())
        for row in range(self._model.rowCount()):
            wanted = headings if self._model.is_heading(row) else rows
            if self.rowHeight(row) != wanted:
                self.setRowHeight(row, wanted)

    def _menu_gone(self) -> None:
        self._menu = None
        self.released.emit()

    def _middle_of(self, index: QModelIndex) -> QPoint:
        return self.viewport().mapToGlobal(self.visualRect(index).center())

    @staticmethod
    def _is_typing(event: QKeyEvent) -> bool:
        text = event.text()
        held = event.modifiers() & (
            Qt.KeyboardModifier.ControlModifier
            | Qt.KeyboardModifier.AltModifier
            | Qt.KeyboardModifier.MetaModifier
        )
        return bool(text) and text.isprintable() and not text.isspace() and not held
