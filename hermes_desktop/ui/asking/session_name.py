"""The line of a sheet that says which session asks."""

from hermes_desktop.ui.widgets.section_parts import LeadingLabel
from hermes_desktop.ui.words.visible_text import visible


class SessionName(LeadingLabel):
    """Hidden while the session has no known title."""

    def show_title(self, title: str) -> None:
        """Name the session; "" hides the line."""
        self.setText(self.tr("Session: {}").format(visible(title)) if title else "")
        self.setVisible(bool(title))
