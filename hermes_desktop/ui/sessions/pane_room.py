"""Layout of the pane: titles, hits in messages, or a placeholder when there is nothing."""

from PySide6.QtWidgets import QLabel, QSizePolicy, QStackedWidget

from hermes_desktop.services.sessions.live_catalog import ListQuery
from hermes_desktop.ui.sessions.message_hits import MessageHits
from hermes_desktop.ui.sessions.placeholder import PlaceHolder, words_for_nothing
from hermes_desktop.ui.sessions.session_delegate import row_height
from hermes_desktop.ui.sessions.session_list_view import SessionListView
from hermes_desktop.ui.widgets.look import tint
from hermes_desktop.ui.widgets.theme import SPACE_12, Theme

_ALL = 16_777_215
"""No limit (Qt's ``QWIDGETSIZE_MAX``)."""


class PaneLayout:
    """A layout controller for the pane.

    Titles get the height they need, up to half of the space; hits get the rest; a placeholder
    replaces an empty list.

    Attributes:
        stack: The list, or the placeholder.
        no_title: A label that says that only messages match.
        place_holder: The placeholder, with its next step.

    Args:
        view: The list.
        hits: The hits in messages.
        theme: Colors.
    """

    def __init__(self, view: SessionListView, hits: MessageHits, theme: Theme) -> None:
        self._view = view
        self._hits = hits
        self._theme = theme
        self.place_holder = PlaceHolder(theme)
        self.no_title = QLabel(view.tr("No titles match."))
        self.no_title.setContentsMargins(SPACE_12, 0, SPACE_12, SPACE_12)
        self.no_title.hide()
        self.stack = QStackedWidget()
        self.stack.addWidget(view)
        self.stack.addWidget(self.place_holder)
        self.colour()

    def share(self, query: ListQuery, *, has_rows: bool) -> None:
        """Distribute the space again.

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
            self.place_holder.say(*words_for_nothing(query, state))
        self.stack.setCurrentWidget(self.place_holder if nowhere else self._view)

    def colour(self) -> None:
        """Apply the colors of the theme."""
        tint(self.no_title, self._theme.palette.secondary_text)

    def _most(self) -> int:
        """Return the maximum height of the titles next to hits."""
        needed = self._view.verticalHeader().length()
        both = self.stack.height() + self._hits.height() if self._hits.isVisible() else 0
        return min(needed, max(both // 2, row_height(self._view.font())))
