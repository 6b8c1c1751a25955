"""The button next to the filter: selects sessions by source, or the archived ones."""

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QActionGroup, QIcon
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from hermes_desktop.ui.widgets.resource_files import icon, icon_size, tinted_icon
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.source_names import source_icon, source_name


class SourceButton(QToolButton):
    """A button with a menu of sources and their numbers of sessions.

    Signals:
        chosen: The choice changed; see :attr:`source` and :attr:`archived`.
    """

    chosen = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._counts: Mapping[str, int] = {}
        self._archived_count = 0
        self._menu = QMenu(self)
        self.source: str | None = None
        self.archived = False
        self.setAutoRaise(True)
        self.setIconSize(icon_size())
        self.clicked.connect(self._open)
        theme.changed.connect(self.draw)
        self.draw()

    def show_counts(self, counts: Mapping[str, int], archived: int) -> None:
        """Set the number of sessions that each choice would show."""
        self._counts = counts
        self._archived_count = archived

    def choose(self, source: str | None, *, archived: bool = False) -> None:
        """Choose one source, all of them, or the archived sessions."""
        self.source, self.archived = source, archived
        self.draw()
        self.chosen.emit()

    def fill_menu(self) -> QMenu:
        """Fill the menu and return it."""
        self._menu.clear()
        group = QActionGroup(self._menu)
        self._add(group, None, self.tr("All sources"), sum(self._counts.values()))
        self._menu.addSeparator()
        for source, count in sorted(self._counts.items(), key=lambda pair: -pair[1]):
            self._add(group, source, source_name(source), count)
        self._menu.addSeparator()
        action = self._menu.addAction(f"{self.tr('Archived')} ({self._archived_count:,})")
        action.setIcon(icon("archive", self._theme.palette))
        action.setCheckable(True)
        action.setChecked(self.archived)
        action.triggered.connect(lambda _=False: self.choose(None, archived=True))
        group.addAction(action)
        return self._menu

    def draw(self) -> None:
        """Show the choice as icon and text."""
        if self.archived:
            chosen, drawing = self.tr("archived sessions"), "archive"
        elif self.source is not None:
            chosen, drawing = source_name(self.source), source_icon(self.source)
        else:
            chosen, drawing = self.tr("all sources"), ""
        words = self.tr("Show: ") + chosen
        self.setToolTip(words)
        self.setAccessibleName(words)
        self.setIcon(self._picture(drawing))

    def _picture(self, drawing: str) -> QIcon:
        palette = self._theme.palette
        return tinted_icon(drawing, palette.accent) if drawing else icon("filter", palette)

    def _add(self, group: QActionGroup, source: str | None, name: str, count: int) -> None:
        action = self._menu.addAction(f"{name} ({count:,})")
        if source is not None:
            action.setIcon(icon(source_icon(source), self._theme.palette))
        action.setCheckable(True)
        action.setChecked(source == self.source and not self.archived)
        action.triggered.connect(partial(self._take, source))
        group.addAction(action)

    def _take(self, source: str | None, _checked: object = None) -> None:
        self.choose(source)

    def _open(self) -> None:
        self.fill_menu().popup(self.mapToGlobal(self.rect().bottomLeft()))
