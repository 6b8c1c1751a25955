"""The question on closing the window on a desktop that shows no tray icons."""

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from hermes_desktop.core.events import GatewayStatusChanged
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.control_corrections import remove_icons
from hermes_desktop.ui.words.gateway_words import running_text, serves

Answer = Literal["keep", "quit", "neither"]


class CloseDialog(QMessageBox):
    """A message box: keep running, quit, or cancel. Opened with ``open()``.

    Args:
        parent: The window.
        running: How many replies are running, including those to platforms.
        serving: Whether a gateway is hosted here, which would end with the program.
        beside: The number of background processes that would end with it.
    """

    def __init__(
        self, parent: QWidget, *, running: int = 0, serving: bool = False, beside: int = 0
    ) -> None:
        super().__init__(parent)
        self.setIcon(QMessageBox.Icon.Question)
        self.setText(self.tr("Keep Hermes running without its window?"))
        parts = [
            self.tr(
                "This desktop shows no tray icons. If Hermes keeps running, it stays "
                "minimized in the task bar; start Hermes again to bring it back."
            )
        ]
        if serving:
            parts.append(
                self.tr(
                    "If you quit, the gateway stops and messages from platforms are no longer "
                    "answered."
                )
            )
        if beside:
            noun = self.tr("background process") if beside == 1 else self.tr("background processes")
            parts.append(self.tr("Quitting ends {number} {noun}.").format(number=beside, noun=noun))
        if running:
            words = self.tr("{replies}; they have 15 seconds to finish when you quit.")
            parts.append(words.format(replies=running_text(running)))
        self.setInformativeText(" ".join(parts))
        self._keep = self.addButton(self.tr("Keep running"), QMessageBox.ButtonRole.AcceptRole)
        self._quit = self.addButton(self.tr("Quit Hermes"), QMessageBox.ButtonRole.DestructiveRole)
        self.setEscapeButton(self.addButton(QMessageBox.StandardButton.Cancel))
        remove_icons(self)
        self.setDefaultButton(self._keep)

    @property
    def answer(self) -> Answer:
        """The answer that belongs to the clicked button."""
        clicked = self.clickedButton()
        if clicked is self._keep:
            return "keep"
        return "quit" if clicked is self._quit else "neither"


class ClosingRules(QObject):
    """Decides whether closing the window hides it or quits; a running program stays reachable.

    Args:
        window: The window.
        tray_available: Whether a tray icon can bring the window back.
        slots: Shows the question.
        status: Returns the status of the gateway.
        beside: Returns how many background processes are running.

    Attributes:
        keeps_running: Whether the program continues without its window; otherwise closing ends it.

    Signals:
        quit_wanted: The user wants to quit.
    """

    quit_wanted = Signal()

    def __init__(
        self,
        window: QWidget,
        tray_available: Callable[[], bool],
        slots: AsyncSlots,
        status: Callable[[], GatewayStatusChanged],
        beside: Callable[[], int] = lambda: 0,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._tray_available = tray_available
        self._slots = slots
        self._status = status
        self._beside = beside
        self._asking = False
        self._may_run_unseen = False
        self.keeps_running = True

    def close_wanted(self) -> None:
        """Hide the window, ask the user, or quit, after the user has closed the window.

        Quit unless ``keeps_running`` is set. Hide the window if a tray icon can bring it back.
        Otherwise ask; one question at a time, and none after the user chose to keep running.
        """
        if not self.keeps_running:
            self.quit_wanted.emit()
        elif self._tray_available() or self._may_run_unseen:
            self._leave_screen()
        elif not self._asking:
            self._asking = True
            self._slots.start(self._ask(), doing=self.tr("Closing the window"))

    async def _ask(self) -> None:
        status = self._status()
        question = CloseDialog(
            self._window,
            running=status.running_turns,
            serving=serves(status),
            beside=self._beside(),
        )
        try:
            await self._slots.ask(question)
            answer = question.answer
        finally:
            self._asking = False
            question.deleteLater()
        if answer == "keep":
            self._may_run_unseen = True
            self._leave_screen()
        elif answer == "quit":
            self.quit_wanted.emit()

    def _leave_screen(self) -> None:
        """Hide the window if a tray icon can bring it back, else minimize it."""
        if self._tray_available():
            self._window.hide()
        else:
            self._window.showMinimized()
