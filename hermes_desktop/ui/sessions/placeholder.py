"""The placeholder of an empty list: what it is for, and one next step."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from hermes_desktop.services.sessions.live_catalog import ListQuery
from hermes_desktop.ui.widgets.theme import SPACE_8, SPACE_24, Theme

_LONGEST = 60


class PlaceHolder(QWidget):
    """Two sentences and a button, centered in an empty area."""

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

    def say(self, title: str, detail: str, action: str) -> None:
        """Set the texts."""
        self._title.setText(title)
        self._detail.setText(detail)
        self._button.setText(action)

    def _colour(self) -> None:
        palette = QPalette(self._detail.palette())
        for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text):
            palette.setColor(role, QColor(self._theme.palette.secondary_text))
        self._detail.setPalette(palette)


def words_for_nothing(query: ListQuery, searched: str) -> tuple[str, str, str]:
    """Return the texts for an empty list: title, detail, and one next step.

    Args:
        query: The query of the list.
        searched: ``nothing`` if the messages were searched as well, without a hit.
    """
    if query.text and searched == "nothing":
        shown = query.text if len(query.text) <= _LONGEST else query.text[: _LONGEST - 1] + "…"
        return "Nothing was found.", f"No title and no message contains “{shown}”.", "Clear search"
    if query.text:
        return "No session matches.", "No title and no id contains this.", "Clear search"
    if query.archived:
        return (
            "Nothing is archived.",
            "Ctrl+E archives a session: it leaves the list, and search still finds it.",
            "Show all sessions",
        )
    if query.source:
        return "No session matches.", "There is none from this source.", "Show all sessions"
    return (
        "Your sessions appear here.",
        "Those from the command line and from every platform are listed too.",
        "New chat",
    )
