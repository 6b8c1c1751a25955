"""The pages that the rail leads to; one of them shows."""

from PySide6.QtWidgets import QStackedWidget, QWidget

from hermes_desktop.ui.shell.rail import Rail


class WindowPages(QStackedWidget):
    """Shows a page and tells the rail which one.

    Args:
        rail: Its buttons follow.
        sessions: List and conversation.
        platforms: The gateway and what it serves.
    """

    def __init__(self, rail: Rail, sessions: QWidget, platforms: QWidget) -> None:
        super().__init__()
        self._rail = rail
        self._sessions = sessions
        self._platforms = platforms
        self.addWidget(sessions)
        self.addWidget(platforms)

    @property
    def rail(self) -> Rail:
        """Its buttons."""
        return self._rail

    @property
    def on_sessions(self) -> bool:
        """Whether the page of sessions shows: keys that mean a session do nothing elsewhere."""
        return self.currentWidget() is self._sessions

    def show_sessions(self) -> None:
        """Show the list and the conversation."""
        self.setCurrentWidget(self._sessions)
        self._rail.sessions_button.setChecked(True)

    def show_platforms(self) -> None:
        """Show the gateway and what it serves."""
        self.setCurrentWidget(self._platforms)
        self._rail.platforms_button.setChecked(True)

    def show_settings(self, settings: QWidget) -> None:
        """Show the settings; their page is made, and handed in, when it is first wanted."""
        if self.indexOf(settings) < 0:
            self.addWidget(settings)
        self.setCurrentWidget(settings)
        self._rail.settings_button.setChecked(True)
