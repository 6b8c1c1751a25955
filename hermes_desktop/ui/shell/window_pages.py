"""The pages of the rail, one of which is visible."""

from PySide6.QtWidgets import QStackedWidget, QWidget

from hermes_desktop.ui.shell.rail import Rail


class WindowPages(QStackedWidget):
    """Shows a page and updates the rail.

    Args:
        rail: Its buttons follow the visible page.
        sessions: List and conversation.
        platforms: The gateway and its platforms.
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
        """The rail with the buttons of the pages."""
        return self._rail

    @property
    def on_sessions(self) -> bool:
        """Whether the sessions page is visible; session shortcuts have no effect elsewhere."""
        return self.currentWidget() is self._sessions

    def show_sessions(self) -> None:
        """Show the list and the conversation."""
        self.setCurrentWidget(self._sessions)
        self._rail.sessions_button.setChecked(True)

    def show_platforms(self) -> None:
        """Show the gateway and its platforms."""
        self.setCurrentWidget(self._platforms)
        self._rail.platforms_button.setChecked(True)

    def show_settings(self, settings: QWidget) -> None:
        """Show the settings page, which is created and passed in when it is first opened."""
        if self.indexOf(settings) < 0:
            self.addWidget(settings)
        self.setCurrentWidget(settings)
        self._rail.settings_button.setChecked(True)
