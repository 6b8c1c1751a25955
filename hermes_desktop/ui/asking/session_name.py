"""The line of a sheet that names the session of the request."""

from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.words.visible_text import visible


class SessionName(LeadingLabel):
    """A label for the session's title, hidden while that is unknown."""

    def show_title(self, title: str) -> None:
        """Show the session's title; "" hides the line."""
        self.setText(self.tr("Session: {}").format(visible(title)) if title else "")
        self.setVisible(bool(title))
