"""Parts of the session pane around the list: header, sources, placeholder, division of space."""

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QColor, QFont, QIcon, QPalette
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from hermes_desktop.services.sessions.live_catalog import ListQuery
from hermes_desktop.ui.sessions.message_hits import MessageHits
from hermes_desktop.ui.sessions.search_field import SearchField
from hermes_desktop.ui.sessions.session_delegate import row_height
from hermes_desktop.ui.sessions.session_list_view import SessionListView
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.resource_files import icon, icon_size, tinted_icon
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, SPACE_24, Theme
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


_LONGEST = 60


class Placeholder(QWidget):
    """The placeholder of an empty list: what it is for, and a button with one next step."""

    acted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._title = QLabel()
        self._detail = QLabel()
        self._button = QPushButton()
        self._button.setAutoDefault(False)
        font = QFont(self._title.font())
        font.setWeight(QFont.Weight.DemiBold)
        self._title.setFont(font)
        for label in (self._title, self._detail):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_24, SPACE_24, SPACE_24, SPACE_24)
        column.setSpacing(SPACE_8)
        column.addStretch(2)
        column.addWidget(self._title)
        column.addWidget(self._detail)
        column.addSpacing(SPACE_8)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)
        self._button.clicked.connect(self.acted)
        theme.changed.connect(self._colour)
        self._colour()

    def show_texts(self, title: str, detail: str, action: str) -> None:
        """Set the texts."""
        self._title.setText(title)
        self._detail.setText(detail)
        self._button.setText(action)

    def _colour(self) -> None:
        palette = QPalette(self._detail.palette())
        for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text):
            palette.setColor(role, QColor(self._theme.palette.secondary_text))
        self._detail.setPalette(palette)


def placeholder_texts(query: ListQuery, searched: str) -> tuple[str, str, str]:
    """Return the texts for an empty list: title, detail, and one next step.

    Args:
        query: The query of the list.
        searched: ``nothing`` if the messages were searched as well, without a hit.
    """
    if query.text and searched == "nothing":
        shown = query.text if len(query.text) <= _LONGEST else query.text[: _LONGEST - 1] + "…"
        return "No results.", f"No title or message contains “{shown}”.", "Clear search"
    if query.text:
        return "No matching sessions.", "No title or ID contains this text.", "Clear search"
    if query.archived:
        return (
            "No archived sessions.",
            "To archive a session, press Ctrl+E. It leaves the list, and search still finds it.",
            "Show all sessions",
        )
    if query.source:
        return "No matching sessions.", "There are none from this source.", "Show all sessions"
    return (
        "Your sessions appear here.",
        "Sessions from the command line and from all platforms are listed, too.",
        "New chat",
    )


class PaneHeader(QWidget):
    """The header of the pane: search field, source filter, and the button for a new chat.

    Attributes:
        field: Searches titles, ids and messages.
        sources: Selects a source, or the archived sessions.

    Signals:
        new_chat_wanted: The button was pressed.
    """

    new_chat_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.field = SearchField()
        self.sources = SourceButton(theme)
        self._search_action = QAction(self)
        self._new_button = QToolButton()
        self.field.setAccessibleName(self.tr("Search titles, IDs and messages"))
        self.field.setPlaceholderText(self.tr("Search sessions"))
        self.field.setClearButtonEnabled(True)
        self.field.addAction(self._search_action, QLineEdit.ActionPosition.LeadingPosition)
        self._new_button.setToolTip(self.tr("New chat (Ctrl+N)"))
        self._new_button.setAccessibleName(self.tr("New chat"))
        self._new_button.setAutoRaise(True)
        self._new_button.setIconSize(icon_size())
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_12, SPACE_12, SPACE_8, SPACE_8)
        row.setSpacing(SPACE_4)
        row.addWidget(self.field, 1)
        row.addWidget(self.sources)
        row.addWidget(self._new_button)
        self._new_button.clicked.connect(self.new_chat_wanted)
        theme.changed.connect(self._colour)
        self._colour()

    def show_source(self) -> None:
        """Show in the empty field what is searched."""
        archived = self.sources.archived
        words = self.tr("Archived sessions") if archived else self.tr("Search sessions")
        self.field.setPlaceholderText(words)

    def _colour(self) -> None:
        palette = self._theme.palette
        self._search_action.setIcon(icon("search", palette))
        self._new_button.setIcon(icon("new-chat", palette))


_ALL = 16_777_215
"""No limit (Qt's ``QWIDGETSIZE_MAX``)."""


class PaneLayout:
    """A layout controller for the pane.

    Titles get the height they need, up to half of the space; hits get the rest; a placeholder
    replaces an empty list.

    Attributes:
        stack: The list, or the placeholder.
        no_title: A label that says that only messages match.
        placeholder: The placeholder, with its next step.

    Args:
        view: The list.
        hits: The hits in messages.
        theme: Colors.
    """

    def __init__(self, view: SessionListView, hits: MessageHits, theme: Theme) -> None:
        self._view = view
        self._hits = hits
        self._theme = theme
        self.placeholder = Placeholder(theme)
        self.no_title = QLabel(view.tr("No titles match."))
        self.no_title.setContentsMargins(SPACE_12, 0, SPACE_12, SPACE_12)
        self.no_title.hide()
        self.stack = QStackedWidget()
        self.stack.addWidget(view)
        self.stack.addWidget(self.placeholder)
        self.update_colors()

    def divide_space(self, query: ListQuery, *, has_rows: bool) -> None:
        """Divide the space between titles, hits and placeholder.

        Args:
            query: The query of the list.
            has_rows: Whether there are titles.
        """
        hits, state = self._hits, self._hits.state
        wants_hits = state != "idle"
        nowhere = not has_rows and state in {"idle", "nothing", "failed"}
        hits.setVisible(wants_hits and not nowhere)
        self.no_title.setVisible(wants_hits and not has_rows and not nowhere)
        self.stack.setVisible(has_rows or nowhere)
        crowded = wants_hits and not nowhere and state != "nothing"
        self.stack.setMaximumHeight(self._most() if crowded else _ALL)
        spread = QSizePolicy.Policy.Maximum if state == "nothing" else QSizePolicy.Policy.Preferred
        hits.setSizePolicy(QSizePolicy.Policy.Preferred, spread)
        if nowhere:
            self.placeholder.show_texts(*placeholder_texts(query, state))
        self.stack.setCurrentWidget(self.placeholder if nowhere else self._view)

    def update_colors(self) -> None:
        """Apply the colors of the theme."""
        tint(self.no_title, self._theme.palette.secondary_text)

    def _most(self) -> int:
        """Return the maximum height of the titles next to hits."""
        needed = self._view.verticalHeader().length()
        both = self.stack.height() + self._hits.height() if self._hits.isVisible() else 0
        return min(needed, max(both // 2, row_height(self._view.font())))
