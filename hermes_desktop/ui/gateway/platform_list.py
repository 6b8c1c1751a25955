"""The list of platforms with sorting, search and keys, and details on the selected one."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QPushButton, QWidget

from hermes_desktop.core.events import PlatformHealth
from hermes_desktop.ui.gateway.platform_model import (
    HEALTH_ROLE,
    NAME,
    PlatformFilterModel,
    PlatformModel,
)
from hermes_desktop.ui.gateway.platform_table import PlatformTable
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_8, Theme
from hermes_desktop.ui.words.platform_words import explained
from hermes_desktop.ui.words.source_names import source_name

_MOST_ROWS = 8
_SEARCH_FROM = 6
_CAN_RECONNECT = frozenset({"connected", "silent", "retrying", "fatal", "connecting"})
_CAN_PAUSE = _CAN_RECONNECT


class PlatformList(Block):
    """The state of each platform, and the commands for the selected one.

    Signals:
        reconnect_wanted: Carries the name of a platform. The next two likewise.
    """

    reconnect_wanted = Signal(str)
    pause_wanted = Signal(str)
    resume_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._ours = True
        self._model = PlatformModel(self)
        self._order = PlatformFilterModel(self._model, self)
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search platforms…"))
        self.search.setAccessibleName(self.tr("Search platforms"))
        self.search.setClearButtonEnabled(True)
        self.table = PlatformTable(theme)
        self.table.setModel(self._order)
        self.table.set_up_columns()
        self.detail = SecondaryLabel(theme)
        self.reconnect = self._button(self.tr("Reconnect now"), self.reconnect_wanted.emit)
        self.pause = self._button(self.tr("Pause"), self.pause_wanted.emit)
        self.resume = self._button(self.tr("Resume"), self.resume_wanted.emit)
        self._arrange()
        self.search.textChanged.connect(self._filter)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._tell())
        self.table.menu_wanted.connect(self._open_menu)
        self.table.confirmed.connect(self._confirm)

    @property
    def selected(self) -> PlatformHealth | None:
        """The selected platform."""
        index = self.table.currentIndex()
        return index.data(HEALTH_ROLE) if index.isValid() else None

    @property
    def tab_stops(self) -> tuple[QWidget, ...]:
        """The widgets in the tab order, from top to bottom."""
        return (self.search, self.table, self.reconnect, self.pause, self.resume)

    def show_platforms(
        self, platforms: Sequence[PlatformHealth], now: float, *, ours: bool
    ) -> None:
        """Show the state of the platforms.

        Args:
            platforms: Platforms of the hosted gateway, or of the other one.
            now: Seconds since the epoch.
            ours: Whether commands for them are available.
        """
        self._ours = ours
        chosen = self.selected
        self._model.show_platforms(platforms, now)
        if chosen is None and platforms:
            self.table.setCurrentIndex(self._order.index(0, NAME))
        self.search.setVisible(len(platforms) >= _SEARCH_FROM or bool(self.search.text()))
        self.table.fit_columns()
        self.table.fit_rows(min(max(len(platforms), 1), _MOST_ROWS))
        self._tell()

    def tell_ages(self, platforms: Sequence[PlatformHealth], now: float) -> None:
        """Refresh the texts on elapsed time; nothing else about the platforms has changed."""
        self._model.show_platforms(platforms, now)

    def open_search(self) -> None:
        """Show the search field and move the focus to it."""
        self.search.show()
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _filter(self, text: str) -> None:
        self._order.setFilterFixedString(text.strip())
        if not self.table.currentIndex().isValid() and self._order.rowCount():
            self.table.setCurrentIndex(self._order.index(0, NAME))
        self._tell()

    def _tell(self) -> None:
        """Update the text and the buttons below the table."""
        chosen = self.selected
        if chosen is None:
            empty = self.search.text() and not self._order.rowCount()
            self.detail.setText(self.tr("No platforms match.") if empty else "")
        else:
            words = explained(chosen)
            self.detail.setText(f"{source_name(chosen.name)}: {words}" if words else "")
        self.detail.setVisible(bool(self.detail.text()))
        state = chosen.state if chosen is not None else ""
        paused = state == "paused"
        served = self._ours and state not in {"", "unavailable", "disabled"}
        for button in (self.reconnect, self.pause, self.resume):
            button.setVisible(self._ours)
        self.pause.setVisible(self._ours and not paused)
        self.resume.setVisible(self._ours and paused)
        self.reconnect.setEnabled(served and state in _CAN_RECONNECT)
        self.pause.setEnabled(served and state in _CAN_PAUSE)
        self.resume.setEnabled(served and paused)

    def _confirm(self) -> None:
        """Run the most useful command on Enter: resume, else reconnect."""
        for button in (self.resume, self.reconnect):
            if button.isEnabled() and not button.isHidden():
                button.click()
                return

    def _open_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        for button in (self.reconnect, self.pause, self.resume):
            if not button.isHidden():
                menu.addAction(button.text(), button.click).setEnabled(button.isEnabled())
        menu.aboutToHide.connect(menu.deleteLater)
        if menu.isEmpty():
            menu.deleteLater()
        else:
            menu.popup(place)

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SPACE_8)
        for button in (self.reconnect, self.pause, self.resume):
            row.addWidget(button)
        row.addStretch(1)
        self.column.addWidget(self.search)
        self.column.addWidget(self.table)
        self.column.addWidget(self.detail)
        self.column.addLayout(row)

    def _button(self, words: str, wanted: Callable[[str], object]) -> QPushButton:
        button = QPushButton(words, self)
        button.setAutoDefault(False)

        def ask() -> None:
            chosen = self.selected
            if chosen is not None:
                wanted(chosen.name)

        button.clicked.connect(ask)
        return button
