"""The header of the pane: search field, source filter, and the button for a new chat."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QWidget

from hermes_desktop.ui.sessions.search_field import SearchField
from hermes_desktop.ui.sessions.source_button import SourceButton
from hermes_desktop.ui.widgets.resource_files import icon, icon_size
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8, SPACE_12, Theme


class PaneHeader(QWidget):
    """The controls that decide which sessions the list shows.

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
        self.field.setAccessibleName(self.tr("Search titles, ids and messages"))
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

    def say_source(self) -> None:
        """Show in the empty field what is searched."""
        archived = self.sources.archived
        words = self.tr("Archived sessions") if archived else self.tr("Search sessions")
        self.field.setPlaceholderText(words)

    def _colour(self) -> None:
        palette = self._theme.palette
        self._search_action.setIcon(icon("search", palette))
        self._new_button.setIcon(icon("new-chat", palette))
