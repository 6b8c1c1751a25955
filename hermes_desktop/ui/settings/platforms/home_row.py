"""The home channel of a platform: the chat that receives unprompted messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from hermes_desktop.core.errors import HermesError
from hermes_desktop.services.settings.platform_settings import HomeStanding
from hermes_desktop.ui.settings.secrets.lines import MessageLine, small_button
from hermes_desktop.ui.widgets.control_corrections import set_text_margins
from hermes_desktop.ui.widgets.section_parts import LeadingLabel, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8
from hermes_desktop.ui.words.gateway_words import plain

if TYPE_CHECKING:
    from hermes_desktop.services.secrets.platform_facts import PlatformFacts
    from hermes_desktop.ui.settings.fields.parts import SettingsContext


class HomeChannelRow(QWidget):
    """A line whose value is stored immediately, where ``/sethome`` stores it, with Undo.

    Args:
        facts: The platform.
        context: Context of the settings.
    """

    def __init__(self, facts: PlatformFacts, context: SettingsContext) -> None:
        super().__init__()
        self._facts = facts
        self._context = context
        self._home = HomeStanding()
        self._before = ""
        self._locked = ""
        self.label = LeadingLabel(self.tr("Home channel"))
        what = self.tr(
            "The {chat} that receives messages that are not replies. Sending “/sethome” "
            "there sets it, too."
        )
        self.about = SecondaryLabel(context.theme, what.format(chat=facts.home))
        self.line = QLineEdit()
        set_text_margins(self.line)
        self.line.setPlaceholderText(self.tr("not set"))
        self.line.setAccessibleName(self.tr("Home channel of {name}").format(name=facts.title))
        self.line.setMaxLength(200)
        self.label.setBuddy(self.line)
        self.set = small_button(self.tr("Set"), self._set, self)
        self.origin = SecondaryLabel(context.theme)
        self.said = MessageLine(context.theme)
        entry = QHBoxLayout()
        entry.setSpacing(SPACE_8)
        entry.addWidget(self.line, 1)
        entry.addWidget(self.set)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_4)
        column.addWidget(self.label)
        column.addWidget(self.about)
        column.addLayout(entry)
        column.addWidget(self.origin)
        column.addWidget(self.said)
        self.line.textEdited.connect(lambda _: self._settle())
        self.line.returnPressed.connect(self._set)
        self.said.acted.connect(self._undo)
        self._settle()

    def show_home(self, home: HomeStanding) -> None:
        """Show the value in effect; text that the user is typing is kept."""
        untouched = self.line.text().strip() == self._home.chat_id
        self._home = home
        if untouched:
            self.line.setText(home.chat_id)
        self._settle()

    def set_locked(self, reason: str) -> None:
        """Prevent changes for the given reason; "" allows them again."""
        self._locked = reason
        self._settle()

    def _settle(self) -> None:
        home, text = self._home, self.line.text().strip()
        fixed = home.where == "environment" or bool(self._locked)
        self.line.setEnabled(not fixed)
        self.set.setEnabled(not fixed and text != home.chat_id)
        empty = not text and bool(home.chat_id)
        self.set.setText(self.tr("Clear") if empty else self.tr("Set"))
        words = ""
        if home.where == "environment":
            words = self.tr("Set by {place} in the environment; change it there.")
        elif home.where == "config.yaml":
            words = self.tr("From config.yaml ({place}); a value set here overrides it.")
        elif home.where == ".env" and home.name:
            words = self.tr("Its name is “{name}”.")
        words = words.format(place=home.place, name=home.name)
        self.origin.setText(words)
        self.origin.setVisible(bool(words))

    def _set(self) -> None:
        if self.set.isEnabled():
            self._start(self.line.text().strip(), undo=True)

    def _undo(self) -> None:
        self.line.setText(self._before)
        self._start(self._before, undo=False)

    def _start(self, chat_id: str, *, undo: bool) -> None:
        self.set.setEnabled(False)
        self._context.slots.start(
            self._change(chat_id, undo=undo), doing=self.tr("Setting the home channel")
        )

    async def _change(self, chat_id: str, *, undo: bool) -> None:
        settings, name = self._context.services.settings, self._facts.name
        try:
            before = await settings.set_home_channel(name, chat_id)
            found = (await settings.look_at_platforms())[name].home
        except HermesError as error:
            self.said.say("error", plain(str(error)))
            self._settle()
            return
        self._before = before
        self._home = found
        self.line.setText(found.chat_id)
        self._settle()
        if found.chat_id:
            words = self.tr("{name} messages that are not replies now go to that chat.")
        else:
            words = self.tr("{name} messages that are not replies are no longer sent.")
        action = self.tr("Undo") if undo and before != chat_id else ""
        self.said.say("ok", words.format(name=self._facts.title), action=action)
