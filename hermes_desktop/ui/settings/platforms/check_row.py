"""The connection test: a real round trip with stored and pasted values; nothing is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from hermes_desktop.core.errors import HermesError
from hermes_desktop.ui.settings.platforms.platform_state import check_text
from hermes_desktop.ui.settings.secrets.lines import MessageLine, WaitLine, small_button
from hermes_desktop.ui.widgets.section_parts import SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_4, SPACE_8
from hermes_desktop.ui.words.gateway_words import plain

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from hermes_desktop.services.secrets.platform_facts import PlatformFacts
    from hermes_desktop.services.settings.settings_repository import Change
    from hermes_desktop.ui.settings.fields.parts import SettingsContext
    from hermes_desktop.ui.settings.secrets.lines import Level


class CheckRow(QWidget):
    """A button, a wait and the answer.

    Args:
        facts: The platform.
        context: Context of the settings.

    Signals:
        wanted: The button was pressed; the owner calls :meth:`run`.
        refused_at: Carries an invalid setting or variable, and the error.
    """

    wanted = Signal()
    refused_at = Signal(str, object)

    def __init__(self, facts: PlatformFacts, context: SettingsContext) -> None:
        super().__init__()
        self._facts = facts
        self._context = context
        self._task: asyncio.Task[None] | None = None
        self.button = small_button(self.tr("Test connection"), self.wanted.emit, self)
        self.button.setAccessibleName(
            self.tr("Test the connection with {name}").format(name=facts.title)
        )
        self.hint = SecondaryLabel(context.theme)
        self.waiting = WaitLine(context.theme)
        self.answer = MessageLine(context.theme)
        head = QHBoxLayout()
        head.setSpacing(SPACE_8)
        head.addWidget(self.button)
        head.addWidget(self.hint, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_4)
        column.addLayout(head)
        column.addWidget(self.waiting)
        column.addWidget(self.answer)
        self.waiting.given_up.connect(self.stop)

    def show_ready(self, *, has_token: bool, pasted: bool, unknown: bool = False) -> None:
        """Show what would be tested; no hint while it is unknown whether there is a token."""
        self.button.setEnabled((has_token or pasted) and self._task is None)
        words = ""
        if pasted:
            words = self.tr("Tests what you pasted without storing it.")
        elif not has_token and not unknown:
            words = self.tr("There is no token to test yet.")
        self.hint.setText(words)

    def run(self, secrets: Mapping[str, str], changes: Sequence[Change]) -> None:
        """Test the connection with these values over the stored ones."""
        if self._task is None:
            self.answer.clear()
            self.button.setEnabled(False)
            self.waiting.begin(self.tr("Asking {name}").format(name=self._facts.title))
            self._task = self._context.slots.start(
                self._ask(secrets, changes), doing=self.tr("Testing a connection")
            )

    def stop(self) -> None:
        """Cancel the test."""
        if self._task is not None:
            self._task.cancel()
            self._end("info", self.tr("The test was canceled."))

    def forget(self) -> None:
        """Clear the answer, which is outdated once a setting changes."""
        self.answer.clear()

    async def _ask(self, secrets: Mapping[str, str], changes: Sequence[Change]) -> None:
        settings = self._context.services.settings
        try:
            answer = await settings.check_platform(self._facts.name, secrets, changes)
        except HermesError as error:
            self._end("error", plain(str(error)))
            self.refused_at.emit(getattr(error, "key", ""), error)
        except Exception:
            self._end("error", self.tr("The test failed. See the log for details."))
            raise
        else:
            self._end(*check_text(answer, self._facts))

    def _end(self, level: Level, words: str) -> None:
        self._task = None
        self.waiting.end()
        self.button.setEnabled(True)
        self.answer.say(level, words)
