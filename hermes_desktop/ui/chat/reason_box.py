"""The reason why no message can be sent, above the message field, with a link to the settings."""

from PySide6.QtCore import QMargins, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from hermes_desktop.services.hosting.desktop_chat import ChatReadiness
from hermes_desktop.ui.widgets.flow_row import FlowRow
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel, heading_label
from hermes_desktop.ui.widgets.theme import Theme
from hermes_desktop.ui.words.gateway_words import plain
from hermes_desktop.ui.words.setting_names import setting_in


class ReasonBox(QWidget):
    """A title, the reason, and buttons to fix it.

    Signals:
        check_wanted: Check the settings again after the user changed something.
        settings_wanted: Open the settings, at the key of one of them or at "".
    """

    check_wanted = Signal()
    settings_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.key = ""
        self.title: LeadingLabel = heading_label()
        self.words = SecondaryLabel(theme)
        self.settings_button = QPushButton(self.tr("Open the settings"))
        self.check_button = QPushButton(self.tr("Check again"))
        self._buttons = FlowRow()
        for button in (self.settings_button, self.check_button):
            button.setAutoDefault(False)
            self._buttons.add(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(QMargins(2, 4, 2, 8))
        for widget in (self.title, self.words, self._buttons):
            column.addWidget(widget)
        self.check_button.clicked.connect(self.check_wanted)
        self.settings_button.clicked.connect(lambda: self.settings_wanted.emit(self.key))

    def show_reason(self, readiness: ChatReadiness, *, about_model: bool) -> None:
        """Show the reason.

        Args:
            readiness: What is missing.
            about_model: Whether a setting can fix it.
        """
        self.title.setText(plain(readiness.title))
        words = " ".join(part for part in (readiness.detail, readiness.hint) if part)
        self.words.setText(plain(words))
        self.words.setVisible(bool(words))
        self.key = setting_in(words)
        self.settings_button.setVisible(about_model)
        for button in (self.settings_button, self.check_button):
            button.setAccessibleDescription(f"{self.title.text()} {self.words.text()}")
        self._buttons.settle()

    @property
    def first_button(self) -> QPushButton:
        """The button that helps most."""
        hidden = self.settings_button.isHidden()
        return self.check_button if hidden else self.settings_button
